//! Scheduled tasks where something else goes wrong: a calendar, a hook, a foreign clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use windlass::clock::TestClock;
use windlass::pool::Hooks;
use windlass::scheduled::{Calendar, Period};
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor};

const HOUR: Duration = Duration::from_secs(3600);

/// A delay counts on the clock that the pool was built with, whichever clock the submitter has.
#[test]
fn a_pool_keeps_its_own_clock_whoever_schedules() {
    let clock = TestClock::new();
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    clock.advance(HOUR);
    let mut late = pool.schedule(HOUR, || ()).unwrap();
    assert_eq!(late.delay(), HOUR);
    assert!(clock.await_sleepers(1, PATIENCE));
    assert_eq!(clock.next_wake_up(), Some(HOUR));
    clock.advance(HOUR);
    within_patience("the task", move || late.get().unwrap());
}

/// What is due is judged by the pool's clock too.
#[test]
fn a_shutdown_keeps_what_is_due_on_the_clock_of_the_pool() {
    let clock = TestClock::new();
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    pool.set_run_delayed_after_shutdown(false);
    let gate = Gate::new();
    let blocker = gate.clone();
    let first = pool.schedule(Duration::ZERO, move || blocker.pass());
    gate.await_waiting(1);
    let due = pool.schedule(HOUR, || ()).unwrap();
    let undue = pool.schedule(HOUR * 2, || ()).unwrap();
    clock.advance(HOUR);
    pool.shutdown();
    assert!(!due.is_done());
    assert!(undue.is_cancelled());
    gate.open();
    pool.close();
    assert!(due.is_done() && !due.is_cancelled());
    drop(first);
}

struct Moody;

impl Calendar for Moody {
    fn next_after(&self, now: SystemTime) -> Option<SystemTime> {
        static ASKED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let before = ASKED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        assert!(before == 0, "no such day");
        Some(now)
    }
}

/// A panic in a calendar ends its task as a failure of the task would: nobody waits forever.
#[test]
fn a_calendar_that_panics_is_the_failure_of_its_task() {
    let told = Gate::new();
    let tell = told.clone();
    let pool = ScheduledThreadPoolExecutor::builder()
        .on_periodic_failure(move |_, _, failure| {
            assert_eq!(failure.message(), Some("no such day"));
            tell.open();
        })
        .build();
    let mut task = pool
        .schedule_periodic(Period::calendar(Moody), || ())
        .unwrap();
    let (outcome, runs) = within_patience("the end of the task", move || (task.get(), task.runs()));
    let failure = outcome.unwrap_err().into_failure().unwrap();
    assert_eq!(failure.message(), Some("no such day"));
    assert_eq!(runs, 1);
    told.pass().unwrap();
    pool.close();
}

/// Tasks with the same period and jitter are not due at once, not even the first time.
#[test]
fn jitter_spreads_first_runs_too() {
    let clock = TestClock::new();
    clock.enter(|| {
        let pool = ScheduledThreadPoolExecutor::new(0);
        let period = Period::fixed_rate(HOUR).with_jitter(HOUR);
        let mut delays: Vec<_> = (0..10)
            .map(|_| pool.schedule_periodic(period.clone(), || ()).unwrap())
            .map(|task| task.delay())
            .collect();
        delays.sort();
        delays.dedup();
        assert!(delays.len() > 5, "{delays:?}");
        drop(pool.shutdown_now());
    });
}

/// A run that has ended counts, also if its task was cancelled during it.
#[test]
fn a_run_counts_though_its_task_was_cancelled_meanwhile() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let gate = Gate::new();
    let inside = gate.clone();
    let task = pool
        .schedule_at_fixed_rate(Duration::ZERO, HOUR, move || inside.pass_uninterruptibly())
        .unwrap();
    gate.await_waiting(1);
    assert!(task.cancel());
    assert_eq!(task.runs(), 0);
    gate.open();
    until("the run has ended", || {
        pool.stats().completed_task_count == 1
    });
    assert_eq!(task.runs(), 1);
    pool.close();
}

struct Grumpy;

impl Hooks for Grumpy {
    fn terminated(&self) {
        panic!("grumpy");
    }
}

/// A cancel that lets the pool terminate reports a panic of the `terminated` hook, and still wakes waiters.
#[test]
fn a_hook_that_panics_at_the_end_does_not_get_between_a_cancel_and_a_getter() {
    let reported = Gate::new();
    let report = reported.clone();
    let pool = ScheduledThreadPoolExecutor::builder()
        .hooks(Arc::new(Grumpy))
        .uncaught_handler(move |_| report.open())
        .build();
    pool.set_remove_on_cancel(true);
    let mut task = pool.schedule(HOUR, || ()).unwrap();
    let control = task.control();
    pool.shutdown();
    let getter = windlass::interrupt::spawn(move || task.get().is_err());
    assert!(control.cancel());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    reported.pass().unwrap();
    assert!(within_patience("the getter", move || getter
        .join()
        .unwrap()
        .unwrap()));
}
