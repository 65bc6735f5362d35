//! `invoke_any`: the first success is enough, and nothing is left running behind it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use windlass::ExecutorService;
use windlass::clock::TestClock;
use windlass::executors::DirectExecutor;
use windlass::interrupt::{self, JoinHandle};
use windlass::testing::{Gate, PATIENCE, within_patience};
use windlass::{InvokeError, Submit, ThreadPoolExecutor, executors};

const LONG: Duration = Duration::from_secs(3600);

/// A failure that can be told from others.
#[derive(Debug, PartialEq)]
struct Broken(u32);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken {}", self.0)
    }
}

impl std::error::Error for Broken {}

type Body = Box<dyn FnOnce() -> Result<u32, Broken> + Send>;

fn succeeds(value: u32) -> Body {
    Box::new(move || Ok(value))
}

fn fails(number: u32) -> Body {
    Box::new(move || Err(Broken(number)))
}

/// Waits at the gate, and tells whether an interrupt ended the wait.
fn waits(gate: &Gate, told: &Sender<bool>, value: u32) -> Body {
    let (gate, told) = (gate.clone(), told.clone());
    Box::new(move || {
        let passed = gate.pass();
        told.send(passed.is_err()).unwrap();
        passed.map(|()| value).map_err(|_| Broken(value))
    })
}

fn received<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).expect("nothing came")
}

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

/// The number of the failure that an invocation reports.
fn failure(result: Result<u32, InvokeError>) -> Option<Broken> {
    let InvokeError::Failed(error) = result.unwrap_err() else {
        return None;
    };
    let failure = error.into_failure()?;
    let broken = failure.error()?.downcast_ref::<Broken>()?;
    Some(Broken(broken.0))
}

/// Calls `invoke_any_timeout` on a thread with this clock.
fn invoke_by(
    clock: &TestClock,
    pool: &ThreadPoolExecutor,
    bodies: Vec<Body>,
) -> JoinHandle<Result<u32, InvokeError>> {
    let pool = pool.clone();
    clock.enter(|| interrupt::spawn(move || pool.invoke_any_fallible_timeout(bodies, LONG)))
}

/// ES-020
#[test]
fn without_tasks_it_is_an_argument_error_timed_or_not() {
    let none: [Body; 0] = [];
    let result = fixed(1).invoke_any_fallible(none);
    assert!(matches!(result, Err(InvokeError::Empty)));
    for timeout in [Duration::ZERO, LONG] {
        let none: [Body; 0] = [];
        let result = DirectExecutor::new().invoke_any_fallible_timeout(none, timeout);
        assert!(matches!(result, Err(InvokeError::Empty)));
    }
}

/// ES-021
#[test]
fn when_all_fail_it_reports_the_last_failure() {
    assert_eq!(
        failure(fixed(2).invoke_any_fallible([fails(1)])),
        Some(Broken(1))
    );
    let direct = DirectExecutor::new();
    let both = || [fails(1), fails(2)];
    assert_eq!(failure(direct.invoke_any_fallible(both())), Some(Broken(2)));
    let timed = direct.invoke_any_fallible_timeout(both(), LONG);
    assert_eq!(failure(timed), Some(Broken(2)));
}

#[test]
fn plain_closures_fail_by_a_panic_only() {
    let pool = fixed(2);
    let panics: Box<dyn FnOnce() -> u32 + Send> = Box::new(|| panic!("planned"));
    let returns: Box<dyn FnOnce() -> u32 + Send> = Box::new(|| 7);
    assert_eq!(pool.invoke_any([panics, returns]).unwrap(), 7);
    assert_eq!(pool.invoke_any_timeout([|| 8], LONG).unwrap(), 8);
    let error: Result<(), _> = pool.invoke_any([|| panic!("planned")]);
    assert!(error.unwrap_err().is_failed());
    let none: [fn(); 0] = [];
    assert!(pool.invoke_any(none).unwrap_err().is_empty());
}

/// ES-021
#[test]
fn a_panic_is_a_failure_like_an_error() {
    let panics: Body = Box::new(|| panic!("in the task"));
    let InvokeError::Failed(error) = fixed(1).invoke_any_fallible([panics]).unwrap_err() else {
        panic!("not a failure");
    };
    let failure = error.into_failure().unwrap();
    assert_eq!(failure.message(), Some("in the task"));
}

/// ES-022
#[test]
fn one_success_is_enough_even_after_failures() {
    let pool = fixed(2);
    let value = pool
        .invoke_any_fallible([succeeds(1), succeeds(2)])
        .unwrap();
    assert!(value == 1 || value == 2);

    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let bodies = [fails(1), waits(&gate, &told, 7)];
    let invoker = interrupt::spawn({
        let pool = pool.clone();
        move || pool.invoke_any_fallible(bodies)
    });
    gate.await_waiting(1);
    gate.open();
    assert_eq!(invoker.join().unwrap().unwrap().unwrap(), 7);
}

/// The clock stands still: waiting for the deadline would be waiting for ever.
///
/// ES-022
#[test]
fn with_a_success_the_timed_form_does_not_wait_for_the_deadline() {
    let pool = fixed(2);
    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let bodies = vec![waits(&gate, &told, 1), succeeds(2)];
    let invoker = invoke_by(&TestClock::new(), &pool, bodies);
    let value = within_patience("a success", move || invoker.join().unwrap().unwrap());
    assert_eq!(value.unwrap(), 2);
}

/// ES-023
#[test]
fn on_one_thread_exactly_one_of_three_tasks_completes() {
    let pool = executors::single_thread_executor();
    let count = Arc::new(AtomicUsize::new(0));
    let gates: Vec<_> = (0..3).map(|_| Gate::new()).collect();
    let counting = |gate: &Gate| {
        let (gate, count) = (gate.clone(), Arc::clone(&count));
        move || {
            gate.pass()
                .map(|()| count.fetch_add(1, Ordering::SeqCst) + 1)
        }
    };
    let bodies: Vec<_> = gates.iter().map(counting).collect();
    gates[0].open();
    assert_eq!(pool.invoke_any_fallible(bodies).unwrap(), 1);
    pool.close();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// ES-024
#[test]
fn on_a_direct_executor_nothing_starts_after_the_first_success() {
    let runs: Vec<_> = (0..3).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let bodies: Vec<_> = runs
        .iter()
        .map(|runs| {
            let runs = Arc::clone(runs);
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Broken>(1)
            }
        })
        .collect();
    DirectExecutor::new().invoke_any_fallible(bodies).unwrap();
    let runs: Vec<_> = runs.iter().map(|n| n.load(Ordering::SeqCst)).collect();
    assert_eq!(runs, [1, 0, 0]);
}

/// ES-025
#[test]
fn after_a_success_the_losers_are_interrupted() {
    let pool = fixed(3);
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let winner: Body = Box::new({
        let gate = gate.clone();
        move || {
            gate.await_waiting(2);
            Ok(7)
        }
    });
    let bodies = [waits(&gate, &told, 1), waits(&gate, &told, 2), winner];
    assert_eq!(pool.invoke_any_fallible(bodies).unwrap(), 7);
    assert!(received(&interrupts) && received(&interrupts));
}

/// ES-025
#[test]
fn after_a_rejection_what_was_submitted_is_interrupted() {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(windlass::queue::SynchronousQueue::new())
        .build()
        .unwrap();
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let first = waits(&gate, &told, 1);
    let bodies = std::iter::once(first).chain(std::iter::once_with(|| {
        gate.await_waiting(1);
        succeeds(2)
    }));
    let result = pool.invoke_any_fallible(bodies);
    assert!(matches!(result, Err(InvokeError::Rejected(_))));
    assert!(received(&interrupts));
}

/// ES-025, ES-026
#[test]
fn at_the_deadline_it_answers_timed_out_and_interrupts_what_it_started() {
    let (clock, pool) = (TestClock::new(), fixed(2));
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let bodies = vec![waits(&gate, &told, 1), waits(&gate, &told, 2)];
    let invoker = invoke_by(&clock, &pool, bodies);
    gate.await_waiting(2);
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(LONG - Duration::from_nanos(1));
    assert!(!invoker.is_finished());
    clock.advance(Duration::from_nanos(1));
    let result = invoker.join().unwrap().unwrap();
    assert!(matches!(result, Err(InvokeError::TimedOut)));
    assert!(received(&interrupts) && received(&interrupts));
}

/// ES-027
#[test]
fn with_zero_time_the_first_task_is_still_submitted() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&runs);
    let body = move || {
        counts.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Broken>(7)
    };
    let value = DirectExecutor::new().invoke_any_fallible_timeout([body], Duration::ZERO);
    assert_eq!(value.unwrap(), 7);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// ES-025, ES-028
#[test]
fn a_caller_interrupted_beforehand_gets_interrupted_and_cancels_its_tasks() {
    for timeout in [None, Some(LONG)] {
        let pool = fixed(1);
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        // The second body is made once the first runs, so that there is one to be interrupted.
        let bodies = std::iter::once(waits(&gate, &told, 1)).chain(std::iter::once_with(|| {
            gate.await_waiting(1);
            interrupt::current().interrupt();
            succeeds(2)
        }));
        let result = match timeout {
            None => pool.invoke_any_fallible(bodies),
            Some(timeout) => pool.invoke_any_fallible_timeout(bodies, timeout),
        };
        assert!(matches!(result, Err(InvokeError::Interrupted)));
        assert!(!interrupt::interrupted(), "the flag was not cleared");
        assert!(received(&interrupts));
    }
}

/// ES-028
#[test]
fn a_caller_interrupted_while_it_waits_gets_interrupted_and_cancels_its_tasks() {
    let pool = fixed(2);
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let bodies = [waits(&gate, &told, 1), waits(&gate, &told, 2)];
    let invoker = interrupt::spawn({
        let pool = pool.clone();
        move || (pool.invoke_any_fallible(bodies), interrupt::interrupted())
    });
    gate.await_waiting(2);
    invoker.interrupt();
    let (result, flag) = invoker.join().unwrap().unwrap();
    assert!(matches!(result, Err(InvokeError::Interrupted)));
    assert!(!flag, "the flag was not cleared");
    assert!(received(&interrupts) && received(&interrupts));
}

/// ES-028
#[test]
fn a_result_that_is_there_beats_a_pending_interrupt() {
    interrupt::current().interrupt();
    let value = DirectExecutor::new().invoke_any_fallible([succeeds(7)]);
    assert_eq!(value.unwrap(), 7);
    assert!(interrupt::interrupted(), "the flag did not stay");
}

/// ES-029
#[test]
fn after_shutdown_it_is_rejected() {
    let pool = fixed(1);
    pool.shutdown();
    let result = pool.invoke_any_fallible([succeeds(1)]);
    assert!(matches!(result, Err(InvokeError::Rejected(_))));
    let result = pool.invoke_any_fallible_timeout([succeeds(1)], LONG);
    assert!(matches!(result, Err(InvokeError::Rejected(_))));
}
