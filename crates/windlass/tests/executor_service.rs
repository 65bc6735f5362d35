//! What every executor promises, run on every executor.
//!
//! The promises are generic: each is written once, as a block that the macros below run on all
//! executors that have it. Two of them are a user's own, of a few lines, to show that nothing but
//! the traits is needed.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::executors::{DirectExecutor, SerialExecutor, ThreadPerTaskExecutor};
use windlass::task::{Cancellation, ExecutionError, Task};
use windlass::testing::{DropCounter, Gate, PATIENCE, until};
use windlass::{Executor, ExecutorService, RejectedExecution};
use windlass::{Submit, ThreadPoolExecutor, executors, interrupt};

/// A user's executor: every task where it is submitted.
struct Here;

impl Executor for Here {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        task.run();
        Ok(())
    }
}

/// Another one: every task on a thread of the standard library.
struct Elsewhere;

impl Executor for Elsewhere {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        thread::spawn(move || task.run());
        Ok(())
    }
}

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

fn behind_a_pointer() -> Arc<dyn ExecutorService> {
    Arc::new(fixed(1))
}

#[cfg(feature = "tokio")]
fn on_tokio() -> executors::TokioExecutor {
    static RUNTIME: std::sync::OnceLock<tokio::runtime::Runtime> = std::sync::OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().unwrap());
    executors::TokioExecutor::new(runtime.handle().clone())
}

/// Runs a block once for each executor; the last name printed is the one that fails.
macro_rules! on_each {
    (|$executor:ident| $body:block $($name:literal => $make:expr,)+) => {$({
        println!("on {}", $name);
        let $executor = $make;
        $body
    })+};
}

/// The executors that can be ended and have threads of their own.
macro_rules! on_every_service_with_threads {
    (|$executor:ident| $body:block) => {
        on_each! { |$executor| $body
            "a fixed pool" => fixed(2),
            "a cached pool" => executors::cached_thread_pool(),
            "a single thread" => executors::single_thread_executor(),
            "a thread per task" => ThreadPerTaskExecutor::new(),
            "dyn ExecutorService" => behind_a_pointer(),
        }
        #[cfg(feature = "tokio")]
        {
            on_each! { |$executor| $body "a tokio runtime" => on_tokio(), }
        }
    };
}

macro_rules! on_every_service {
    (|$executor:ident| $body:block) => {
        on_every_service_with_threads!(|$executor| $body);
        on_each! { |$executor| $body
            "a direct executor" => DirectExecutor::new(),
            "an unconfigurable direct executor" => executors::unconfigurable(DirectExecutor::new()),
        }
    };
}

/// The executors whose submitter does not wait for the task.
macro_rules! on_every_executor_with_threads {
    (|$executor:ident| $body:block) => {
        on_every_service_with_threads!(|$executor| $body);
        on_each! { |$executor| $body
            "a serial executor" => SerialExecutor::new(fixed(2)),
            "threads of a user" => Elsewhere,
        }
    };
}

macro_rules! on_every_executor {
    (|$executor:ident| $body:block) => {
        on_every_executor_with_threads!(|$executor| $body);
        on_each! { |$executor| $body
            "a direct executor" => DirectExecutor::new(),
            "a serial direct executor" => SerialExecutor::new(DirectExecutor::new()),
            "a direct executor of a user" => Here,
            "a reference" => &Here,
            "dyn Executor" => Box::new(Here) as Box<dyn Executor>,
        }
    };
}

/// A task that waits at a gate and tells whether an interrupt ended the wait.
fn blocker(gate: &Gate, interrupted: &Sender<bool>) -> impl FnOnce() + Send + 'static {
    let (gate, interrupted) = (gate.clone(), interrupted.clone());
    move || interrupted.send(gate.pass().is_err()).unwrap()
}

fn received<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).expect("nothing came")
}

/// ES-001
#[test]
fn execute_runs_the_task_exactly_once() {
    on_every_executor!(|executor| {
        let (done, runs) = channel();
        let drops = DropCounter::new();
        let token = drops.token();
        executor
            .execute(move || {
                let _dropped_with_the_task = &token;
                done.send(()).unwrap();
            })
            .unwrap();
        received(&runs);
        until("the closure's drop", || drops.count() == 1);
        assert!(runs.recv().is_err(), "nobody is left who could run it");
    });
}

/// ES-002
#[test]
fn an_executor_that_only_executes_gains_every_other_way_to_submit() {
    on_every_executor!(|executor| {
        executor.execute(|| ()).unwrap();
        assert_eq!(executor.submit(|| 1).unwrap().get().unwrap(), 1);
        let all = executor.invoke_all([|| 1, || 2, || 3]).unwrap();
        let sum: i32 = all.into_iter().map(|mut one| one.get().unwrap()).sum();
        assert_eq!(sum, 6);
        let any = executor.invoke_any_fallible([|| Ok::<_, std::fmt::Error>(7), || Ok(7)]);
        assert_eq!(any.unwrap(), 7);
    });
}

/// ES-003
#[test]
fn submit_gives_a_handle_to_the_closures_value() {
    on_every_executor!(|executor| {
        let text = String::from("a value");
        let mut handle = executor.submit(move || text).unwrap();
        assert_eq!(handle.get().unwrap(), "a value");
    });
}

/// ES-004
#[test]
fn the_handle_of_a_unit_closure_ends_done_and_uncancelled() {
    on_every_executor!(|executor| {
        let mut handle = executor.submit(|| ()).unwrap();
        handle.wait().unwrap();
        assert!(handle.is_done());
        assert!(!handle.is_cancelled());
        assert!(handle.get_timeout(Duration::ZERO).is_ok());
    });
}

/// ES-005
#[test]
fn submit_with_result_yields_the_value_given_beforehand() {
    on_every_executor!(|executor| {
        let value = Arc::new("known already");
        let (ran, runs) = channel();
        let body = move || ran.send(()).unwrap();
        let mut handle = executor
            .submit_with_result(body, Arc::clone(&value))
            .unwrap();
        assert!(Arc::ptr_eq(&handle.get().unwrap(), &value));
        received(&runs);
    });
}

/// ES-006
#[test]
fn a_failed_get_delivers_the_original_failure() {
    #[derive(Debug, PartialEq)]
    struct Broken(u32);
    on_every_executor!(|executor| {
        let mut panics = executor
            .submit(|| -> u32 { std::panic::panic_any(Broken(7)) })
            .unwrap();
        let payload: Box<dyn Any + Send> = panics
            .get()
            .unwrap_err()
            .into_failure()
            .unwrap()
            .take_payload()
            .unwrap();
        assert_eq!(*payload.downcast::<Broken>().unwrap(), Broken(7));

        let mut errs = executor
            .submit_fallible(|| "x".parse::<u32>().map(drop))
            .unwrap();
        let failure = errs.get().unwrap_err().into_failure().unwrap();
        assert!(failure.error().unwrap().is::<std::num::ParseIntError>());
    });
}

/// ES-007
#[test]
fn a_failing_submitted_task_costs_no_worker() {
    let pool = fixed(1);
    let mut fails = pool.submit(|| panic!("confined")).unwrap();
    assert!(fails.get().unwrap_err().is_failed());
    let mut before = pool.submit(|| thread::current().id()).unwrap();
    let mut fails = pool.submit(|| panic!("confined again")).unwrap();
    let mut after = pool.submit(|| thread::current().id()).unwrap();
    assert!(fails.get().unwrap_err().is_failed());
    assert_eq!(before.get().unwrap(), after.get().unwrap());
    assert_eq!(pool.largest_pool_size(), 1);
}

/// ES-008
#[test]
fn interrupting_a_getter_frees_it_and_leaves_the_task_alone() {
    on_every_executor_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        let mut handle = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        let getter = interrupt::spawn(move || (handle.get(), handle));
        getter.interrupt();
        let (got, mut handle) = getter.join().unwrap().unwrap();
        assert!(got.unwrap_err().is_interrupted());
        assert!(!handle.is_done());
        gate.open();
        assert!(!received(&interrupts), "the task was disturbed");
        handle.get().unwrap();
    });
}

/// ES-009
#[test]
fn cancel_makes_running_and_queued_tasks_answer_cancelled() {
    on_every_executor_with_threads!(|executor| {
        let (gate, (told, _interrupts)) = (Gate::new(), channel());
        let first = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        let second = executor.submit(blocker(&gate, &told)).unwrap();
        for mut handle in [first, second] {
            assert!(handle.cancel());
            assert!(handle.is_done() && handle.is_cancelled());
            assert!(handle.get().unwrap_err().is_cancelled());
            let timed = handle.get_timeout(Duration::ZERO);
            let requested = ExecutionError::Cancelled(Cancellation::Requested);
            assert_eq!(timed.unwrap_err().to_string(), requested.to_string());
        }
        gate.open();
    });
}

/// ES-010
#[test]
fn a_timed_get_gives_up_on_a_running_task_without_stopping_it() {
    on_every_executor_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        let mut handle = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        let clock = TestClock::new();
        let getter = clock.enter(|| {
            interrupt::spawn(move || (handle.get_timeout(Duration::from_secs(5)), handle))
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_secs(5));
        let (got, mut handle) = getter.join().unwrap().unwrap();
        assert!(got.unwrap_err().is_timed_out());
        gate.open();
        assert!(!received(&interrupts), "the task was disturbed");
        handle.get().unwrap();
    });
}

/// ES-011
#[test]
fn cancel_now_interrupts_the_running_task_and_cancel_does_not() {
    on_every_executor_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        let now = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        assert!(now.cancel_now());
        assert!(received(&interrupts), "cancel_now did not interrupt");

        let gently = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        assert!(gently.cancel());
        gate.open();
        assert!(!received(&interrupts), "cancel did interrupt");
    });
}

/// ES-012
#[test]
fn shutdown_now_interrupts_a_running_task_however_it_was_handed_in() {
    on_every_service_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        executor.execute(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        drop(executor.shutdown_now());
        assert!(received(&interrupts), "executed");
        executor.close();
    });
    on_every_service_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        let mut handle = executor.submit(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        drop(executor.shutdown_now());
        assert!(received(&interrupts), "submitted");
        handle.get().unwrap();
        executor.close();
    });
}

/// The direct executor's tasks belong to their submitters.
///
/// ES-012
#[test]
fn shutdown_now_of_a_direct_executor_leaves_the_submitters_thread_alone() {
    let executor = Arc::new(DirectExecutor::new());
    let (gate, (told, interrupts)) = (Gate::new(), channel());
    let submitter = interrupt::spawn({
        let (executor, body) = (Arc::clone(&executor), blocker(&gate, &told));
        move || executor.execute(body).map(drop)
    });
    gate.await_waiting(1);
    assert!(executor.shutdown_now().is_empty());
    assert!(executor.is_terminating());
    gate.open();
    assert!(!received(&interrupts));
    submitter.join().unwrap().unwrap().unwrap();
    executor.close();
}

/// ES-060
#[test]
fn close_ends_an_executor_without_tasks() {
    on_every_service!(|executor| {
        executor.close();
        assert!(executor.is_shutdown());
        assert!(executor.is_terminated());
        assert!(!executor.is_terminating());
        assert_eq!(executor.await_termination(Duration::ZERO), Ok(true));
    });
}

/// ES-060
#[test]
fn close_waits_for_running_tasks_and_their_results_are_kept() {
    on_every_service_with_threads!(|executor| {
        let gate = Gate::new();
        let theirs = gate.clone();
        let mut handle = executor
            .submit(move || theirs.pass().map(|()| "kept"))
            .unwrap();
        gate.await_waiting(1);
        let executor = Arc::new(executor);
        let closer = interrupt::spawn({
            let executor = Arc::clone(&executor);
            move || executor.close()
        });
        until("the shutdown", || executor.is_shutdown());
        assert!(!executor.is_terminated());
        assert!(executor.is_terminating());
        gate.open();
        closer.join().unwrap().unwrap();
        assert!(executor.is_terminated());
        assert_eq!(handle.get().unwrap(), Ok("kept"));
    });
}

/// ES-060
#[test]
fn close_after_shutdown_waits_and_after_the_end_does_nothing() {
    on_every_service!(|executor| {
        let mut handle = executor.submit(|| 1).unwrap();
        executor.shutdown();
        executor.close();
        assert!(executor.is_terminated());
        executor.close();
        assert_eq!(handle.get().unwrap(), 1);
        assert!(executor.submit(|| 1).is_err());
    });
}

/// ES-061
#[test]
fn an_interrupted_close_stops_the_tasks_and_restores_the_flag() {
    on_every_service_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        executor.execute(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        interrupt::current().interrupt();
        executor.close();
        assert!(interrupt::interrupted(), "the flag was not restored");
        assert!(received(&interrupts), "the task was not interrupted");
        assert!(executor.is_terminated());
    });
}

/// ES-061
#[test]
fn a_close_that_is_interrupted_while_it_waits_does_the_same() {
    on_every_service_with_threads!(|executor| {
        let (gate, (told, interrupts)) = (Gate::new(), channel());
        executor.execute(blocker(&gate, &told)).unwrap();
        gate.await_waiting(1);
        let executor = Arc::new(executor);
        let closer = interrupt::spawn({
            let executor = Arc::clone(&executor);
            move || {
                executor.close();
                interrupt::interrupted()
            }
        });
        until("the shutdown", || executor.is_shutdown());
        closer.interrupt();
        assert!(closer.join().unwrap().unwrap(), "the flag was not restored");
        assert!(received(&interrupts), "the task was not interrupted");
        assert!(executor.is_terminated());
    });
}
