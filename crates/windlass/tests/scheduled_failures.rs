//! Scheduled tasks that fail, and who receives the failure.

#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;
use std::time::Duration;

use time::{HOUR, Log, SECOND, await_idle, occupy, pool_on, step};
use windlass::clock::TestClock;
use windlass::pool::{Hooks, Outcome, TaskInfo};
use windlass::scheduled::Period;
use windlass::testing::{until, within_patience};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit};

/// The calls that hooks and handlers received.
#[derive(Debug, PartialEq)]
enum HookFns {
    Before,
    After(&'static str),
    Uncaught(String),
    Periodic(Option<String>, String),
}

struct Recorder(Log<HookFns>);

impl Hooks for Recorder {
    fn before_execute(&self, _task: &TaskInfo) {
        self.0.record(HookFns::Before);
    }

    fn after_execute(&self, _task: &TaskInfo, outcome: &Outcome) {
        self.0.record(HookFns::After(match outcome {
            Outcome::Completed => "completed",
            Outcome::Failed(_) => "failed",
            _ => "cancelled",
        }));
    }
}

/// A pool with one worker that records these calls.
fn recorded(clock: &TestClock, log: &Log<HookFns>) -> ScheduledThreadPoolExecutor {
    let (uncaught, periodic) = (log.clone(), log.clone());
    let builder = ScheduledThreadPoolExecutor::builder()
        .hooks(Arc::new(Recorder(log.clone())))
        .uncaught_handler(move |failure| uncaught.record(HookFns::Uncaught(failure.to_string())))
        .on_periodic_failure(move |_, name, failure| {
            periodic.record(HookFns::Periodic(
                name.map(str::to_owned),
                failure.to_string(),
            ));
        })
        .prepare_tasks(|task| task.name("job"));
    clock.enter(|| builder.build())
}

/// A body that panics in this run, counted from one.
fn failing_in(run: u32) -> impl FnMut() + Send + 'static {
    let mut left = run;
    move || {
        left -= 1;
        assert!(left > 0, "planned");
    }
}

/// STP-030
#[test]
fn a_periodic_task_that_fails_is_over_and_its_handle_has_the_failure() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let mut task = pool
        .schedule_at_fixed_rate(SECOND, SECOND, failing_in(3))
        .unwrap();
    for _ in 0..3 {
        step(&clock);
    }
    let (task, outcome) = within_patience("the failure", move || {
        let outcome = task.get();
        (task, outcome)
    });
    let failure = outcome.unwrap_err().into_failure().unwrap();
    assert_eq!(failure.message(), Some("planned"));
    assert!(task.is_done() && !task.is_cancelled());
    assert_eq!(task.runs(), 3);
    await_idle(&pool, 1);
    clock.advance(HOUR);
    assert_eq!(clock.next_wake_up(), None);
    let stats = pool.stats();
    assert_eq!((stats.queue_len, stats.pool_size), (0, 1));
    assert_eq!(stats.completed_task_count, 3);
    pool.close();
}

#[test]
fn an_error_ends_the_repetition_and_is_the_failure_of_the_handle() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let failing_in = |run: u32| {
        let mut runs = 0;
        move || {
            runs += 1;
            if runs < run { Ok(()) } else { Err("planned") }
        }
    };
    let period = Period::fixed_rate(SECOND).starting_in(SECOND);
    let tasks = [
        pool.schedule_at_fixed_rate_fallible(SECOND, SECOND, failing_in(3)),
        pool.schedule_with_fixed_delay_fallible(SECOND, SECOND, failing_in(3)),
        pool.schedule_periodic_fallible(period, failing_in(3)),
    ];
    for run in 1..=3 {
        step(&clock);
        until("all three have run", || {
            pool.stats().completed_task_count == run * 3
        });
    }
    for task in tasks {
        let mut task = task.unwrap();
        let failure = task.get().unwrap_err().into_failure().unwrap();
        assert!(!failure.is_panic());
        assert_eq!((failure.to_string().as_str(), task.runs()), ("planned", 3));
    }
    await_idle(&pool, 1);
    assert_eq!(clock.next_wake_up(), None);
    pool.close();
}

/// STP-030
#[test]
fn a_fixed_delay_that_fails_is_over_too() {
    let pool = pool_on(&TestClock::new(), 1);
    let mut task = pool
        .schedule_with_fixed_delay(Duration::ZERO, SECOND, failing_in(1))
        .unwrap();
    assert!(task.get().unwrap_err().is_failed());
    await_idle(&pool, 1);
    assert_eq!(pool.queue().len(), 0);
    pool.close();
}

/// STP-031
#[test]
fn a_failure_in_execute_reaches_the_after_hook_and_the_uncaught_handler() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = recorded(&clock, &log);
    pool.execute(|| panic!("planned")).unwrap();
    let told = [
        HookFns::Before,
        HookFns::After("failed"),
        HookFns::Uncaught("panicked: planned".to_owned()),
    ];
    assert_eq!(log.take(3), told);
    // The worker continues.
    pool.execute(|| ()).unwrap();
    assert_eq!(log.take(2), [HookFns::Before, HookFns::After("completed")]);
    assert_eq!(pool.stats().largest_pool_size, 1);
    pool.close();
}

/// STP-031
#[test]
fn a_failure_with_a_handle_is_not_reported_as_uncaught() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = recorded(&clock, &log);
    let mut submitted = pool.submit(|| panic!("planned")).unwrap();
    let mut scheduled = pool
        .schedule_fallible(Duration::ZERO, || Err::<(), _>("planned"))
        .unwrap();
    assert!(submitted.get().unwrap_err().is_failed());
    let failure = scheduled.get().unwrap_err().into_failure().unwrap();
    assert_eq!(failure.to_string(), "planned");
    let told = log.take(4);
    assert_eq!(
        told,
        [
            HookFns::Before,
            HookFns::After("failed"),
            HookFns::Before,
            HookFns::After("failed")
        ]
    );
    pool.close();
    assert!(log.is_empty());
}

/// STP-032
#[test]
fn every_run_of_a_periodic_task_calls_the_hooks_and_counts() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = recorded(&clock, &log);
    pool.execute(|| ()).unwrap();
    let mut task = pool
        .schedule_at_fixed_rate(SECOND, SECOND, failing_in(3))
        .unwrap();
    let mut told = log.take(2);
    for _ in 0..3 {
        step(&clock);
        told.extend(log.take(2));
    }
    let well = || [HookFns::Before, HookFns::After("completed")];
    let mut expected: Vec<_> = well().into_iter().chain(well()).chain(well()).collect();
    expected.push(HookFns::Before);
    expected.push(HookFns::Periodic(
        Some("job".to_owned()),
        "panicked: planned".to_owned(),
    ));
    expected.push(HookFns::After("failed"));
    told.push(log.next());
    assert_eq!(told, expected);
    assert!(task.get().unwrap_err().is_failed());
    until("four are counted", || {
        pool.stats().completed_task_count == 4
    });
    pool.close();
    assert!(log.is_empty());
}

/// The failure handler is called once, with the id of the task, and may itself panic.
#[test]
fn a_panic_of_a_failure_handler_is_ignored() {
    let log = Log::new();
    let notes = log.clone();
    let pool = ScheduledThreadPoolExecutor::builder()
        .on_periodic_failure(move |id, name, _| {
            notes.record((id, name.is_none()));
            panic!("the handler, too");
        })
        .build();
    let mut task = pool
        .schedule_at_fixed_rate(Duration::ZERO, HOUR, failing_in(1))
        .unwrap();
    assert!(task.get().unwrap_err().is_failed());
    assert_eq!(log.next(), (task.id(), true));
    assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
    assert_eq!(pool.stats().largest_pool_size, 1);
    pool.close();
}

/// The failure handler is called without a lock: it may use the pool.
#[test]
fn a_failure_handler_may_schedule_the_task_anew() {
    let log = Log::new();
    let pool = ScheduledThreadPoolExecutor::new(1);
    let (again, notes) = (pool.clone(), log.clone());
    let guarded = ScheduledThreadPoolExecutor::builder()
        .on_periodic_failure(move |_, _, _| {
            let notes = notes.clone();
            drop(again.schedule(Duration::ZERO, move || notes.record("anew")));
        })
        .build();
    drop(guarded.schedule_at_fixed_rate(Duration::ZERO, HOUR, failing_in(1)));
    assert_eq!(log.next(), "anew");
    guarded.close();
    pool.close();
}

/// For a run whose task was cancelled meanwhile, a hook receives `Cancelled`.
#[test]
fn a_run_that_was_cancelled_meanwhile_is_reported_as_cancelled() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = recorded(&clock, &log);
    let gate = occupy(&pool);
    let task = pool.schedule(Duration::ZERO, || ()).unwrap();
    assert!(task.cancel());
    gate.open();
    let told = log.take(4);
    assert_eq!(told[3], HookFns::After("cancelled"));
    pool.close();
}
