//! How many threads a scheduled pool has, and how many of them a timer wakes.

#[path = "kit/threads.rs"]
mod threads;
#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;
use std::time::Duration;

use threads::{Blockers, Counting};
use time::{HOUR, Log, SECOND, await_idle, await_wake_up_in, pool_on, step};
use windlass::clock::TestClock;
use windlass::pool::DiscardPolicy;
use windlass::testing::until;
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit};

const MILLI: Duration = Duration::from_millis(1);

fn counted(clock: &TestClock, core: usize) -> (ScheduledThreadPoolExecutor, Counting) {
    let threads = Counting::default();
    let builder = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(core)
        .thread_factory(Arc::new(threads.clone()));
    (clock.enter(|| builder.build()), threads)
}

/// Figures and settings of the thread pool are methods of the scheduled pool.
#[test]
fn a_scheduled_pool_has_the_figures_and_settings_of_its_thread_pool() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .name("timers")
        .core_pool_size(2)
        .keep_alive(SECOND)
        .build();
    assert_eq!((pool.name(), pool.core_pool_size()), ("timers", 2));
    assert_eq!(
        (pool.keep_alive(), pool.allows_core_thread_timeout()),
        (SECOND, false)
    );
    assert!(pool.prestart_core_thread());
    assert_eq!(pool.prestart_all_core_threads(), 1);
    assert_eq!((pool.pool_size(), pool.largest_pool_size()), (2, 2));
    drop(pool.schedule(HOUR, || ()).unwrap());
    assert_eq!((pool.active_count(), pool.queue().len()), (0, 1));
    assert_eq!((pool.task_count(), pool.completed_task_count()), (1, 0));
    pool.set_core_pool_size(1).unwrap();
    pool.set_keep_alive(MILLI).unwrap();
    pool.set_allow_core_thread_timeout(true).unwrap();
    pool.set_thread_factory(Counting::default());
    pool.set_rejection_handler(DiscardPolicy);
    let stats = pool.pool().stats();
    assert_eq!((stats.core_pool_size, pool.pool().keep_alive()), (1, MILLI));
    assert!(pool.pool().allows_core_thread_timeout());
    assert_eq!(pool.maximum_pool_size(), stats.maximum_pool_size);
    drop(pool.shutdown_now());
    assert!(pool.schedule(HOUR, || ()).unwrap().is_cancelled());
    assert_eq!(pool.rejected_count(), 1);
    pool.close();
}

/// Moves the clock on, a millisecond at a time, until the condition holds.
fn advance_until(clock: &TestClock, what: &str, condition: impl Fn() -> bool) {
    until(what, || {
        clock.advance(MILLI);
        condition()
    });
}

/// STP-075
#[test]
fn a_pool_without_core_workers_runs_a_delayed_task() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 0);
    let mut task = pool.schedule(MILLI * 12, || "ran").unwrap();
    pool.shutdown();
    advance_until(&clock, "the end", || pool.is_terminated());
    assert_eq!(task.get().unwrap(), "ran");
}

/// STP-076
#[test]
fn without_core_workers_a_far_off_task_costs_one_sleeping_thread() {
    let clock = TestClock::new();
    let (pool, threads) = counted(&clock, 0);
    drop(pool.schedule(HOUR, || ()).unwrap());
    // It wakes once per keep-alive time, and does not spin in between.
    for _ in 0..100 {
        assert_eq!(step(&clock), pool.keep_alive());
        await_idle(&pool, 1);
    }
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.largest_pool_size), (1, 1));
    assert_eq!((stats.task_count, stats.completed_task_count), (1, 0));
    assert_eq!(threads.created(), 1);
    drop(pool.shutdown_now());
    pool.close();
}

/// STP-077
#[test]
fn schedules_and_repetitions_grow_the_pool_to_its_core_size() {
    let clock = TestClock::new();
    let (pool, threads) = counted(&clock, 5);
    drop(pool.schedule_at_fixed_rate(SECOND, SECOND, || ()).unwrap());
    assert_eq!(threads.created(), 1);
    for size in 2..=5 {
        step(&clock);
        until("one more", || threads.created() == size);
        await_idle(&pool, size);
    }
    step(&clock);
    await_idle(&pool, 5);
    drop(pool.schedule(HOUR, || ()).unwrap());
    assert_eq!((threads.created(), pool.stats().largest_pool_size), (5, 5));
    drop(pool.shutdown_now());
    pool.close();
}

/// STP-078
#[test]
fn the_maximum_size_changes_nothing() {
    for maximum in [2, 1_000] {
        let blockers = Blockers::default();
        let (pool, threads) = counted(&TestClock::new(), 2);
        pool.pool().set_maximum_pool_size(maximum).unwrap();
        for _ in 0..10 {
            pool.execute(blockers.body()).unwrap();
        }
        until("two run", || pool.stats().active_count == 2);
        assert_eq!((threads.created(), pool.queue().len()), (2, 8));
        blockers.release();
        pool.close();
        assert_eq!(pool.stats().largest_pool_size, 2);
    }
}

/// STP-045
#[test]
fn one_timer_has_one_of_many_workers_sleep_by_the_clock() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 100);
    assert_eq!(pool.prestart_all_core_threads(), 100);
    let notes = log.clone();
    drop(pool.schedule_at_fixed_rate(SECOND, SECOND, move || notes.record(())));
    for _ in 0..100 {
        await_idle(&pool, 100);
        await_wake_up_in(&clock, SECOND);
        assert_eq!(clock.sleepers(), 1, "the others wait without a time");
        step(&clock);
        log.next();
    }
    drop(pool.shutdown_now());
    pool.close();
}

/// TPE-057
#[test]
fn the_last_worker_stays_for_a_far_off_task() {
    for (core, timeout) in [(0, false), (1, true), (1, false)] {
        let clock = TestClock::new();
        let (pool, threads) = counted(&clock, core);
        pool.set_keep_alive(MILLI).unwrap();
        pool.set_allow_core_thread_timeout(timeout).unwrap();
        drop(pool.schedule(HOUR, || ()).unwrap());
        let limited = core == 0 || timeout;
        for _ in 0..100 {
            await_wake_up_in(
                &clock,
                if limited {
                    MILLI
                } else {
                    HOUR - clock.elapsed()
                },
            );
            clock.advance(MILLI);
        }
        assert_eq!((threads.created(), pool.stats().pool_size), (1, 1));
        drop(pool.shutdown_now());
        pool.close();
    }
}

/// TPE-067
#[test]
fn a_busy_pool_follows_its_core_size_down_and_up() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 10);
    for n in 1..=10 {
        let first = MILLI * 100 * n;
        drop(pool.schedule_at_fixed_rate(first, SECOND, || ()).unwrap());
    }
    for size in [10_usize, 7, 13] {
        pool.set_core_pool_size(size).unwrap();
        advance_until(&clock, "the size", || pool.stats().pool_size == size);
    }
    drop(pool.shutdown_now());
    pool.close();
}

#[test]
fn a_scheduled_pool_and_its_rejections_show_its_type_and_name() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .name("nightly")
        .build();
    let shown = "ScheduledThreadPoolExecutor@nightly[Running, pool size = 0";
    assert!(format!("{pool:?}").starts_with(shown), "{pool:?}");
    pool.shutdown();
    let rejected = pool
        .schedule(Duration::ZERO, || ())
        .unwrap_err()
        .to_string();
    assert!(
        rejected.contains("ScheduledThreadPoolExecutor@nightly[Terminated"),
        "{rejected}"
    );
}
