//! Fallible tasks that are tried again.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use time::{HOUR, Log, SECOND, await_idle, await_wake_up_in, pool_on};
use windlass::clock::TestClock;
use windlass::prelude::*;
use windlass::scheduled::{Jitter, Retry, ScheduledHandle};
use windlass::task::{Cancellation, Failure, TaskState};
use windlass::testing::{Gate, PATIENCE, until};

/// A policy with the same wait of a second after each attempt.
fn every_second() -> Retry {
    Retry::constant(SECOND).jitter(Jitter::None)
}

/// A task that fails `failures` times, and then returns how many attempts it took.
fn fails(failures: u64) -> impl FnMut() -> Result<u64, String> + Send {
    let mut attempts = 0;
    move || {
        attempts += 1;
        if attempts > failures {
            Ok(attempts)
        } else {
            Err(format!("failure {attempts}"))
        }
    }
}

/// Waits until an attempt has failed and the next one is due in that time.
fn await_failure<T: Send + 'static>(
    clock: &TestClock,
    handle: &ScheduledHandle<T>,
    attempt: u64,
    wait: Duration,
) {
    until("the attempt", || handle.attempts() == attempt);
    await_wake_up_in(clock, wait);
    assert_eq!(handle.state(), TaskState::Queued);
    assert_eq!(handle.delay(), wait);
}

fn failure_of<T: Send + 'static>(mut handle: ScheduledHandle<T>) -> Failure {
    let error = handle.get_timeout(PATIENCE).err().unwrap();
    error.into_failure().unwrap()
}

/// WL-196
#[test]
fn a_task_is_tried_until_it_succeeds_and_its_handle_shows_the_attempts() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let policy = Retry::exponential(SECOND).jitter(Jitter::None).attempts(9);
    let handle = pool.submit_retry(&policy, fails(3)).unwrap();
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4)] {
        let wait = wait * SECOND;
        await_failure(&clock, &handle, attempt, wait);
        let shown = handle.last_failure().unwrap();
        assert_eq!(
            shown.error().unwrap().to_string(),
            format!("failure {attempt}")
        );
        assert_eq!(shown.attempts(), Some(attempt));
        assert!(!handle.is_periodic());
        clock.advance(wait);
    }
    until("the fourth attempt", || handle.is_done());
    assert_eq!(handle.attempts(), 4);
    assert_eq!(handle.join().unwrap(), 4);
    assert_eq!(pool.stats().failed_task_count, 0);
    pool.close();
}

/// WL-196
#[test]
fn no_worker_waits_between_attempts() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let handle = pool.submit_retry(&every_second(), fails(1)).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    assert_eq!(pool.submit(|| 42).unwrap().join().unwrap(), 42);
    await_idle(&pool, 1);
    clock.advance(SECOND);
    assert_eq!(handle.join().unwrap(), 2);
    pool.close();
}

/// WL-197
#[test]
fn the_failure_after_the_last_attempt_is_the_last_error_and_says_how_many_there_were() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let policy = every_second().attempts(2);
    let handle = pool.submit_retry(&policy, fails(9)).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    clock.advance(SECOND);
    let failure = failure_of(handle);
    assert_eq!(failure.to_string(), "failure 2 (after 2 attempts)");
    assert_eq!(failure.error().unwrap().to_string(), "failure 2");
    assert_eq!(failure.attempts(), Some(2));
    until("the failure is counted", || {
        pool.stats().failed_task_count == 1
    });
    let once = pool.submit_retry(&every_second().attempts(0), fails(9));
    let failure = failure_of(once.unwrap());
    assert_eq!(failure.to_string(), "failure 1 (after 1 attempt)");
    pool.close();
}

/// WL-197
#[test]
fn no_attempt_starts_after_the_time_limit_or_the_deadline() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let policy = every_second().attempts(99);
    let limited = policy.clone().time_limit(SECOND * 3 / 2);
    let handle = pool.submit_retry(&limited, fails(99)).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    clock.advance(SECOND);
    assert_eq!(failure_of(handle).attempts(), Some(2));

    let task = pool.task().deadline(clock.now() + SECOND / 2);
    let mut handle = task.submit_retry(&policy, fails(99)).unwrap();
    until("the attempt", || handle.attempts() == 1);
    await_wake_up_in(&clock, SECOND / 2);
    clock.advance(SECOND / 2);
    let expired = handle.get_timeout(PATIENCE).unwrap_err();
    assert_eq!(expired.cancellation(), Some(Cancellation::Expired));
    pool.close();
}

/// The second attempt is due in time, and its worker is busy then.
///
/// WL-197
#[test]
fn an_attempt_that_is_late_for_want_of_a_worker_does_not_start_after_the_time_limit() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let policy = every_second().attempts(99).time_limit(SECOND * 3 / 2);
    let handle = pool.submit_retry(&policy, fails(99)).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    clock.advance(2 * SECOND);
    gate.open();
    let failure = failure_of(handle);
    assert_eq!(failure.attempts(), Some(1));
    assert_eq!(failure.to_string(), "failure 1 (after 1 attempt)");
    pool.close();
}

/// WL-198
#[test]
fn retry_if_decides_and_panics_are_not_tried_again_unless_it_says_so() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let picky = every_second().retry_if(|failure| failure.to_string().starts_with("failure 1"));
    let handle = pool.submit_retry(&picky, fails(9)).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    clock.advance(SECOND);
    assert_eq!(failure_of(handle).attempts(), Some(2));

    let panics = || -> Result<(), String> { panic!("out of range") };
    let failure = failure_of(pool.submit_retry(&every_second(), panics).unwrap());
    assert_eq!((failure.is_panic(), failure.attempts()), (true, Some(1)));
    assert_eq!(
        failure.to_string(),
        "panicked: out of range (after 1 attempt)"
    );

    let brave = every_second().retry_if(Failure::is_panic);
    let handle = pool.submit_retry(&brave, panics).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    assert!(handle.cancel());
    pool.close();
}

/// WL-198
#[test]
fn a_task_whose_retry_if_panics_fails_with_that_panic() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let broken = every_second().retry_if(|_| panic!("no opinion"));
    let handle = pool.submit_retry(&broken, fails(9)).unwrap();
    until("the end", || handle.is_done());
    let last = handle.last_failure().unwrap();
    assert_eq!(last.to_string(), "failure 1 (after 1 attempt)");
    let failure = failure_of(handle);
    assert_eq!(
        failure.to_string(),
        "panicked: no opinion (after 1 attempt)"
    );
    assert_eq!(pool.submit(|| 42).unwrap().join().unwrap(), 42);
    pool.close();
}

/// WL-199
#[test]
fn a_cancel_between_attempts_or_during_one_ends_them() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    pool.set_remove_on_cancel(true);
    let between = pool.submit_retry(&every_second(), fails(9)).unwrap();
    await_failure(&clock, &between, 1, SECOND);
    assert!(between.cancel());
    assert!(pool.queue().is_empty());
    assert_eq!(between.cancellation(), Some(Cancellation::Requested));

    let (gate, log) = (Gate::new(), Log::new());
    let (inside, notes) = (gate.clone(), log.clone());
    let body = move || {
        let interrupted = inside.pass().is_err();
        notes.record(interrupted);
        Err::<(), _>("interrupted")
    };
    let during = pool.submit_retry(&every_second(), body).unwrap();
    gate.await_waiting(1);
    assert!(during.cancel_now());
    assert!(log.next());
    clock.advance(HOUR);
    await_idle(&pool, 1);
    assert!(log.is_empty() && pool.queue().is_empty());
    pool.close();
}

/// WL-199
#[test]
fn a_shutdown_runs_the_first_attempt_and_ends_the_others_with_its_reason() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let waits = pool.submit_retry(&every_second(), fails(9)).unwrap();
    await_failure(&clock, &waits, 1, SECOND);
    let gate = time::occupy(&pool);
    let succeeds = pool.submit_retry(&every_second(), fails(0)).unwrap();
    let fails = pool.submit_retry(&every_second(), fails(9)).unwrap();
    pool.shutdown();
    assert_eq!(waits.cancellation(), Some(Cancellation::Shutdown));
    assert_eq!(waits.last_failure().unwrap().attempts(), Some(1));
    gate.open();
    assert_eq!(succeeds.join().unwrap(), 1);
    let cancelled = fails.join().unwrap_err();
    assert_eq!(cancelled.cancellation(), Some(Cancellation::Shutdown));
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// WL-199
#[test]
fn a_stop_returns_the_next_attempt_and_a_rejection_the_first() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let waits = pool.submit_retry(&every_second(), fails(9)).unwrap();
    await_failure(&clock, &waits, 1, SECOND);
    let drained = pool.shutdown_now();
    assert_eq!(drained.len(), 1);
    drop(drained);
    assert_eq!(waits.cancellation(), Some(Cancellation::Drained));
    let rejected = pool.submit_retry(&every_second(), fails(0)).unwrap_err();
    let (task, handle) = rejected.into_parts();
    drop(task);
    assert_eq!(handle.cancellation(), Some(Cancellation::Rejected));
}

/// WL-199
#[test]
fn a_run_limit_is_that_of_an_attempt() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let calls = Arc::new(AtomicU64::new(0));
    let (gate, count) = (Gate::new(), Arc::clone(&calls));
    let inside = gate.clone();
    let body = move || {
        if count.fetch_add(1, Ordering::Relaxed) == 1 {
            let _ = inside.pass();
        }
        Err::<(), _>("not yet")
    };
    let task = pool.task().run_limit(SECOND / 2);
    let mut handle = task.submit_retry(&every_second(), body).unwrap();
    await_failure(&clock, &handle, 1, SECOND);
    clock.advance(SECOND);
    gate.await_waiting(1);
    await_wake_up_in(&clock, SECOND / 2);
    clock.advance(SECOND / 2);
    let timed_out = handle.get_timeout(PATIENCE).unwrap_err();
    assert_eq!(timed_out.cancellation(), Some(Cancellation::TimedOut));
    assert_eq!(pool.stats().timed_out_task_count, 1);
    pool.close();
}
