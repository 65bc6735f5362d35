//! What the executor that a test drives by hand promises.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::task::{Cancellation, TaskControl};
use windlass::testing::{ManualExecutor, SeededExecutor, within_patience};

const SECOND: Duration = Duration::from_secs(1);

/// The message of a panic with a text.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

/// WL-226
#[test]
fn nothing_runs_until_it_is_asked_for_and_then_on_the_thread_that_asks() {
    let executor = ManualExecutor::new();
    let here = std::thread::current().id();
    let first = executor.submit(|| std::thread::current().id()).unwrap();
    let second = executor.submit(|| ()).unwrap();
    assert_eq!(executor.queued(), [first.id(), second.id()]);
    assert!(!first.is_done());
    assert!(executor.run_next());
    assert!(first.is_done() && !second.is_done());
    assert_eq!(first.join().unwrap(), here);
    assert!(executor.run_next());
    assert!(!executor.run_next());
    assert!(second.is_done());
}

/// WL-226
#[test]
fn run_all_leaves_what_tasks_submit_and_run_until_idle_does_not() {
    let executor = ManualExecutor::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let submit_chain = || {
        for _ in 0..2 {
            let (inner, runs) = (executor.clone(), Arc::clone(&runs));
            let first = move || {
                runs.fetch_add(1, Ordering::Relaxed);
                let again = Arc::clone(&runs);
                inner
                    .execute(move || drop(again.fetch_add(1, Ordering::Relaxed).to_string()))
                    .unwrap();
            };
            executor.execute(first).unwrap();
        }
    };
    submit_chain();
    assert_eq!((executor.run_all(), runs.load(Ordering::Relaxed)), (2, 2));
    assert_eq!(executor.queued().len(), 2);
    assert_eq!(executor.run_until_idle(), 2);
    submit_chain();
    assert_eq!(
        (executor.run_until_idle(), runs.load(Ordering::Relaxed)),
        (4, 8)
    );
}

/// WL-226
#[test]
fn tasks_run_in_the_order_that_the_test_chooses() {
    let executor = ManualExecutor::new();
    let (log, order) = channel();
    let handles = [0, 1, 2].map(|number| {
        let log = log.clone();
        executor.submit(move || log.send(number).unwrap()).unwrap()
    });
    assert!(executor.run(&handles[2]));
    assert!(executor.run(&handles[0]));
    assert!(!executor.run(&handles[0]), "it has run");
    executor.run_until_idle();
    assert!(order.try_iter().eq([2, 0, 1]));
}

/// WL-227
#[test]
fn what_is_scheduled_runs_at_its_time_on_the_virtual_clock() {
    let executor = ManualExecutor::new();
    let (log, times) = channel();
    for delay in [3, 1, 2] {
        let (log, inner) = (log.clone(), executor.clone());
        let body = move || {
            let (again, clock) = (log.clone(), inner.clone());
            log.send(inner.clock().elapsed()).unwrap();
            let later = move || again.send(clock.clock().elapsed()).unwrap();
            drop(inner.schedule(10 * SECOND, later).unwrap());
        };
        drop(executor.schedule(delay * SECOND, body).unwrap());
    }
    assert_eq!(executor.run_until_idle(), 0);
    assert_eq!(executor.delayed_count(), 3);
    assert_eq!(executor.advance(2 * SECOND), 2);
    assert!(times.try_iter().eq([SECOND, 2 * SECOND]));
    assert_eq!(executor.advance(60 * SECOND), 4);
    assert!(
        times
            .try_iter()
            .eq([3, 11, 12, 13].map(|seconds| seconds * SECOND))
    );
    assert_eq!(executor.clock().elapsed(), 62 * SECOND);
}

/// WL-228
#[test]
fn a_task_that_waits_for_a_queued_one_runs_it_first() {
    within_patience("the wait inside of a task", || {
        let executor = ManualExecutor::new();
        let inner = executor.clone();
        let outer = executor.submit(move || {
            let other = inner.submit(|| 20).unwrap();
            let later = inner.schedule(SECOND, || 1).unwrap();
            other.join().unwrap() + later.join().unwrap()
        });
        assert_eq!(executor.run_until_idle(), 1);
        assert_eq!(outer.unwrap().join().unwrap(), 21);
        assert_eq!(
            executor.clock().elapsed(),
            SECOND,
            "the wait has advanced the clock"
        );
    });
}

/// WL-228
#[test]
fn a_wait_of_the_test_itself_runs_tasks_inside_of_enter() {
    within_patience("the wait of the test", || {
        let executor = ManualExecutor::new();
        let handle = executor.submit(|| 5).unwrap();
        assert_eq!(executor.enter(|| handle.join()).unwrap(), 5);
        let all = executor
            .enter(|| executor.invoke_all([|| 1, || 2]))
            .unwrap();
        assert_eq!(all.len(), 2);
    });
}

/// WL-228
#[test]
fn a_wait_with_a_limit_gives_up_when_the_clock_has_reached_it() {
    within_patience("the waits", || {
        let executor = ManualExecutor::new();
        let elapsed = || executor.clock().elapsed();
        let mut late = executor.schedule(10 * SECOND, || 1).unwrap();
        let early = executor.enter(|| late.get_timeout(SECOND));
        assert!(early.unwrap_err().is_timed_out());
        assert_eq!(elapsed(), SECOND);
        let on_time = executor.enter(|| late.get_timeout(20 * SECOND));
        assert_eq!(on_time.unwrap(), 1);
        assert_eq!(elapsed(), 10 * SECOND);

        // Nothing else would end the wait of a task for itself.
        let own = Arc::new(OnceLock::<TaskControl>::new());
        let theirs = Arc::clone(&own);
        let task = executor.submit(move || theirs.get().unwrap().wait_timeout(SECOND));
        let task = task.unwrap();
        own.set(task.control()).unwrap();
        executor.run_until_idle();
        assert_eq!(task.join().unwrap(), Ok(false));
        assert_eq!(elapsed(), 11 * SECOND);
    });
}

/// WL-228
#[test]
fn a_wait_that_nothing_can_end_panics_and_says_why() {
    let message = within_patience("the panic", || {
        let executor = ManualExecutor::new();
        let other = Arc::new(OnceLock::new());
        let theirs = Arc::clone(&other);
        let first = executor.submit(move || {
            let other: &TaskControl = theirs.get().unwrap();
            let _ = other.wait();
        });
        let first = first.unwrap().control();
        let second = executor.submit(move || first.wait().is_ok()).unwrap();
        other.set(second.control()).unwrap();
        executor.run_until_idle();
        second.join().unwrap_err().to_string()
    });
    assert!(message.contains("deadlock"), "{message}");
}

/// WL-229
#[test]
fn the_executor_ends_as_any_other() {
    let executor = ManualExecutor::new();
    let handle = executor.submit(|| 1).unwrap();
    executor.shutdown();
    assert!(executor.execute(|| ()).unwrap_err().is_shutdown());
    assert!(executor.is_shutdown() && !executor.is_terminated());
    assert!(executor.run_next());
    assert!(executor.is_terminated());
    assert_eq!(handle.join().unwrap(), 1);

    let executor = ManualExecutor::new();
    let queued = executor.submit(|| 2).unwrap();
    let delayed = executor.schedule(SECOND, || 3).unwrap();
    let tasks = executor.shutdown_now();
    assert!(executor.is_terminated());
    tasks.into_iter().for_each(windlass::Task::run);
    assert_eq!((queued.join().unwrap(), delayed.join().unwrap()), (2, 3));
}

/// WL-229
#[test]
fn close_runs_what_is_left_and_a_limit_is_time_on_the_clock() {
    within_patience("the end", || {
        let executor = ManualExecutor::new();
        let queued = executor.submit(|| 2).unwrap();
        let delayed = executor.schedule(5 * SECOND, || 3).unwrap();
        assert_eq!(executor.await_termination(SECOND), Ok(false));
        assert_eq!((queued.is_done(), delayed.is_done()), (true, false));
        assert_eq!(executor.clock().elapsed(), SECOND);
        executor.close();
        assert!(executor.is_terminated() && delayed.is_done());
        assert_eq!(executor.clock().elapsed(), 5 * SECOND);
    });
}

/// WL-229
#[test]
fn a_panic_of_a_task_without_a_handle_reaches_the_caller_and_the_executor_goes_on() {
    let executor = ManualExecutor::new();
    executor.execute(|| panic!("expected")).unwrap();
    let after = executor.submit(|| 1).unwrap();
    assert_eq!(
        panic_of(|| drop(executor.run_until_idle().to_string())),
        "expected"
    );
    assert_eq!(executor.run_until_idle(), 1);
    assert_eq!(after.join().unwrap(), 1);
    executor.shutdown();
    assert!(executor.is_terminated());
}

/// WL-229
#[test]
fn a_stop_inside_of_a_task_interrupts_the_task_and_not_the_test() {
    let executor = ManualExecutor::new();
    let inner = executor.clone();
    let seen = executor.submit(move || {
        drop(inner.shutdown_now());
        interrupt::is_interrupted()
    });
    executor.run_until_idle();
    assert!(seen.unwrap().join().unwrap());
    assert!(!interrupt::interrupted());
    interrupt::current().interrupt();
    let executor = ManualExecutor::new();
    let seen = executor.submit(interrupt::is_interrupted).unwrap();
    executor.run_until_idle();
    assert!(!seen.join().unwrap(), "the interrupt is not for the task");
    assert!(interrupt::interrupted());
}

/// WL-187
#[test]
fn limits_are_on_the_clock_of_the_executor_wherever_a_task_is_submitted() {
    let manual = ManualExecutor::new();
    let late = manual
        .task()
        .queue_limit(SECOND)
        .submit(|| 1)
        .expect("it runs");
    let early = manual
        .task()
        .queue_limit(3 * SECOND)
        .submit(|| 2)
        .expect("it runs");
    manual.clock().advance(2 * SECOND);
    assert_eq!(manual.run_until_idle(), 2);
    let expired = late.join().expect_err("it expires");
    assert_eq!(expired.cancellation(), Some(Cancellation::Expired));
    assert_eq!(early.join().expect("it runs"), 2);
    let seeded = SeededExecutor::new(1);
    let late = seeded
        .task()
        .queue_limit(SECOND)
        .submit(|| 1)
        .expect("it runs");
    seeded.clock().advance(2 * SECOND);
    seeded.run_until_idle();
    let expired = late.join().expect_err("it expires");
    assert_eq!(expired.cancellation(), Some(Cancellation::Expired));
}
