//! When delayed and periodic tasks run, to the nanosecond, on a clock that the test moves.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::cmp::Ordering;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};
use std::time::Duration;

use time::{HOUR, Log, SECOND, await_idle, await_wake_up_in, occupy, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::RejectionReason;
use windlass::scheduled::ScheduledHandle;
use windlass::testing::{Latch, until, within_patience};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit};

const NANO: Duration = Duration::from_nanos(1);

/// STP-001
#[test]
fn a_pool_starts_with_the_documented_sizes_and_policies() {
    for core in [0, 3] {
        let pool = ScheduledThreadPoolExecutor::new(core);
        assert_eq!(pool.core_pool_size(), core);
        assert!(pool.maximum_pool_size() >= 500_000_000);
        assert_eq!(pool.keep_alive(), Duration::from_millis(10));
        assert!(pool.runs_delayed_after_shutdown());
        assert!(!pool.continues_periodic_after_shutdown());
        assert!(!pool.removes_on_cancel());
        assert_eq!(pool.stats().pool_size, 0);
        pool.shutdown();
        let refused = pool.execute(|| ()).unwrap_err();
        assert_eq!(refused.reason(), RejectionReason::Shutdown);
    }
}

/// STP-002
#[test]
fn plain_submissions_are_schedules_without_a_delay() {
    let pool = pool_on(&TestClock::new(), 2);
    let ran = Latch::new(1);
    let counts = ran.clone();
    pool.execute(move || counts.count_down()).unwrap();
    ran.wait();
    assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
    assert_eq!(pool.submit_with_result(|| (), 8).unwrap().get().unwrap(), 8);
    let all = pool.invoke_all((0..5).map(|n| move || n)).unwrap();
    let values: Vec<_> = all.into_iter().map(|mut h| h.get().unwrap()).collect();
    assert_eq!(values, [0, 1, 2, 3, 4]);
    let bodies = (0..3).map(|n| move || if n < 2 { Err("no") } else { Ok(n) });
    assert_eq!(pool.invoke_any_fallible(bodies).unwrap(), 2);
    let timed = pool.invoke_all_timeout([|| 1], HOUR).unwrap();
    assert!(timed[0].is_done());
    pool.close();
}

/// STP-003
#[test]
fn an_executed_task_is_queued_and_drained_as_due_now() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let gate = occupy(&pool);
    let late = pool.schedule(HOUR, || ()).unwrap();
    let id = pool.execute(|| ()).unwrap();
    let queued = pool.queued_tasks();
    let ids: Vec<_> = queued.iter().map(|task| task.id).collect();
    assert_eq!(ids, [id, late.id()]);
    assert_eq!(queued[0].delay, Duration::ZERO);
    assert!(!queued[0].is_periodic);
    let drained = pool.shutdown_now();
    assert_eq!(drained[0].id(), id);
    gate.open();
    pool.close();
}

/// STP-010
#[test]
fn a_delayed_value_comes_with_its_time_and_not_a_nanosecond_before() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let (log, now) = (Log::new(), clock.clone());
    let notes = log.clone();
    let mut late = pool
        .schedule(HOUR, move || {
            notes.record(now.elapsed());
            "value"
        })
        .unwrap();
    await_wake_up_in(&clock, HOUR);
    clock.advance(HOUR - NANO);
    await_wake_up_in(&clock, NANO);
    assert!(!late.is_done() && log.is_empty());
    clock.advance(NANO);
    let value = within_patience("the value", move || late.get().unwrap());
    assert_eq!((value, log.next()), ("value", HOUR));
    pool.close();
}

/// STP-011
#[test]
fn a_delayed_unit_closure_comes_with_its_time() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let mut late = pool.schedule(SECOND, || ()).unwrap();
    await_wake_up_in(&clock, SECOND);
    assert!(late.try_get().is_none());
    clock.advance(SECOND);
    within_patience("the unit", move || late.get().unwrap());
    pool.close();
}

/// A periodic task that records when it runs; `takes` maps the number of a run to its duration.
fn noting(
    clock: &TestClock,
    log: &Log<Duration>,
    takes: impl Fn(usize) -> Duration + Send + 'static,
) -> impl FnMut() + Send + 'static {
    let (clock, log, mut run) = (clock.clone(), log.clone(), 0);
    move || {
        log.record(clock.elapsed());
        clock.advance(takes(run));
        run += 1;
    }
}

fn seconds(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
    times.into_iter().map(Duration::from_secs).collect()
}

/// STP-012
#[test]
fn a_fixed_rate_begins_after_its_initial_delay() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let task = pool
        .schedule_at_fixed_rate(HOUR, SECOND, noting(&clock, &log, |_| Duration::ZERO))
        .unwrap();
    await_wake_up_in(&clock, HOUR);
    clock.advance(HOUR - NANO);
    await_wake_up_in(&clock, NANO);
    assert!(log.is_empty());
    clock.advance(NANO);
    assert_eq!(log.next(), HOUR);
    assert!(task.cancel());
    pool.close();
}

/// STP-013
#[test]
fn a_fixed_delay_begins_after_its_initial_delay() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let task = pool
        .schedule_with_fixed_delay(HOUR, SECOND, noting(&clock, &log, |_| Duration::ZERO))
        .unwrap();
    await_wake_up_in(&clock, HOUR);
    clock.advance(HOUR - NANO);
    await_wake_up_in(&clock, NANO);
    assert!(log.is_empty());
    clock.advance(NANO);
    assert_eq!(log.next(), HOUR);
    assert!(task.cancel());
    pool.close();
}

/// STP-014
#[test]
fn a_fixed_rate_keeps_its_grid_however_long_the_runs_take() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let takes = |run: usize| SECOND * u32::try_from(run % 10).unwrap();
    drop(pool.schedule_at_fixed_rate(Duration::ZERO, SECOND * 10, noting(&clock, &log, takes)));
    for run in 0..20 {
        assert_eq!(log.next(), SECOND * 10 * run);
        step(&clock);
    }
    pool.shutdown();
    pool.close();
}

/// STP-015
#[test]
fn a_fixed_delay_counts_from_the_end_of_the_run() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let takes = |run: usize| SECOND * u32::try_from(run).unwrap();
    drop(pool.schedule_with_fixed_delay(Duration::ZERO, SECOND * 10, noting(&clock, &log, takes)));
    for expected in seconds([0, 10, 21, 33, 46, 60]) {
        assert_eq!(log.next(), expected);
        assert_eq!(step(&clock), SECOND * 10);
    }
    pool.shutdown();
    pool.close();
}

/// STP-016
#[test]
fn a_zero_delay_means_now_and_a_zero_period_is_refused() {
    let pool = pool_on(&TestClock::new(), 1);
    let mut now = pool.schedule(Duration::ZERO, || 1).unwrap();
    assert_eq!(now.get().unwrap(), 1);
    let rate = pool.schedule_at_fixed_rate(SECOND, Duration::ZERO, || ());
    let delay = pool.schedule_with_fixed_delay(SECOND, Duration::ZERO, || ());
    for refused in [rate.unwrap_err(), delay.unwrap_err()] {
        assert_eq!(refused.reason(), RejectionReason::ZeroPeriod);
    }
    assert_eq!(pool.queue().len(), 0);
    pool.close();
}

#[test]
fn a_task_refused_for_its_period_can_be_run_once_by_hand() {
    let (pool, log) = (pool_on(&TestClock::new(), 1), Log::new());
    let notes = log.clone();
    let period = Duration::ZERO;
    let refused = pool.schedule_at_fixed_rate(SECOND, period, move || notes.record(()));
    let (task, mut handle) = refused.unwrap_err().into_parts();
    task.run();
    handle.get().unwrap();
    log.next();
    assert!(log.is_empty());
    pool.close();
}

/// STP-017
#[test]
fn a_late_fixed_rate_catches_up_back_to_back() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let takes = |run| {
        if run == 0 {
            SECOND * 55
        } else {
            Duration::ZERO
        }
    };
    drop(pool.schedule_at_fixed_rate(Duration::ZERO, SECOND * 10, noting(&clock, &log, takes)));
    assert_eq!(log.take(6), seconds([0, 55, 55, 55, 55, 55]));
    assert_eq!(step(&clock), SECOND * 5);
    assert_eq!(log.next(), SECOND * 60);
    pool.shutdown();
    pool.close();
}

/// STP-017
#[test]
fn a_late_fixed_delay_never_catches_up() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let takes = |run| {
        if run == 0 {
            SECOND * 55
        } else {
            Duration::ZERO
        }
    };
    drop(pool.schedule_with_fixed_delay(Duration::ZERO, SECOND * 10, noting(&clock, &log, takes)));
    assert_eq!(log.next(), Duration::ZERO);
    assert_eq!(step(&clock), SECOND * 10);
    assert_eq!(log.next(), SECOND * 65);
    pool.shutdown();
    pool.close();
}

/// STP-018
#[test]
fn runs_of_one_task_never_overlap_and_each_sees_the_last() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 4);
    pool.prestart_all_core_threads();
    let (inside, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let gauge = Arc::clone(&most);
    let mut written = 0_u64;
    let log = Log::new();
    let notes = log.clone();
    let task = pool
        .schedule_at_fixed_rate(SECOND, SECOND, move || {
            gauge.fetch_max(inside.fetch_add(1, Memory::SeqCst) + 1, Memory::SeqCst);
            written += 1;
            notes.record(written);
            inside.fetch_sub(1, Memory::SeqCst);
        })
        .unwrap();
    // All of them missed at once, so that nothing but the rule keeps them apart.
    clock.advance(SECOND * 200);
    assert_eq!(log.take(200), (1..=200).collect::<Vec<_>>());
    until("the last run has ended", || task.runs() == 200);
    assert_eq!(most.load(Memory::SeqCst), 1);
    pool.close();
}

/// STP-019
#[test]
fn due_tasks_run_by_time_and_equal_times_by_submission() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let gate = occupy(&pool);
    for (name, delay) in [
        ("c", 30),
        ("a", 10),
        ("b", 20),
        ("x", 0),
        ("y", 0),
        ("z", 0),
    ] {
        let notes = log.clone();
        drop(pool.schedule(SECOND * delay, move || notes.record(name)));
    }
    clock.advance(SECOND * 30);
    gate.open();
    assert_eq!(log.take(6), ["x", "y", "z", "a", "b", "c"]);
    pool.close();
}

/// STP-020
#[test]
fn a_handle_tells_its_delay_and_sorts_by_due_time() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let gate = occupy(&pool);
    let late = pool.schedule(SECOND * 20, || ()).unwrap();
    let soon = pool.schedule(SECOND * 10, || "other type").unwrap();
    let tie = pool.schedule(SECOND * 10, || ()).unwrap();
    assert_eq!((late.delay(), soon.delay()), (SECOND * 20, SECOND * 10));
    assert_eq!(soon.cmp_due(&late), Ordering::Less);
    assert_eq!(late.cmp_due(&soon), Ordering::Greater);
    assert_eq!(tie.cmp_due(&soon), Ordering::Greater);
    assert_eq!(tie.cmp_due(&tie), Ordering::Equal);
    clock.advance(SECOND * 15);
    assert_eq!((late.delay(), soon.delay()), (SECOND * 5, Duration::ZERO));
    gate.open();
    drop(pool.shutdown_now());
    pool.close();
}

/// STP-023
#[test]
fn the_head_is_next_whatever_order_a_walk_of_the_queue_has() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 0);
    let hours = [5_u32, 9, 6, 20, 10, 7, 8];
    let handles = hours.map(|hour| pool.schedule(HOUR * hour, || ()).unwrap());
    let mut head = None;
    pool.queue().peek(&mut |task| head = Some(task.id()));
    assert_eq!(head, Some(handles[0].id()));
    let mut walked = Vec::new();
    pool.queue().for_each(&mut |task| walked.push(task.id()));
    walked.sort();
    let mut all: Vec<_> = handles.iter().map(ScheduledHandle::id).collect();
    all.sort();
    assert_eq!(walked, all);
    let shown: Vec<_> = pool.queued_tasks().iter().map(|task| task.delay).collect();
    assert_eq!(shown, [5, 6, 7, 8, 9, 10, 20].map(|hour| HOUR * hour));
    drop(pool.shutdown_now());
}

/// Schedules in one of four ways, by number; periodic ones then repeat after `then`.
fn in_way(
    pool: &ScheduledThreadPoolExecutor,
    way: usize,
    (delay, then): (Duration, Duration),
    ran: impl Fn() + Send + 'static,
) {
    match way {
        0 => drop(pool.schedule(delay, ran).unwrap()),
        1 => {
            let body = move || {
                ran();
                Ok::<_, Infallible>(())
            };
            drop(pool.schedule_fallible(delay, body).unwrap());
        }
        2 => drop(pool.schedule_at_fixed_rate(delay, then, ran).unwrap()),
        _ => drop(pool.schedule_with_fixed_delay(delay, then, ran).unwrap()),
    }
}

/// STP-021
/// DWQ-008
#[test]
fn a_task_at_the_end_of_time_never_holds_up_one_that_is_due() {
    for (first, second) in (0..16).map(|n| (n / 4, n % 4)) {
        let clock = TestClock::new();
        let pool = pool_on(&clock, 1);
        let gate = occupy(&pool);
        let log = Log::new();
        let notes = log.clone();
        in_way(&pool, first, (Duration::ZERO, HOUR), move || {
            notes.record("due");
        });
        let notes = log.clone();
        in_way(&pool, second, (Duration::MAX, HOUR), move || {
            notes.record("never");
        });
        clock.advance(SECOND);
        gate.open();
        assert_eq!(log.next(), "due", "{first} before {second}");
        await_idle(&pool, 1);
        assert!(log.is_empty());
        drop(pool.shutdown_now());
        pool.close();
    }
}

/// STP-021
/// DWQ-008
#[test]
fn a_task_that_puts_itself_off_to_the_end_of_time_never_holds_up_one_that_is_due() {
    for (first, second) in (0..8).map(|n| (2 + n / 4, n % 4)) {
        let (clock, log) = (TestClock::new(), Log::new());
        let pool = pool_on(&clock, 1);
        let notes = log.clone();
        in_way(&pool, first, (Duration::ZERO, Duration::MAX), move || {
            notes.record("once");
        });
        assert_eq!(log.next(), "once");
        await_idle(&pool, 1);
        let notes = log.clone();
        in_way(&pool, second, (Duration::ZERO, HOUR), move || {
            notes.record("due");
        });
        assert_eq!(log.next(), "due", "{first} before {second}");
        await_idle(&pool, 1);
        drop(pool.shutdown_now());
        pool.close();
    }
}

/// STP-022
#[test]
fn enormous_delays_are_capped() {
    let century = HOUR * 24 * 365 * 100;
    for clock in [Some(TestClock::new()), None] {
        let build = || ScheduledThreadPoolExecutor::new(1);
        let pool = clock
            .as_ref()
            .map_or_else(build, |clock| clock.enter(build));
        let far = pool.schedule(Duration::MAX, || ()).unwrap();
        let rate = pool
            .schedule_at_fixed_rate(Duration::MAX, Duration::MAX, || ())
            .unwrap();
        for delay in [far.delay(), rate.delay()] {
            assert!(delay > century && delay < century * 2, "{delay:?}");
        }
        assert_eq!(pool.shutdown_now().len(), 2);
        pool.close();
    }
}
