//! Schedules that the JDK does not have: missed runs, jitter, calendars, times of day.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::time::{Duration, SystemTime};

use time::{HOUR, Log, SECOND, await_idle, await_wake_up_in, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::{Cancellation, ExecutionError, RejectionReason};
use windlass::scheduled::{Calendar, MissedRuns, Period};
use windlass::testing::{until, within_patience};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor};

/// When the first runs of a fixed rate of ten seconds begin, the first of which takes 35.
fn after_a_stall(missed: MissedRuns, runs: usize) -> Vec<u64> {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let (now, notes, mut is_first) = (clock.clone(), log.clone(), true);
    let period = Period::fixed_rate(SECOND * 10).on_missed(missed);
    let task = pool.schedule_periodic(period, move || {
        notes.record(now.elapsed().as_secs());
        if is_first {
            now.advance(SECOND * 35);
        }
        is_first = false;
    });
    let mut times = Vec::new();
    while times.len() < runs {
        await_sleep(&pool, &clock);
        while !log.is_empty() {
            times.push(log.next());
        }
        if times.len() < runs {
            step(&clock);
        }
    }
    assert!(task.unwrap().cancel());
    pool.close();
    times
}

/// Waits until the worker sleeps again; whatever was due has run then.
fn await_sleep(pool: &ScheduledThreadPoolExecutor, clock: &TestClock) {
    until("the worker sleeps again", || {
        let sleeps = clock.next_wake_up().is_some_and(|time| !time.is_zero());
        sleeps && pool.stats().active_count == 0 && pool.queue().len() == 1
    });
}

#[test]
fn missed_runs_are_made_up_for_at_once_unless_said_otherwise() {
    let times = after_a_stall(MissedRuns::Burst, 6);
    assert_eq!(times, [0, 35, 35, 35, 40, 50]);
}

#[test]
fn skipped_runs_leave_the_period_as_it_was() {
    let times = after_a_stall(MissedRuns::Skip, 4);
    assert_eq!(times, [0, 40, 50, 60]);
}

#[test]
fn delayed_runs_restart_the_period() {
    let times = after_a_stall(MissedRuns::Delay, 4);
    assert_eq!(times, [0, 45, 55, 65]);
}

#[test]
fn jitter_delays_each_run_by_less_than_its_bound_and_the_period_does_not_drift() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let period = Period::fixed_rate(SECOND * 10)
        .starting_in(SECOND * 10)
        .with_jitter(SECOND);
    let (now, notes) = (clock.clone(), log.clone());
    drop(pool.schedule_periodic(period, move || notes.record(now.elapsed())));
    let mut late: Vec<Duration> = Vec::new();
    for run in 1..=100 {
        step(&clock);
        late.push(log.next() - SECOND * 10 * run);
    }
    assert!(late.iter().all(|late| *late < SECOND));
    late.sort();
    late.dedup();
    assert!(late.len() > 90, "{late:?}");
    drop(pool.shutdown_now());
    pool.close();
}

#[test]
fn a_period_has_an_initial_delay() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let fixed = Period::fixed_delay(SECOND).starting_in(HOUR);
    let task = pool.schedule_periodic(fixed, || ()).unwrap();
    assert_eq!(task.delay(), HOUR);
    assert!(task.is_periodic());
    drop(pool.shutdown_now());
}

/// The first days of months that all have thirty days, three of them.
struct Months {
    start: SystemTime,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Calendar for Months {
    fn next_after(&self, now: SystemTime) -> Option<SystemTime> {
        (1..=3)
            .map(|month| self.start + DAY * 30 * month)
            .find(|time| *time > now)
    }
}

#[test]
fn a_calendar_is_followed_until_it_has_no_time_left() {
    let start = SystemTime::UNIX_EPOCH + DAY * 20_000;
    let (clock, log) = (TestClock::starting_at(start), Log::new());
    let pool = pool_on(&clock, 1);
    let (now, notes) = (clock.clone(), log.clone());
    let mut task = pool
        .schedule_periodic(Period::calendar(Months { start }), move || {
            notes.record(now.wall_now());
        })
        .unwrap();
    for month in 1..=3 {
        assert_eq!(step(&clock), DAY * 30);
        assert_eq!(log.next(), start + DAY * 30 * month);
    }
    let (outcome, runs) = within_patience("the end", move || (task.get(), task.runs()));
    let ended = ExecutionError::Cancelled(Cancellation::ScheduleEnded);
    assert_eq!(outcome, Err(ended));
    assert_eq!(runs, 3);
    await_idle(&pool, 1);
    assert_eq!(clock.next_wake_up(), None);
    pool.close();
}

#[test]
fn times_of_a_calendar_that_pass_during_a_run_are_skipped() {
    let start = SystemTime::UNIX_EPOCH + DAY * 20_000;
    let (clock, log) = (TestClock::starting_at(start), Log::new());
    let pool = pool_on(&clock, 1);
    let (now, notes) = (clock.clone(), log.clone());
    drop(
        pool.schedule_periodic(Period::calendar(Months { start }), move || {
            notes.record(now.wall_now());
            now.advance(DAY * 35);
        }),
    );
    step(&clock);
    assert_eq!(log.next(), start + DAY * 30);
    assert_eq!(step(&clock), DAY * 25);
    assert_eq!(log.next(), start + DAY * 90);
    pool.close();
}

#[test]
fn a_calendar_without_a_time_is_refused() {
    let pool = pool_on(&TestClock::new(), 1);
    let start = SystemTime::UNIX_EPOCH;
    let refused = pool.schedule_periodic(Period::calendar(Months { start }), || ());
    assert_eq!(refused.unwrap_err().reason(), RejectionReason::NeverDue);
    pool.close();
}

#[test]
fn a_time_of_day_is_kept_to_the_nanosecond() {
    let noon = SystemTime::UNIX_EPOCH + DAY * 20_000 + HOUR * 12;
    let clock = TestClock::starting_at(noon - Duration::from_nanos(1_500_000_001));
    let pool = pool_on(&clock, 1);
    let now = clock.clone();
    let mut task = pool.schedule_at(noon, move || now.wall_now()).unwrap();
    await_wake_up_in(&clock, Duration::from_nanos(1_500_000_001));
    step(&clock);
    let ran = within_patience("noon", move || task.get().unwrap());
    assert_eq!(ran, noon);
    pool.close();
}

#[test]
fn a_time_of_day_that_has_passed_is_now() {
    let pool = pool_on(&TestClock::new(), 1);
    let mut task = pool.schedule_at(SystemTime::UNIX_EPOCH, || "ran").unwrap();
    assert_eq!(task.get().unwrap(), "ran");
    pool.close();
}
