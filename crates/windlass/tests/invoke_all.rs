//! `invoke_all`: one handle per task, in order, all done, whatever happened on the way.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::executors::DirectExecutor;
use windlass::interrupt;
use windlass::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    RejectedExecutionHandler, Saturated,
};
use windlass::queue::ArrayBlockingQueue;
use windlass::task::{Cancellation, ExecutionError, Task, TaskHandle};
use windlass::testing::{Gate, PATIENCE, within_patience};
use windlass::{ExecutorService, RejectionReason};
use windlass::{InvokeError, Submit, ThreadPoolExecutor, executors};

const LONG: Duration = Duration::from_secs(3600);

type Body = Box<dyn FnOnce() -> u32 + Send>;

fn gives(value: u32) -> Body {
    Box::new(move || value)
}

/// Waits at the gate, and tells whether an interrupt ended the wait.
fn waits(gate: &Gate, told: &Sender<bool>) -> Body {
    let (gate, told) = (gate.clone(), told.clone());
    Box::new(move || {
        told.send(gate.pass().is_err()).unwrap();
        0
    })
}

fn counts(runs: &Arc<AtomicUsize>) -> Body {
    let runs = Arc::clone(runs);
    Box::new(move || {
        runs.fetch_add(1, Ordering::SeqCst);
        0
    })
}

fn received<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).expect("nothing came")
}

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

/// One worker, one place in the queue, and this policy for what does not fit.
fn small(policy: impl RejectedExecutionHandler + 'static) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .rejection_handler(policy)
        .build()
        .unwrap()
}

fn cancellation(handle: &mut TaskHandle<u32>) -> Option<Cancellation> {
    match handle.get() {
        Err(ExecutionError::Cancelled(why)) => Some(why),
        _ => None,
    }
}

/// ES-040
#[test]
fn all_of_nothing_is_an_empty_list_at_once() {
    let pool = fixed(1);
    let none: [Body; 0] = [];
    assert!(pool.invoke_all(none).unwrap().is_empty());
    for timeout in [Duration::ZERO, LONG] {
        let none: [Body; 0] = [];
        assert!(pool.invoke_all_timeout(none, timeout).unwrap().is_empty());
    }
    assert_eq!(pool.task_count(), 0);
}

/// ES-041
#[test]
fn a_failing_task_does_not_fail_the_call() {
    let panics = || -> Body { Box::new(|| std::panic::panic_any(7_i64)) };
    for timed in [false, true] {
        let mut handles = if timed {
            fixed(1).invoke_all_timeout([panics()], LONG).unwrap()
        } else {
            fixed(1).invoke_all([panics()]).unwrap()
        };
        assert_eq!(handles.len(), 1);
        assert!(handles[0].is_done());
        let failure = handles[0].get().unwrap_err().into_failure().unwrap();
        let payload = failure.take_payload().unwrap();
        assert_eq!(*payload.downcast::<i64>().unwrap(), 7);
    }
}

/// Each task waits for the next one, so they finish last first.
///
/// ES-042
#[test]
fn all_handles_come_back_done_and_in_input_order() {
    const TASKS: usize = 5;
    let gates: Vec<_> = (0..=TASKS).map(|_| Gate::new()).collect();
    gates[TASKS].open();
    let body = |n: usize| {
        let (mine, next) = (gates[n].clone(), gates[n + 1].clone());
        move || {
            next.pass_uninterruptibly();
            mine.open();
            n
        }
    };
    let pool = fixed(TASKS);
    let mut handles = pool.invoke_all((0..TASKS).map(body)).unwrap();
    assert!(handles.iter().all(TaskHandle::is_done));
    let values: Vec<_> = handles.iter_mut().map(|one| one.get().unwrap()).collect();
    assert_eq!(values, [0, 1, 2, 3, 4]);
    let mut handles = pool.invoke_all_timeout([gives(7)], LONG).unwrap();
    assert_eq!(handles[0].get().unwrap(), 7);
}

#[test]
fn an_error_of_a_fallible_closure_is_the_failure_of_its_task() {
    let pool = fixed(2);
    let bodies = || ["1", "one"].map(|text| || text.parse::<u32>());
    let timed = pool.invoke_all_fallible_timeout(bodies(), LONG);
    for handles in [pool.invoke_all_fallible(bodies()), timed] {
        let mut handles = handles.unwrap();
        assert_eq!(handles[0].get().unwrap(), 1);
        let failure = handles[1].get().unwrap_err().into_failure().unwrap();
        let error = failure.error().unwrap();
        assert!(error.is::<std::num::ParseIntError>());
    }
}

/// ES-043
#[test]
fn at_the_deadline_what_is_unfinished_is_cancelled_and_interrupted() {
    let (clock, pool) = (TestClock::new(), fixed(2));
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let finished = Gate::new();
    let announces: Body = {
        let finished = finished.clone();
        Box::new(move || {
            finished.open();
            3
        })
    };
    let bodies = [gives(1), waits(&gate, &told), announces];
    let invoker = clock.enter(|| {
        let pool = pool.clone();
        interrupt::spawn(move || pool.invoke_all_timeout(bodies, LONG))
    });
    gate.await_waiting(1);
    finished.pass().unwrap();
    // The last quick task has its value once its worker is free for another.
    pool.submit(|| ()).unwrap().get().unwrap();
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(LONG - Duration::from_nanos(1));
    assert!(!invoker.is_finished());
    clock.advance(Duration::from_nanos(1));
    let mut handles = invoker.join().unwrap().unwrap().unwrap();
    assert!(received(&interrupts), "what ran was not interrupted");
    assert!(handles.iter().all(TaskHandle::is_done));
    assert_eq!(handles[0].get().unwrap(), 1);
    let why = cancellation(&mut handles[1]);
    assert_eq!(why, Some(Cancellation::TimedOut));
    assert_eq!(handles[2].get().unwrap(), 3);
}

/// ES-044
#[test]
fn the_deadline_is_looked_at_between_submissions() {
    let clock = TestClock::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let overruns: Body = {
        let clock = clock.clone();
        Box::new(move || {
            clock.advance(LONG);
            2
        })
    };
    let bodies = [gives(1), overruns, counts(&runs)];
    let direct = DirectExecutor::new();
    let mut handles = clock.enter(|| direct.invoke_all_timeout(bodies, LONG).unwrap());
    assert_eq!(handles[0].get().unwrap(), 1);
    assert_eq!(handles[1].get().unwrap(), 2);
    let why = cancellation(&mut handles[2]);
    assert_eq!(why, Some(Cancellation::TimedOut));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// A pool that cannot accept another task until the gate is opened.
fn saturated(policy: impl RejectedExecutionHandler + 'static) -> (ThreadPoolExecutor, Gate) {
    let (pool, gate) = (small(policy), Gate::new());
    let waiting = gate.clone();
    pool.execute(move || {
        let _ = waiting.pass();
    })
    .unwrap();
    gate.await_waiting(1);
    pool.execute(|| ()).unwrap();
    (pool, gate)
}

/// WL-001
#[test]
fn the_limit_covers_the_wait_for_room() {
    let clock = TestClock::new();
    let (pool, gate) = saturated(BlockPolicy::new());
    let runs = Arc::new(AtomicUsize::new(0));
    let bodies = [counts(&runs), counts(&runs)];
    let invoker = clock.enter(|| {
        let pool = pool.clone();
        interrupt::spawn(move || pool.invoke_all_timeout(bodies, LONG))
    });
    assert!(clock.await_sleepers(1, PATIENCE), "the wait has no limit");
    clock.advance(LONG);
    let mut handles = invoker.join().unwrap().unwrap().unwrap();
    for handle in &mut handles {
        assert_eq!(cancellation(handle), Some(Cancellation::TimedOut));
    }
    let chosen = clock.enter(|| {
        let (pool, bodies) = (pool.clone(), [counts(&runs)]);
        interrupt::spawn(move || pool.invoke_any_timeout(bodies, LONG))
    });
    assert!(clock.await_sleepers(1, PATIENCE), "the wait has no limit");
    clock.advance(LONG);
    assert!(chosen.join().unwrap().unwrap().unwrap_err().is_timed_out());
    gate.open();
    pool.close();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// WL-001
#[test]
fn the_limit_covers_a_task_that_the_caller_would_run() {
    let clock = TestClock::new();
    let (pool, gate) = saturated(CallerRunsPolicy);
    let runs = Arc::new(AtomicUsize::new(0));
    let (release, released) = channel::<()>();
    let (begun, begins) = channel();
    let deaf: Body = Box::new(move || {
        begun.send(()).unwrap();
        // Not a wait of the library: an interrupt does not end it.
        let _ = released.recv();
        1
    });
    let bodies = [deaf, counts(&runs)];
    let invoker = clock.enter(|| {
        let pool = pool.clone();
        interrupt::spawn(move || pool.invoke_all_timeout(bodies, LONG))
    });
    received(&begins);
    assert!(
        clock.await_sleepers(1, PATIENCE),
        "the caller runs the task"
    );
    clock.advance(LONG);
    let mut handles = invoker.join().unwrap().unwrap().unwrap();
    for handle in &mut handles {
        assert_eq!(cancellation(handle), Some(Cancellation::TimedOut));
    }
    drop(release);
    gate.open();
    pool.close();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// WL-001
#[test]
fn a_task_that_runs_on_its_submitter_does_not_pass_its_limit_on() {
    let clock = TestClock::new();
    let (pool, gate) = saturated(BlockPolicy::new());
    let inner = pool.clone();
    let (asked, asks) = channel();
    let submits: Body = Box::new(move || {
        asked.send(()).unwrap();
        inner.submit(|| 7).unwrap().join().unwrap()
    });
    let invoker = clock.enter(|| {
        interrupt::spawn(move || DirectExecutor::new().invoke_all_timeout([submits], LONG))
    });
    received(&asks);
    clock.advance(LONG);
    gate.open();
    let mut handles = invoker.join().unwrap().unwrap().unwrap();
    assert_eq!(handles[0].get().unwrap(), 7);
    pool.close();
}

/// ES-045
#[test]
fn with_zero_time_nothing_runs_and_every_handle_is_cancelled() {
    let runs = Arc::new(AtomicUsize::new(0));
    let pool = fixed(1);
    for executor in [&pool as &dyn ExecutorService, &DirectExecutor::new()] {
        let bodies = [counts(&runs), counts(&runs)];
        let handles = executor.invoke_all_timeout(bodies, Duration::ZERO).unwrap();
        assert_eq!(handles.len(), 2);
        assert!(handles.iter().all(TaskHandle::is_cancelled));
        executor.close();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// ES-046
#[test]
fn a_rejection_midway_cancels_what_was_submitted() {
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let runs = Arc::new(AtomicUsize::new(0));
    let refuse_once_the_first_runs = {
        let gate = gate.clone();
        move |task: Task, pool: &dyn Saturated| {
            gate.await_waiting(1);
            AbortPolicy.rejected(task, pool)
        }
    };
    let pool = small(refuse_once_the_first_runs);
    let bodies = [waits(&gate, &told), counts(&runs), counts(&runs)];
    let InvokeError::Rejected(refused) = pool.invoke_all(bodies).unwrap_err() else {
        panic!("not rejected");
    };
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    assert!(received(&interrupts), "what ran was not interrupted");
    within_patience("the pool's end", move || pool.close());
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// ES-047
#[test]
fn a_caller_interrupted_beforehand_gets_interrupted_and_cancels_its_tasks() {
    for timeout in [None, Some(LONG)] {
        let pool = fixed(1);
        let (gate, (told, _interrupts)) = (Gate::new(), channel());
        let runs = Arc::new(AtomicUsize::new(0));
        let bodies = [waits(&gate, &told), counts(&runs)];
        interrupt::current().interrupt();
        let result = match timeout {
            None => pool.invoke_all(bodies),
            Some(timeout) => pool.invoke_all_timeout(bodies, timeout),
        };
        assert!(matches!(result, Err(InvokeError::Interrupted)));
        assert!(!interrupt::interrupted(), "the flag was not cleared");
        within_patience("the pool's end", move || pool.close());
        assert_eq!(runs.load(Ordering::SeqCst), 0);
    }
}

/// ES-047
#[test]
fn a_caller_interrupted_while_it_waits_gets_interrupted_and_cancels_its_tasks() {
    for timeout in [None, Some(LONG)] {
        let pool = fixed(2);
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        let bodies = [waits(&gate, &told), waits(&gate, &told)];
        let theirs = pool.clone();
        let invoker = interrupt::spawn(move || {
            let result = match timeout {
                None => theirs.invoke_all(bodies),
                Some(timeout) => theirs.invoke_all_timeout(bodies, timeout),
            };
            (result, interrupt::interrupted())
        });
        gate.await_waiting(2);
        invoker.interrupt();
        let (result, flag) = invoker.join().unwrap().unwrap();
        assert!(matches!(result, Err(InvokeError::Interrupted)));
        assert!(!flag, "the flag was not cleared");
        assert!(received(&interrupts) && received(&interrupts));
    }
}

/// ES-048
#[test]
fn where_it_need_not_wait_it_neither_sees_nor_clears_the_flag() {
    let direct = DirectExecutor::new();
    for bodies in [vec![], vec![gives(1), gives(2)]] {
        let count = bodies.len();
        interrupt::current().interrupt();
        assert_eq!(direct.invoke_all(bodies).unwrap().len(), count);
        assert!(interrupt::interrupted(), "the flag did not stay");
    }
}

/// ES-049
#[test]
fn shutdown_now_lets_the_invoker_return_once_interrupted_tasks_end() {
    let pool = executors::cached_thread_pool();
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let bodies = [waits(&gate, &told), waits(&gate, &told), gives(7)];
    let invoker = interrupt::spawn({
        let pool = pool.clone();
        move || pool.invoke_all(bodies)
    });
    gate.await_waiting(2);
    drop(pool.shutdown_now());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert!(received(&interrupts) && received(&interrupts));
    // The third task was rejected if it came too late.
    match invoker.join().unwrap().unwrap() {
        Ok(handles) => assert!(handles.iter().all(TaskHandle::is_done)),
        Err(error) => assert!(matches!(error, InvokeError::Rejected(_))),
    }
}

/// ES-029
#[test]
fn after_shutdown_it_is_rejected() {
    let pool = fixed(1);
    pool.shutdown();
    let result = pool.invoke_all([gives(1)]);
    assert!(matches!(result, Err(InvokeError::Rejected(_))));
    let result = pool.invoke_all_timeout([gives(1)], LONG);
    assert!(matches!(result, Err(InvokeError::Rejected(_))));
}

/// In the JDK their handles would wait for ever; here they wait as long as somebody has the task.
///
/// ES-050
#[test]
fn drained_tasks_are_pending_until_the_caller_lets_go_of_them() {
    let pool = fixed(1);
    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let _running = pool.submit(waits(&gate, &told)).unwrap();
    gate.await_waiting(1);
    let mut run = pool.submit(|| 1).unwrap();
    let mut dropped = pool.submit(|| 2).unwrap();
    let cancelled = pool.submit(|| 3).unwrap();
    let mut drained = pool.shutdown_now();
    assert_eq!(drained.len(), 3);
    assert!(!run.is_done() && !dropped.is_done() && !cancelled.is_done());
    assert!(cancelled.cancel());
    drained.remove(0).run();
    assert_eq!(run.get().unwrap(), 1);
    drop(drained);
    assert_eq!(cancellation(&mut dropped), Some(Cancellation::Drained));
}

/// ES-050
#[test]
fn an_invoker_does_not_hang_on_drained_tasks() {
    let pool = fixed(1);
    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let bodies = [waits(&gate, &told), gives(2)];
    let invoker = interrupt::spawn({
        let pool = pool.clone();
        move || pool.invoke_all(bodies)
    });
    gate.await_waiting(1);
    windlass::testing::until("the second task", || !pool.queue().is_empty());
    drop(pool.shutdown_now());
    let result = within_patience("the invoker", move || invoker.join().unwrap().unwrap());
    assert!(result.unwrap()[1].is_cancelled());
}

/// ES-051
#[test]
fn an_invoker_does_not_hang_on_discarded_tasks() {
    let pool = small(DiscardPolicy);
    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let _running = pool.submit(waits(&gate, &told)).unwrap();
    let mut queued = pool.submit(|| 1).unwrap();
    let mut handles = pool.invoke_all([gives(2), gives(3)]).unwrap();
    for handle in &mut handles {
        assert!(handle.is_done());
        assert_eq!(cancellation(handle), Some(Cancellation::Discarded));
    }
    gate.open();
    assert_eq!(queued.get().unwrap(), 1);
}

/// ES-052
#[test]
fn the_handle_of_a_task_that_is_thrown_away_says_why() {
    let (gate, (told, _interrupts)) = (Gate::new(), channel());
    let pool = small(DiscardPolicy);
    let _running = pool.submit(waits(&gate, &told)).unwrap();
    let _queued = pool.submit(|| 1).unwrap();
    let mut newest = pool.submit(|| 2).unwrap();
    assert_eq!(cancellation(&mut newest), Some(Cancellation::Discarded));

    let pool = small(DiscardOldestPolicy);
    let _running = pool.submit(waits(&gate, &told)).unwrap();
    let mut oldest = pool.submit(|| 1).unwrap();
    let mut newest = pool.submit(|| 2).unwrap();
    assert_eq!(cancellation(&mut oldest), Some(Cancellation::Evicted));
    gate.open();
    assert_eq!(newest.get().unwrap(), 2);
}
