//! What users of `scheduled-thread-pool` rely on, one test for each promise. Hours pass on a clock that the
//! tests drive.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::testing::{DropCounter, Gate, PATIENCE, until};
use windlass_scheduled_thread_pool::{JobHandle, OnPoolDropBehavior, ScheduledThreadPool};

const HOUR: Duration = Duration::from_secs(3_600);

/// A pool of one thread on a clock that stands still.
fn pool_and_clock(on_drop: OnPoolDropBehavior) -> (ScheduledThreadPool, TestClock) {
    let clock = TestClock::new();
    let pool = clock.enter(|| {
        ScheduledThreadPool::builder()
            .num_threads(1)
            .on_drop_behavior(on_drop)
            .build()
    });
    (pool, clock)
}

/// Advances the clock to the next time at which a thread wakes up, by no more than the rest of `by`.
fn pass(clock: &TestClock, by: Duration) {
    assert!(clock.await_sleepers(1, PATIENCE), "the thread sleeps");
    clock.advance(by);
}

fn next<T>(log: &Receiver<T>) -> T {
    log.recv_timeout(PATIENCE).expect("a job runs")
}

/// Checks that all senders are gone, because the job that owned them was dropped.
fn ends<T: std::fmt::Debug + PartialEq>(log: &Receiver<T>) {
    let end = log.recv_timeout(PATIENCE);
    assert_eq!(end, Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_job_runs_as_soon_as_possible() {
    let pool = ScheduledThreadPool::new(2);
    let (log, ran) = channel();
    pool.execute(move || log.send(()).unwrap());
    next(&ran);
}

#[test]
fn a_job_runs_after_its_delay_and_not_before() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    for hours in [2, 1, 3] {
        let (log, now) = (log.clone(), clock.clone());
        clock.enter(|| {
            pool.execute_after(HOUR * hours, move || {
                log.send((hours, now.elapsed())).unwrap();
            })
        });
    }
    for hours in 1..=3 {
        pass(&clock, HOUR);
        assert_eq!(next(&times), (hours, HOUR * hours));
    }
}

#[test]
fn a_fixed_rate_counts_from_when_a_run_was_due_and_missed_runs_follow() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    let now = clock.clone();
    let mut first = true;
    clock.enter(|| {
        pool.execute_at_fixed_rate(HOUR, HOUR, move || {
            log.send(now.elapsed()).unwrap();
            if std::mem::take(&mut first) {
                // A run that takes two hours and a half.
                now.advance(HOUR * 5 / 2);
            }
        })
    });
    pass(&clock, HOUR);
    let late = HOUR * 7 / 2;
    assert_eq!(
        [next(&times), next(&times), next(&times)],
        [HOUR, late, late]
    );
    pass(&clock, HOUR / 2);
    assert_eq!(next(&times), HOUR * 4);
}

#[test]
fn a_fixed_delay_counts_from_the_end_of_a_run() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    let now = clock.clone();
    clock.enter(|| {
        pool.execute_with_fixed_delay(HOUR, HOUR, move || {
            log.send(now.elapsed()).unwrap();
            now.advance(HOUR / 2);
        })
    });
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR);
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR * 5 / 2);
}

#[test]
fn a_dynamic_rate_counts_from_when_a_run_was_due_until_there_is_none() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    let now = clock.clone();
    let mut rates = [HOUR, HOUR * 2].into_iter();
    clock.enter(|| {
        pool.execute_at_dynamic_rate(HOUR, move || {
            log.send(now.elapsed()).unwrap();
            now.advance(HOUR / 4);
            rates.next()
        })
    });
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR);
    pass(&clock, HOUR * 3 / 4);
    assert_eq!(next(&times), HOUR * 2);
    pass(&clock, HOUR * 7 / 4);
    assert_eq!(next(&times), HOUR * 4);
    ends(&times);
}

#[test]
fn a_dynamic_delay_counts_from_the_end_of_a_run_until_there_is_none() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    let now = clock.clone();
    let mut delays = [HOUR].into_iter();
    clock.enter(|| {
        pool.execute_with_dynamic_delay(Duration::ZERO, move || {
            log.send(now.elapsed()).unwrap();
            now.advance(HOUR / 4);
            delays.next()
        })
    });
    assert_eq!(next(&times), Duration::ZERO);
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR * 5 / 4);
    ends(&times);
}

#[test]
fn a_rate_of_zero_repeats_without_a_pause() {
    let pool = ScheduledThreadPool::new(1);
    let (log, ticks) = channel();
    let job = pool.execute_at_fixed_rate(Duration::ZERO, Duration::ZERO, move || {
        let _ = log.send(());
    });
    for _ in 0..100 {
        next(&ticks);
    }
    job.cancel();
}

#[test]
fn a_cancelled_job_does_not_start_and_is_dropped_at_once() {
    let pool = ScheduledThreadPool::new(1);
    let drops = DropCounter::new();
    let owned = drops.token();
    let job = pool.execute_after(HOUR, move || drop(owned));
    job.cancel();
    assert_eq!(drops.count(), 1);
    assert_eq!(pool.executor().stats().queue_len, 0);
}

#[test]
fn a_job_that_is_cancelled_while_it_runs_is_not_repeated() {
    let pool = ScheduledThreadPool::new(1);
    let gate = Arc::new(Gate::new());
    let (log, runs) = channel();
    let inside = Arc::clone(&gate);
    let job = pool.execute_with_fixed_delay(Duration::ZERO, Duration::ZERO, move || {
        inside.pass_uninterruptibly();
        let _ = log.send(());
    });
    gate.await_waiting(1);
    job.cancel();
    gate.open();
    next(&runs);
    ends(&runs);
}

#[test]
fn a_job_goes_on_after_its_handle_is_dropped() {
    let pool = ScheduledThreadPool::new(1);
    let (log, ticks) = channel();
    let job: JobHandle =
        pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), move || {
            let _ = log.send(());
        });
    drop(job);
    for _ in 0..3 {
        next(&ticks);
    }
}

#[test]
fn a_job_that_panics_is_not_repeated_and_the_threads_go_on() {
    let pool = ScheduledThreadPool::new(2);
    let (log, runs) = channel();
    pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), move || {
        log.send(()).unwrap();
        panic!("a job that panics on purpose");
    });
    next(&runs);
    ends(&runs);
    for _ in 0..4 {
        pool.execute(|| panic!("a job that panics on purpose"));
    }
    let gate = Arc::new(Gate::new());
    for _ in 0..2 {
        let gate = Arc::clone(&gate);
        pool.execute(move || gate.pass_uninterruptibly());
    }
    gate.await_waiting(2);
    gate.open();
}

#[test]
fn a_pool_starts_all_its_threads_when_it_is_built() {
    let pool = ScheduledThreadPool::new(3);
    assert_eq!(pool.executor().pool_size(), 3);
}

#[test]
fn threads_are_numbered_in_the_pattern() {
    let pool = ScheduledThreadPool::builder()
        .num_threads(3)
        .thread_name_pattern("a-{}-b")
        .build();
    let gate = Arc::new(Gate::new());
    let (log, names) = channel();
    for _ in 0..3 {
        let (gate, log) = (Arc::clone(&gate), log.clone());
        pool.execute(move || {
            log.send(thread::current().name().unwrap_or("none").to_owned())
                .unwrap();
            gate.pass_uninterruptibly();
        });
    }
    let names: HashSet<_> = (0..3).map(|_| next(&names)).collect();
    gate.open();
    assert_eq!(names, ["a-0-b", "a-1-b", "a-2-b"].map(str::to_owned).into());
}

#[test]
fn threads_have_no_name_unless_set() {
    let pool = ScheduledThreadPool::new(1);
    let (log, named) = channel();
    pool.execute(move || log.send(thread::current().name().is_some()).unwrap());
    assert!(!next(&named));
}

#[test]
fn pending_jobs_run_after_a_drop() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    for hours in [2, 1] {
        let (log, now) = (log.clone(), clock.clone());
        clock.enter(|| pool.execute_after(HOUR * hours, move || log.send(now.elapsed()).unwrap()));
    }
    drop(log);
    drop(pool);
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR);
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR * 2);
    ends(&times);
}

#[test]
fn a_periodic_job_that_is_pending_at_a_drop_runs_once_more() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::CompletePendingScheduled);
    let (log, times) = channel();
    let now = clock.clone();
    clock
        .enter(|| pool.execute_at_fixed_rate(HOUR, HOUR, move || log.send(now.elapsed()).unwrap()));
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR);
    // The next run is pending when the thread sleeps again.
    assert!(clock.await_sleepers(1, PATIENCE));
    drop(pool);
    pass(&clock, HOUR);
    assert_eq!(next(&times), HOUR * 2);
    ends(&times);
}

#[test]
fn a_periodic_job_that_runs_at_a_drop_is_not_repeated() {
    for on_drop in [
        OnPoolDropBehavior::CompletePendingScheduled,
        OnPoolDropBehavior::DiscardPendingScheduled,
    ] {
        let (pool, clock) = pool_and_clock(on_drop);
        let gate = Arc::new(Gate::new());
        let inside = Arc::clone(&gate);
        let (log, runs) = channel();
        clock.enter(|| {
            pool.execute_with_fixed_delay(Duration::ZERO, Duration::ZERO, move || {
                log.send(()).unwrap();
                inside.pass_uninterruptibly();
            })
        });
        gate.await_waiting(1);
        drop(pool);
        gate.open();
        next(&runs);
        ends(&runs);
    }
}

#[test]
fn pending_jobs_are_discarded_if_asked_for() {
    let (pool, clock) = pool_and_clock(OnPoolDropBehavior::DiscardPendingScheduled);
    let (log, runs) = channel();
    let late = log.clone();
    clock.enter(|| {
        pool.execute_after(HOUR, move || late.send(()).unwrap());
        pool.execute_at_fixed_rate(HOUR, HOUR, move || log.send(()).unwrap());
    });
    drop(pool);
    ends(&runs);
}

#[test]
fn jobs_that_are_due_and_have_not_started_are_discarded_too() {
    let pool = ScheduledThreadPool::builder()
        .num_threads(1)
        .on_drop_behavior(OnPoolDropBehavior::DiscardPendingScheduled)
        .build();
    let gate = Arc::new(Gate::new());
    let inside = Arc::clone(&gate);
    pool.execute(move || inside.pass_uninterruptibly());
    gate.await_waiting(1);
    let (log, runs) = channel();
    pool.execute(move || log.send(()).unwrap());
    drop(pool);
    gate.open();
    ends(&runs);
}

#[test]
fn the_threads_end_after_a_drop() {
    for on_drop in [
        OnPoolDropBehavior::CompletePendingScheduled,
        OnPoolDropBehavior::DiscardPendingScheduled,
    ] {
        let pool = ScheduledThreadPool::builder()
            .num_threads(2)
            .on_drop_behavior(on_drop)
            .build();
        pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), || ());
        let below = pool.executor().clone();
        drop(pool);
        until("the threads end", || below.pool_size() == 0);
    }
}

#[test]
fn a_job_may_drop_the_pool() {
    let pool = Arc::new(ScheduledThreadPool::new(1));
    let mut inside = Some(Arc::clone(&pool));
    let (log, runs) = channel();
    pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), move || {
        inside.take();
        log.send(()).unwrap();
    });
    drop(pool);
    next(&runs);
}

#[test]
fn a_delay_that_no_clock_can_count_is_never_due() {
    let pool = ScheduledThreadPool::new(1);
    let job = pool.execute_after(Duration::MAX, || panic!("the end of time"));
    let repeated = pool.execute_at_fixed_rate(Duration::MAX, HOUR, || panic!("the end of time"));
    let (log, ran) = channel();
    pool.execute(move || log.send(()).unwrap());
    next(&ran);
    job.cancel();
    repeated.cancel();
}

#[test]
#[should_panic(expected = "num_threads must be positive")]
fn a_pool_without_threads_is_refused() {
    let _stage = ScheduledThreadPool::builder().num_threads(0);
}

#[test]
#[expect(deprecated, reason = "the deprecated name stays")]
fn the_deprecated_name_works() {
    let pool = ScheduledThreadPool::with_name("old-{}", 1);
    let (log, name) = channel();
    pool.execute(move || log.send(thread::current().name() == Some("old-0")).unwrap());
    assert!(next(&name));
}

#[test]
fn a_pool_and_a_handle_can_be_shared() {
    fn check<T: Send + Sync>() {}
    check::<ScheduledThreadPool>();
    check::<JobHandle>();
}
