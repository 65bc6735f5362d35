//! A year of cron, with both changes of the clock, in milliseconds.

#![cfg(feature = "cron")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use chrono_tz::Europe::Berlin;
use time::{HOUR, Log, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::RejectionReason;
use windlass::scheduled::{Cron, Period, ScheduleCronError};
use windlass::{ExecutorService, Schedule};

fn at(time: &str) -> SystemTime {
    time.parse::<DateTime<Utc>>().unwrap().into()
}

/// The first `count` runs after a start in UTC, as local times in Berlin with their offset.
fn runs(expression: &str, start: &str, count: usize) -> Vec<String> {
    let (clock, log) = (TestClock::starting_at(at(start)), Log::new());
    let pool = pool_on(&clock, 1);
    let (now, notes) = (clock.clone(), log.clone());
    let cron = Cron::parse(expression, "Europe/Berlin").unwrap();
    drop(pool.schedule_periodic(Period::calendar(cron), move || notes.record(now.wall_now())));
    let mut times = Vec::new();
    for _ in 0..count {
        step(&clock);
        let local = DateTime::<Utc>::from(log.next()).with_timezone(&Berlin);
        times.push(local.format("%m-%d %H:%M:%S %z").to_string());
    }
    drop(pool.shutdown_now());
    pool.close();
    times
}

#[test]
fn a_daily_task_keeps_its_local_time_for_a_year() {
    let times = runs("0 9 * * *", "2025-01-01T00:00:00Z", 365);
    assert!(times.iter().all(|time| time.contains(" 09:00:00 ")));
    let summer = times.iter().filter(|time| time.ends_with("+0200")).count();
    // From the 30th of March to the 25th of October.
    assert_eq!(summer, 210);
    assert_eq!(times[364], "12-31 09:00:00 +0100");
}

#[test]
fn weekdays_and_last_days_are_understood() {
    let weekdays = runs("30 8 * * MON-FRI", "2025-05-01T12:00:00Z", 3);
    let expected = ["05-02", "05-05", "05-06"].map(|day| format!("{day} 08:30:00 +0200"));
    assert_eq!(weekdays, expected);
    let last = runs("0 0 L * *", "2025-01-01T12:00:00Z", 3);
    assert!(last[1].starts_with("02-28 00:00:00"));
    let seconds = runs("*/20 * * * * *", "2025-01-01T12:00:00Z", 3);
    assert_eq!(seconds[0], "01-01 13:00:20 +0100");
}

#[test]
fn a_time_that_does_not_exist_is_when_the_gap_ends() {
    // In the night of the 30th of March the hour from two to three is missing.
    let times = runs("30 2 * * *", "2025-03-28T12:00:00Z", 4);
    let expected = [
        "03-29 02:30:00 +0100",
        "03-30 03:00:00 +0200",
        "03-31 02:30:00 +0200",
        "04-01 02:30:00 +0200",
    ];
    assert_eq!(times, expected);
}

#[test]
fn a_time_that_comes_twice_is_kept_the_first_time() {
    // In the night of the 26th of October the hour from two to three comes twice.
    let times = runs("30 2 * * *", "2025-10-25T12:00:00Z", 2);
    assert_eq!(times, ["10-26 02:30:00 +0200", "10-27 02:30:00 +0100"]);
}

#[test]
fn an_hourly_task_has_an_hour_between_its_runs_whatever_the_clock_says() {
    for start in ["2025-03-29T20:30:00Z", "2025-10-25T20:30:00Z"] {
        let (clock, log) = (TestClock::starting_at(at(start)), Log::new());
        let pool = pool_on(&clock, 1);
        let notes = log.clone();
        let cron = Cron::parse("0 * * * *", "Europe/Berlin").unwrap();
        drop(pool.schedule_periodic(Period::calendar(cron), move || notes.record(())));
        assert_eq!(step(&clock), HOUR / 2);
        log.next();
        for run in 0..12 {
            assert_eq!(step(&clock), HOUR, "{start}: {run}");
            log.next();
        }
        drop(pool.shutdown_now());
        pool.close();
    }
}

#[test]
fn a_day_that_never_comes_is_refused() {
    let pool = pool_on(&TestClock::new(), 1);
    let cron = Cron::parse("0 0 30 2 *", "UTC").unwrap();
    let refused = pool.schedule_periodic(Period::calendar(cron), || ());
    assert_eq!(refused.unwrap_err().reason(), RejectionReason::NeverDue);
    pool.close();
}

#[test]
fn five_to_seven_fields_and_nicknames_are_understood() {
    let start = "2025-01-01T12:00:00Z";
    let first = |expression| runs(expression, start, 1).remove(0);
    let expected = [
        // Minutes first, seconds first, a year last.
        ("15 * * * *", "01-01 13:15:00 +0100"),
        ("30 15 * * * *", "01-01 13:15:30 +0100"),
        ("0 0 6 1 7 ? 2026", "07-01 06:00:00 +0200"),
        // Ranges, steps, lists, names, either case.
        ("0-30/10 * * * *", "01-01 13:10:00 +0100"),
        ("*/20 * * * *", "01-01 13:20:00 +0100"),
        ("5,7 14 * * *", "01-01 14:05:00 +0100"),
        ("0 0 * FEB *", "02-01 00:00:00 +0100"),
        ("0 0 * feb sat", "02-01 00:00:00 +0100"),
        // Sunday is 0 and 7.
        ("0 0 * * 0", "01-05 00:00:00 +0100"),
        ("0 0 * * 7", "01-05 00:00:00 +0100"),
        // The last day, the nearest weekday, the second and the last Friday.
        ("0 0 L * *", "01-31 00:00:00 +0100"),
        ("0 0 15W 2 *", "02-14 00:00:00 +0100"),
        ("0 0 * * FRI#2", "01-10 00:00:00 +0100"),
        ("0 0 * * FRI#L", "01-31 00:00:00 +0100"),
        // Either of two restricted day fields, or both.
        ("0 0 13 * FRI", "01-03 00:00:00 +0100"),
        ("0 0 13 * +FRI", "06-13 00:00:00 +0200"),
        ("@hourly", "01-01 14:00:00 +0100"),
        ("@daily", "01-02 00:00:00 +0100"),
        ("@weekly", "01-05 00:00:00 +0100"),
        ("@monthly", "02-01 00:00:00 +0100"),
        ("@yearly", "01-01 00:00:00 +0100"),
        ("@annually", "01-01 00:00:00 +0100"),
    ];
    for (expression, time) in expected {
        assert_eq!(first(expression), time, "{expression}");
    }
    for expression in [
        "",
        "* * * *",
        "* * * * * * * *",
        "@reboot",
        "60 * * * *",
        "* 24 * * *",
    ] {
        let error = Cron::parse(expression, "UTC").unwrap_err();
        assert!(error.is_invalid_expression(), "{expression}");
    }
}

#[test]
fn an_expression_schedules_a_task_in_utc_or_in_a_zone() {
    let noon = TestClock::starting_at(at("2025-01-01T12:00:00Z"));
    let pool = pool_on(&noon, 1);
    let utc = pool.schedule_cron("0 18 * * *", || ()).unwrap();
    let berlin = pool
        .schedule_cron_in("0 18 * * *", "Europe/Berlin", || ())
        .unwrap();
    assert_eq!((utc.delay(), berlin.delay()), (HOUR * 6, HOUR * 5));
    drop(pool.shutdown_now());
    pool.close();
}

#[test]
fn an_expression_that_cannot_be_scheduled_is_told_from_a_refusal() {
    let pool = pool_on(&TestClock::new(), 1);
    let expression = pool.schedule_cron("61 * * * *", || ()).unwrap_err();
    assert!(expression.is_invalid() && !expression.is_rejected());
    let zone = pool.schedule_cron_in("* * * * *", "Atlantis/Capital", || ());
    let ScheduleCronError::Invalid(zone) = zone.unwrap_err() else {
        panic!("the zone does not exist");
    };
    assert!(zone.is_unknown_time_zone());
    let never = pool.schedule_cron("0 0 30 2 *", || ()).unwrap_err();
    let ScheduleCronError::Rejected(never) = never else {
        panic!("{never}");
    };
    assert_eq!(never.reason(), RejectionReason::NeverDue);
    pool.shutdown();
    let late = pool.schedule_cron("* * * * *", || ()).unwrap_err();
    assert!(late.is_rejected());
    pool.close();
}

#[test]
fn what_is_not_cron_says_so() {
    let error = Cron::parse("61 * * * *", "UTC").unwrap_err();
    assert!(error.to_string().starts_with("61 * * * *: "), "{error}");
    let error = Cron::parse("* * * * *", "Atlantis/Capital").unwrap_err();
    assert!(
        error.to_string().starts_with("Atlantis/Capital: "),
        "{error}"
    );
}

#[test]
fn debug_shows_the_expression_and_the_zone() {
    let cron = Cron::parse("*/5 8-17 * * 1-5", "Europe/Berlin").unwrap();
    assert_eq!(
        format!("{cron:?}"),
        r#"Cron("*/5 8-17 * * 1-5", Europe/Berlin)"#
    );
}
