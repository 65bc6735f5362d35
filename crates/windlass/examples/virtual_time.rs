//! How is a schedule of a month tested in milliseconds?
//!
//! With a clock that the test advances. Every wait of the pool uses that clock, so the test neither
//! sleeps nor guesses, and the times it checks are exact to the nanosecond.
//!
//! `cargo run --release -p windlass --example virtual_time`

use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use windlass::clock::TestClock;
use windlass::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The code under test: a report every six hours, and an invoice at the end of the month.
fn schedule_reports(
    pool: &ScheduledThreadPoolExecutor,
    report: impl FnMut() + Send + 'static,
    invoice: impl FnOnce() + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    drop(pool.schedule_at_fixed_rate(6 * HOUR, 6 * HOUR, report)?);
    drop(pool.schedule(30 * DAY, invoice)?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "shows how long it really took")]
    let really = Instant::now;
    let start = really();

    // The first of June 2025, at midnight. A pool that is built inside `enter` is on this clock.
    let june = SystemTime::UNIX_EPOCH + Duration::from_secs(1_748_736_000);
    let clock = TestClock::starting_at(june);
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));

    let (notes, seen) = mpsc::channel();
    let (invoices, now, then) = (notes.clone(), clock.clone(), clock.clone());
    schedule_reports(
        &pool,
        move || {
            notes
                .send(("report", now.elapsed()))
                .expect("somebody listens");
        },
        move || {
            invoices
                .send(("invoice", then.elapsed()))
                .expect("somebody listens");
        },
    )?;

    // From one wake-up to the next: wait until the worker sleeps, read what it sent, advance the clock.
    let patience = Duration::from_secs(10);
    let mut events = Vec::new();
    loop {
        assert!(clock.await_sleepers(1, patience), "the worker sleeps");
        let next = clock.next_wake_up().unwrap_or_default();
        events.extend(seen.try_iter());
        if events.len() >= 121 {
            break;
        }
        clock.advance(next);
    }
    drop(pool.shutdown_now());
    pool.close();

    let (reports, invoices): (Vec<_>, Vec<_>) =
        events.into_iter().partition(|(what, _)| *what == "report");
    for (number, (_, at)) in (1_u32..).zip(&reports) {
        assert_eq!(*at, 6 * HOUR * number, "to the nanosecond");
    }
    assert_eq!(invoices, [("invoice", 30 * DAY)]);
    println!(
        "{} reports and {} invoice in {} days, in {:.1?}",
        reports.len(),
        invoices.len(),
        clock.elapsed().as_secs() / DAY.as_secs(),
        start.elapsed()
    );
    Ok(())
}
