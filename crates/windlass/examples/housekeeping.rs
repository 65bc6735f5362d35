//! How does a program do its housekeeping at the right times, and how is that tested?
//!
//! Four jobs by cron expressions with a time zone run through nine days around a change of the clock, in milliseconds,
//! because the pool runs on a clock that the program advances. A job that fails is reported, and ends.
//!
//! `cargo run --release -p windlass --features cron --example housekeeping`

use std::error::Error;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};

use windlass::clock::TestClock;
use windlass::interrupt::{self, Interrupted};
use windlass::prelude::*;
use windlass::scheduled::{Cron, Period};

const DAY: Duration = Duration::from_secs(24 * 3_600);

const JOBS: [(&str, &str); 3] = [
    ("expire sessions", "0 */6 * * *"),
    ("backup", "30 2 * * *"),
    ("weekly report", "0 7 * * MON"),
];

/// The 25th of March 2026, a Wednesday, at midnight in UTC.
fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + 20_537 * DAY
}

/// Shows a time as day of March and time of day in UTC.
fn shown(time: SystemTime) -> String {
    let since = time.duration_since(start()).unwrap_or_default();
    let (day, rest) = (
        25 + since.as_secs() / DAY.as_secs(),
        since.as_secs() % DAY.as_secs(),
    );
    let (month, day) = if day > 31 {
        ("Apr", day - 31)
    } else {
        ("Mar", day)
    };
    format!(
        "{month} {day:>2} {:02}:{:02}",
        rest / 3_600,
        rest % 3_600 / 60
    )
}

/// A job that notes when it runs.
fn job(
    name: &'static str,
    clock: &TestClock,
    log: &Sender<(&'static str, SystemTime)>,
) -> impl FnMut() + Send + use<> {
    let (clock, log) = (clock.clone(), log.clone());
    move || {
        // Fails only if nobody reads the log any more.
        let _ = log.send((name, clock.wall_now()));
    }
}

/// The runs of a job, as they are shown.
fn runs_of(name: &str, runs: &[(&'static str, SystemTime)]) -> Vec<String> {
    let its = runs.iter().filter(|(job, _)| *job == name);
    its.map(|(_, time)| shown(*time)).collect()
}

/// Lets the time pass, from one run to the next.
fn pass(clock: &TestClock, time: Duration) -> Result<(), Interrupted> {
    let end = clock.wall_now() + time;
    loop {
        match clock.next_wake_up() {
            // It has not gone to sleep after its last run yet.
            None | Some(Duration::ZERO) => interrupt::park_timeout(Duration::from_micros(20))?,
            Some(next) if clock.wall_now() + next > end => return Ok(()),
            Some(next) => clock.advance(next),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = TestClock::starting_at(start());
    let pool = clock.enter(|| {
        ScheduledThreadPoolExecutor::builder()
            .name("housekeeping")
            .on_periodic_failure(|_, name, failure| {
                println!("  {} has failed: {failure}", name.unwrap_or("a job"));
            })
            .build()
    });
    let (log, runs) = channel();
    let mut jobs = Vec::new();
    for (name, expression) in JOBS {
        let job = job(name, &clock, &log);
        let task = pool.task().name(name);
        jobs.push(task.schedule_cron_in(expression, "Europe/Berlin", job)?);
    }
    let mut left = 2;
    let (rotate, noon) = (
        pool.task().name("rotate logs"),
        Cron::parse("15 12 * * *", "UTC")?,
    );
    let broken = rotate.schedule_periodic_fallible(Period::calendar(noon), move || {
        left -= 1;
        if left > 0 {
            Ok(())
        } else {
            Err("the disk is full")
        }
    })?;

    println!("nine days of housekeeping (in UTC; the clock of Berlin changes on Mar 29):");
    pass(&clock, 9 * DAY)?;
    let runs: Vec<_> = runs.try_iter().collect();
    for (name, expression) in JOBS {
        let times = runs_of(name, &runs);
        let plural = if times.len() == 1 { "" } else { "s" };
        println!("  {name:<16} {expression:<12} {} run{plural}", times.len());
        println!("      {} …", times[..times.len().min(6)].join(", "));
    }
    println!(
        "  rotate logs: {} runs, then {:?}",
        broken.runs(),
        broken.state()
    );

    let backups = runs_of("backup", &runs);
    assert_eq!((backups.len(), broken.runs()), (9, 2));
    // Half past two does not exist on the 29th: the backup runs when the clock goes on at three.
    assert_eq!(backups[3..5], ["Mar 28 01:30", "Mar 29 01:00"]);
    assert_eq!(runs_of("weekly report", &runs), ["Mar 30 05:00"]);
    for job in &jobs {
        job.cancel();
    }
    pool.close();
    Ok(())
}
