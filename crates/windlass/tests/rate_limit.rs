//! What an executor with a rate limit promises, on a clock that stands still.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

#[path = "kit/time.rs"]
mod time;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use time::{HOUR, Log, SECOND, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::RejectionReason;
use windlass::executors::{DirectExecutor, Rate, RateLimited};
use windlass::interrupt;
use windlass::prelude::*;
use windlass::testing::{join, until};

fn rate(burst: u32) -> Rate {
    Rate::every(SECOND).burst(NonZeroU32::new(burst).unwrap())
}

/// Submits `count` tasks to an executor that rejects; returns how many it accepts.
fn accepted(limited: &RateLimited<DirectExecutor>, count: usize) -> usize {
    (0..count)
        .filter(|_| limited.execute(|| ()).is_ok())
        .count()
}

/// WL-222
#[test]
fn a_burst_passes_and_then_one_task_in_each_interval() {
    let clock = TestClock::new();
    let limited = clock.enter(|| RateLimited::rejecting(DirectExecutor::new(), rate(3)));
    assert_eq!(accepted(&limited, 10), 3);
    clock.advance(SECOND - Duration::from_nanos(1));
    assert_eq!(accepted(&limited, 10), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(accepted(&limited, 10), 1);
    clock.advance(2 * SECOND);
    assert_eq!(accepted(&limited, 10), 2);
    clock.advance(HOUR);
    assert_eq!(
        accepted(&limited, 10),
        3,
        "a pause saves no more than a burst"
    );
}

/// WL-222
#[test]
fn a_task_over_the_rate_is_returned_with_the_reason() {
    let limited = RateLimited::rejecting(DirectExecutor::new(), Rate::every(HOUR));
    limited.execute(|| ()).unwrap();
    let rejected = limited.submit(|| 7).unwrap_err();
    assert!(rejected.is_rate_limited());
    assert_eq!(rejected.reason(), RejectionReason::RateLimited);
    assert!(
        rejected
            .to_string()
            .ends_with("the rate of the executor is used up")
    );
    let (task, handle) = rejected.into_parts();
    task.run();
    assert_eq!(handle.join().unwrap(), 7);
}

/// WL-222
#[test]
fn the_extremes_of_a_rate_do_not_overflow() {
    let unlimited = RateLimited::rejecting(DirectExecutor::new(), Rate::every(Duration::ZERO));
    assert_eq!(accepted(&unlimited, 1000), 1000);
    let burst = Rate::every(Duration::MAX).burst(NonZeroU32::MAX);
    let slowest = RateLimited::rejecting(DirectExecutor::new(), burst);
    assert_eq!(accepted(&slowest, 100), 100);
    let fast = Rate::per_second(NonZeroU32::new(1000).unwrap());
    assert_eq!(fast.interval(), Duration::from_millis(1));
}

/// WL-223
#[test]
fn a_submitter_waits_exactly_until_its_token_is_there() {
    let clock = TestClock::new();
    let limited = clock.enter(|| RateLimited::waiting(DirectExecutor::new(), rate(1)));
    let limited = Arc::new(limited);
    let log = Log::new();
    let submitters: Vec<_> = (0..3)
        .map(|number| {
            let (limited, log, now) = (Arc::clone(&limited), log.clone(), clock.clone());
            let submitter = interrupt::spawn(move || {
                limited
                    .execute(move || log.record((number, now.elapsed())))
                    .unwrap();
            });
            // One after the other, so that they wait in this order.
            match number {
                0 => until("the first", || submitter.is_finished()),
                _ => until("the next", || limited_waits(&clock, number)),
            }
            submitter
        })
        .collect();
    assert_eq!(log.next(), (0, Duration::ZERO));
    clock.advance(SECOND);
    assert_eq!(log.next(), (1, SECOND));
    clock.advance(SECOND);
    assert_eq!(log.next(), (2, 2 * SECOND));
    for submitter in submitters {
        join("a submitter", submitter);
    }
}

fn limited_waits(clock: &TestClock, sleepers: usize) -> bool {
    clock.await_sleepers(sleepers, Duration::ZERO)
}

/// WL-223
#[test]
fn an_interrupt_or_a_shutdown_ends_the_wait_for_a_token() {
    let clock = TestClock::new();
    let limited = clock.enter(|| RateLimited::waiting(DirectExecutor::new(), rate(1)));
    let limited = Arc::new(limited);
    limited.execute(|| ()).unwrap();
    let submit = || {
        let theirs = Arc::clone(&limited);
        interrupt::spawn(move || theirs.execute(|| ()).map_err(|rejected| rejected.reason()))
    };
    let interrupted = submit();
    until("a submitter that waits", || limited.waiting_count() == 1);
    interrupted.interrupt();
    assert_eq!(join("it", interrupted), Err(RejectionReason::Interrupted));
    // Its token is free again.
    clock.advance(SECOND);
    limited.execute(|| ()).unwrap();
    let late = submit();
    until("a submitter that waits", || limited.waiting_count() == 1);
    limited.shutdown();
    assert_eq!(join("it", late), Err(RejectionReason::Shutdown));
    assert!(limited.is_terminated());
    assert!(limited.execute(|| ()).unwrap_err().is_shutdown());
}

/// WL-223
#[test]
fn the_limit_of_a_batch_covers_the_wait_for_a_token() {
    let clock = TestClock::new();
    clock.enter(|| {
        let limited = RateLimited::waiting(DirectExecutor::new(), rate(1));
        limited.execute(|| ()).unwrap();
        let limit = Duration::from_millis(1);
        let handles = limited.invoke_all_timeout([|| 1], limit);
        assert!(handles.is_err() || handles.unwrap().iter().all(|handle| handle.is_cancelled()));
    });
}

/// WL-224
#[test]
fn tasks_over_the_rate_are_delayed_and_passed_on_in_order() {
    let (clock, log) = (TestClock::new(), Log::new());
    let timer = Arc::new(pool_on(&clock, 1));
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(2), Arc::clone(&timer)));
    for number in 0..5 {
        let (log, now) = (log.clone(), clock.clone());
        limited
            .execute(move || log.record((number, now.elapsed())))
            .unwrap();
    }
    assert_eq!(log.take(2), [(0, Duration::ZERO), (1, Duration::ZERO)]);
    assert_eq!(limited.delayed_count(), 3);
    for number in 2..5_u32 {
        assert_eq!(step(&clock), SECOND);
        assert_eq!(log.next(), (number, SECOND * (number - 1)));
    }
    assert_eq!(limited.delayed_count(), 0);
    timer.close();
}

/// WL-224
#[test]
fn a_shutdown_passes_on_what_is_delayed_and_then_ends_the_other_executor() {
    let clock = TestClock::new();
    let timer = Arc::new(pool_on(&clock, 1));
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(1), Arc::clone(&timer)));
    limited.execute(|| ()).unwrap();
    let delayed = limited.submit(|| 3).unwrap();
    limited.shutdown();
    assert!(limited.is_shutdown() && !limited.executor().is_shutdown());
    assert!(limited.execute(|| ()).unwrap_err().is_shutdown());
    step(&clock);
    assert_eq!(delayed.join().unwrap(), 3);
    until("the end of the other executor", || limited.is_terminated());
    timer.close();
}

/// WL-224
#[test]
fn a_stop_returns_what_is_delayed() {
    let clock = TestClock::new();
    let timer = Arc::new(pool_on(&clock, 1));
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(1), Arc::clone(&timer)));
    limited.execute(|| ()).unwrap();
    let handles = [4, 5].map(|number| limited.submit(move || number).unwrap());
    let tasks = limited.shutdown_now();
    assert_eq!(tasks.len(), 2);
    tasks.into_iter().for_each(windlass::Task::run);
    assert_eq!(handles.map(|handle| handle.join().unwrap()), [4, 5]);
    // The release that was scheduled finds nothing.
    step(&clock);
    timer.close();
}

/// WL-225
#[test]
fn no_handle_hangs_when_the_other_executor_or_the_timer_ends() {
    let clock = TestClock::new();
    let timer = Arc::new(pool_on(&clock, 1));
    let make = || RateLimited::delaying(DirectExecutor::new(), rate(1), Arc::clone(&timer));
    let limited = clock.enter(make);
    limited.execute(|| ()).unwrap();
    let delayed = limited.submit(|| ()).unwrap();
    limited.executor().shutdown();
    step(&clock);
    assert!(
        delayed.join().unwrap_err().is_cancelled(),
        "the other executor has ended"
    );

    let limited = clock.enter(make);
    limited.execute(|| ()).unwrap();
    let delayed = [
        limited.submit(|| ()).unwrap(),
        limited.submit(|| ()).unwrap(),
    ];
    drop(timer.shutdown_now());
    for delayed in delayed {
        assert!(
            delayed.join().unwrap_err().is_cancelled(),
            "the timer has ended"
        );
    }
    let rejected = limited.submit(|| 6).unwrap_err();
    assert!(rejected.is_shutdown());
    let (task, handle) = rejected.into_parts();
    task.run();
    assert_eq!(handle.join().unwrap(), 6);
    timer.close();
}

/// WL-225
#[test]
fn no_handle_and_no_scope_waits_for_the_caller_of_a_stop_of_the_timer() {
    let clock = TestClock::new();
    let timer = Arc::new(pool_on(&clock, 1));
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(1), Arc::clone(&timer)));
    limited.execute(|| ()).unwrap();
    let delayed = limited.submit(|| ()).unwrap();
    let ran = AtomicBool::new(false);
    let kept = limited.scope(|s| {
        let borrows = s.spawn(|| ran.store(true, Ordering::Relaxed)).unwrap();
        let kept = timer.shutdown_now();
        assert!(borrows.is_cancelled());
        kept
    });
    assert_eq!(kept.len(), 1, "what would have passed them on");
    assert!(delayed.is_cancelled() && !ran.load(Ordering::Relaxed));
    limited.shutdown();
    assert!(limited.is_terminated());
    assert_eq!(limited.cancelled_by_shutdown(), Some(2));
    drop(kept);
    timer.close();
}

/// WL-225
#[test]
fn what_is_delayed_is_passed_on_though_the_wrapper_is_dropped() {
    let clock = TestClock::new();
    let timer = Arc::new(pool_on(&clock, 1));
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(1), Arc::clone(&timer)));
    limited.execute(|| ()).unwrap();
    let delayed = limited.submit(|| 8).unwrap();
    drop(limited);
    step(&clock);
    assert_eq!(delayed.join().unwrap(), 8);
    timer.close();
}

/// WL-222
#[test]
fn a_delayed_task_that_was_cancelled_takes_no_token() {
    let clock = TestClock::new();
    let timer = pool_on(&clock, 1);
    let limited = clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate(1), timer));
    limited.execute(|| ()).unwrap();
    let delayed = [1, 2, 3].map(|n| limited.submit(move || n).unwrap());
    let [first, second, third] = delayed;
    assert!(first.cancel());
    assert!(second.cancel());
    assert_eq!(step(&clock), SECOND);
    until("the third task", || third.is_done());
    assert_eq!(third.join().unwrap(), 3);
    assert_eq!(limited.delayed_count(), 0);
}

/// WL-222
#[test]
fn a_submitter_waits_for_a_token_no_longer_than_until_its_task_expires() {
    let clock = TestClock::new();
    let limited = clock.enter(|| RateLimited::waiting(DirectExecutor::new(), Rate::every(HOUR)));
    limited.execute(|| ()).unwrap();
    let task = limited.task().queue_limit(SECOND);
    let rejected = clock.enter(|| task.submit(|| ())).unwrap_err();
    assert_eq!(rejected.reason(), RejectionReason::TimedOut);
    assert_eq!(limited.waiting_count(), 0);
}
