//! Delays, periods and time limits on the fork-join pool.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::forkjoin::{ForkJoinPool, join, worker_index};
use windlass::prelude::*;
use windlass::scheduled::Period;
use windlass::task::Cancellation;
use windlass::testing::{Gate, PATIENCE, until};
use windlass::{RejectionReason, interrupt};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A pool whose time stands still.
fn pool_on(clock: &TestClock) -> ForkJoinPool {
    clock.enter(|| ForkJoinPool::new(2).unwrap())
}

/// Advances the clock when the thread of the timers waits for it.
fn advance(clock: &TestClock, by: Duration) {
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(by);
}

#[test]
fn a_delayed_closure_runs_on_a_worker_when_it_is_due() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let theirs = pool.clone();
    let mut late = pool
        .schedule(SECOND, move || {
            let (a, b) = join(worker_index, worker_index);
            (theirs.is_current(), a.is_some() && b.is_some())
        })
        .unwrap();
    assert_eq!(late.delay(), SECOND);
    assert_eq!(pool.stats().delayed_task_count, 1);
    advance(&clock, SECOND / 2);
    assert!(late.get_timeout(Duration::ZERO).unwrap_err().is_timed_out());
    clock.advance(SECOND / 2);
    assert_eq!(late.get().unwrap(), (true, true));
    assert_eq!(pool.stats().delayed_task_count, 0);
}

#[test]
fn a_delayed_closure_waits_out_its_delay_across_a_shutdown() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let mut late = pool.schedule(SECOND, || 7).unwrap();
    pool.shutdown();
    let refused = pool.schedule(SECOND, || 8).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Shutdown);
    assert!(!pool.is_terminated() && !late.is_done());
    advance(&clock, SECOND);
    assert_eq!(late.get().unwrap(), 7);
    assert!(pool.await_termination(PATIENCE).unwrap());
}

#[test]
fn the_pool_ends_without_its_handles_after_the_last_delayed_task() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let kept = Arc::new(());
    let theirs = Arc::clone(&kept);
    let mut late = pool.schedule(SECOND, move || drop(theirs)).unwrap();
    drop(pool);
    advance(&clock, SECOND);
    late.get().unwrap();
    until("nothing of the pool is left", || {
        Arc::strong_count(&kept) == 1
    });
}

#[test]
fn periodic_tasks_keep_their_rate_or_delay_until_cancelled() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let runs = Arc::new(AtomicUsize::new(0));
    for kind in [Period::fixed_rate(SECOND), Period::fixed_delay(SECOND)] {
        runs.store(0, Ordering::SeqCst);
        let theirs = Arc::clone(&runs);
        let mut ticks = pool
            .schedule_periodic(kind.starting_in(SECOND), move || {
                assert!(worker_index().is_some());
                theirs.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
        for run in 1..=5 {
            // The next run is queued when the last has ended.
            until("the next run is queued", || {
                pool.stats().delayed_task_count == 1
            });
            advance(&clock, SECOND);
            until("it has run", || runs.load(Ordering::SeqCst) == run);
        }
        until("the next run is queued", || {
            pool.stats().delayed_task_count == 1
        });
        assert!(ticks.cancel());
        assert_eq!(
            pool.stats().delayed_task_count,
            0,
            "a cancelled task leaves the queue"
        );
        assert!(ticks.get().unwrap_err().is_cancelled());
        assert_eq!(ticks.runs(), 5);
    }
}

#[test]
fn a_periodic_task_that_fails_ends_and_its_handle_says_why() {
    let pool = ForkJoinPool::new(1).unwrap();
    let mut left = 3;
    let mut ticks = pool
        .schedule_at_fixed_rate_fallible(Duration::ZERO, Duration::from_millis(1), move || {
            left -= 1;
            if left > 0 {
                Ok(())
            } else {
                Err("nothing left")
            }
        })
        .unwrap();
    assert!(ticks.get().unwrap_err().is_failed());
    assert_eq!(ticks.runs(), 3);
}

#[test]
fn a_shutdown_ends_periodic_tasks() {
    let pool = ForkJoinPool::new(2).unwrap();
    let mut ticks = pool.schedule_with_fixed_delay(HOUR, HOUR, || ()).unwrap();
    pool.close();
    assert!(pool.is_terminated());
    assert!(ticks.get().unwrap_err().is_cancelled());
}

#[test]
fn an_endless_delay_holds_up_no_other_task() {
    let pool = ForkJoinPool::new(1).unwrap();
    let endless = pool
        .schedule_with_fixed_delay(Duration::MAX, Duration::MAX, || ())
        .unwrap();
    let soon = pool.schedule(Duration::from_millis(1), || 1).unwrap();
    assert_eq!(pool.submit(|| 2).unwrap().join().unwrap(), 2);
    assert_eq!(soon.join().unwrap(), 1);
    assert!(!endless.is_done());
    pool.close();
}

#[test]
fn a_stop_cancels_all_delayed_and_periodic_tasks() {
    let pool = ForkJoinPool::new(1).unwrap();
    let mut once = pool.schedule(HOUR, || ()).unwrap();
    let mut again = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    assert!(pool.shutdown_now().is_empty());
    assert!(once.is_done() && again.is_done());
    assert_eq!(once.cancellation(), Some(Cancellation::Shutdown));
    assert!(once.get().unwrap_err().is_cancelled() && again.get().unwrap_err().is_cancelled());
    assert!(pool.await_termination(PATIENCE).unwrap());
}

#[test]
fn on_request_a_shutdown_drops_delayed_tasks() {
    let pool = ForkJoinPool::new(1).unwrap();
    let mut late = pool.schedule(HOUR, || ()).unwrap();
    pool.cancel_delayed_tasks_on_shutdown();
    pool.close();
    assert!(late.get().unwrap_err().is_cancelled());
    let pool = ForkJoinPool::new(1).unwrap();
    let late = pool.schedule(HOUR, || ()).unwrap();
    pool.shutdown();
    assert!(!late.is_done());
    pool.cancel_delayed_tasks_on_shutdown();
    assert!(late.is_done());
    assert!(pool.await_termination(PATIENCE).unwrap());
}

#[test]
fn a_task_over_its_limit_is_cancelled_and_interrupted() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let gate = Gate::new();
    let theirs = gate.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let mut slow = pool
        .submit_with_timeout(SECOND, move || tell.send(theirs.pass().is_err()).unwrap())
        .unwrap();
    gate.await_waiting(1);
    advance(&clock, SECOND);
    assert!(slow.get().unwrap_err().is_cancelled());
    assert!(told.recv_timeout(PATIENCE).unwrap(), "it was interrupted");
}

#[test]
fn a_task_over_its_limit_completes_with_what_the_action_returns() {
    let clock = TestClock::new();
    let pool = pool_on(&clock);
    let gate = Gate::new();
    let wait = || {
        let gate = gate.clone();
        move || {
            gate.pass_uninterruptibly();
            "slow"
        }
    };
    let with_value = pool.submit_with_timeout_or(SECOND, wait(), || Ok::<_, String>("instead"));
    let with_error = pool.submit_with_timeout_or(SECOND, wait(), || Err("too slow"));
    let panic = || -> Result<&str, String> { panic!("the action") };
    let with_panic = pool.submit_with_timeout_or(SECOND, wait(), panic);
    let (mut value, mut error, mut panicked) = (
        with_value.unwrap(),
        with_error.unwrap(),
        with_panic.unwrap(),
    );
    advance(&clock, SECOND);
    assert_eq!(value.get().unwrap(), "instead");
    assert!(error.get().unwrap_err().is_failed());
    assert!(panicked.get().unwrap_err().is_failed());
    gate.open();
}

#[test]
fn a_task_within_its_limit_is_left_alone_and_its_timer_is_gone() {
    let pool = ForkJoinPool::new(1).unwrap();
    let quick = pool.submit_with_timeout(HOUR, || 1).unwrap();
    assert_eq!(quick.join().unwrap(), 1);
    let quick = pool
        .submit_with_timeout_or(HOUR, || 2, || Err("never"))
        .unwrap();
    assert_eq!(quick.join().unwrap(), 2);
    until("no timer is left", || pool.stats().delayed_task_count == 0);
    // It does not wait for a limit that no longer counts.
    let gate = Gate::new();
    let theirs = gate.clone();
    let last = pool
        .submit_with_timeout(HOUR, move || theirs.pass_uninterruptibly())
        .unwrap();
    pool.shutdown();
    gate.open();
    last.join().unwrap();
    assert!(pool.await_termination(PATIENCE).unwrap());
    let refused = pool.submit_with_timeout(HOUR, || 3).unwrap_err();
    let (task, handle) = refused.into_parts();
    task.run();
    assert_eq!(handle.join().unwrap(), 3);
}

/// All workers are busy with what the limit is to end.
#[test]
fn a_limit_needs_no_free_worker() {
    let pool = ForkJoinPool::new(1).unwrap();
    let endless = || while interrupt::sleep(HOUR).is_ok() {};
    let slow = pool
        .submit_with_timeout(Duration::from_millis(1), endless)
        .unwrap();
    assert!(slow.join().unwrap_err().is_cancelled());
    pool.close();
}

#[test]
fn the_common_pool_runs_delayed_tasks_too() {
    let late = ForkJoinPool::common().schedule(Duration::from_millis(1), worker_index);
    assert!(late.unwrap().join().unwrap().is_some());
}
