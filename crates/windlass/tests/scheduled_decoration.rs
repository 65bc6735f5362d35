//! Wrapping the runs of scheduled tasks, and labelling the tasks.

#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use time::{HOUR, Log, SECOND, occupy, step};
use windlass::clock::TestClock;
use windlass::pool::{Hooks, TaskInfo};
use windlass::scheduled::Period;
use windlass::testing::until;
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit};

fn counting(runs: &Arc<AtomicUsize>) -> impl Fn(&mut dyn FnMut()) + Send + Sync + 'static {
    let runs = Arc::clone(runs);
    move |run| {
        runs.fetch_add(1, Ordering::SeqCst);
        run();
    }
}

/// STP-055
#[test]
fn a_decoration_wraps_the_run_of_every_scheduled_task() {
    let runs = Arc::new(AtomicUsize::new(0));
    let pool = ScheduledThreadPoolExecutor::builder()
        .decorate(counting(&runs))
        .build();
    let mut value = pool.schedule(Duration::ZERO, || 7).unwrap();
    assert_eq!(value.get().unwrap(), 7);
    let mut failed = pool
        .schedule_fallible(Duration::ZERO, || Err::<(), _>("no"))
        .unwrap();
    assert!(failed.get().unwrap_err().is_failed());
    let mut periodic = pool
        .schedule_at_fixed_rate(Duration::ZERO, HOUR, || panic!("planned"))
        .unwrap();
    assert!(periodic.get().unwrap_err().is_failed());
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    pool.close();
}

/// STP-055
#[test]
fn a_decoration_that_does_not_run_the_task_fails_it() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .decorate(|_run| ())
        .build();
    let mut skipped = pool.schedule(Duration::ZERO, || 7).unwrap();
    let error = skipped.get().unwrap_err();
    assert!(error.is_failed(), "{error}");
    pool.close();
}

/// STP-055
#[test]
fn a_decoration_that_runs_the_task_twice_or_panics_does_no_harm() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .decorate(|run| {
            run();
            run();
            panic!("after the run");
        })
        .build();
    let log = Log::new();
    let notes = log.clone();
    let mut task = pool
        .schedule(Duration::ZERO, move || notes.record("ran"))
        .unwrap();
    let failure = task.get().unwrap_err().into_failure().unwrap();
    assert_eq!(failure.message(), Some("after the run"));
    assert_eq!(log.next(), "ran");
    pool.close();
    assert!(log.is_empty());
}

struct Tenant(u32);

struct Names(Log<(String, u32)>);

impl Hooks for Names {
    fn before_execute(&self, task: &TaskInfo) {
        let tenant = task.attachment::<Tenant>().map_or(0, |tenant| tenant.0);
        self.0
            .record((task.name().unwrap_or_default().to_owned(), tenant));
    }
}

/// STP-055
#[test]
fn what_is_attached_to_a_task_is_found_wherever_it_appears() {
    let log = Log::new();
    let builder = ScheduledThreadPoolExecutor::builder()
        .hooks(Arc::new(Names(log.clone())))
        .prepare_tasks(|task| task.name("labelled").attach(Tenant(7)));
    let clock = TestClock::new();
    let pool = clock.enter(|| builder.build());
    let gate = occupy(&pool);
    assert_eq!(log.next(), ("labelled".to_owned(), 7));
    let later = pool.schedule(SECOND, || ()).unwrap();
    let often = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    let shown = pool.queued_tasks();
    assert!(shown.iter().all(|t| t.name.as_deref() == Some("labelled")));
    gate.open();
    assert_eq!(step(&clock), SECOND);
    assert_eq!(log.next(), ("labelled".to_owned(), 7));
    assert_eq!(step(&clock), HOUR - SECOND);
    assert_eq!(log.next(), ("labelled".to_owned(), 7));
    until("the next run is queued", || pool.queue().len() == 1);
    let drained = pool.shutdown_now();
    assert_eq!(drained[0].id(), often.id());
    assert_eq!(drained[0].attachment::<Tenant>().unwrap().0, 7);
    drop(later);
}

/// The options of one submission take precedence over those of the pool, however it is scheduled.
#[test]
fn every_way_to_schedule_takes_options_for_its_task() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(0)
        .prepare_tasks(|task| task.name("of the pool").attach(7_u32))
        .build();
    let task = || pool.task().name("of the task");
    let fallible = || Ok::<_, std::fmt::Error>(());
    let period = Period::fixed_rate(HOUR).starting_in(HOUR);
    let far = SystemTime::now() + HOUR * 2;
    let ways = [
        task().schedule(HOUR, || ()),
        task().schedule_fallible(HOUR, fallible),
        task().schedule_at(far, || ()),
        task().schedule_at_fixed_rate(HOUR, HOUR, || ()),
        task().schedule_at_fixed_rate_fallible(HOUR, HOUR, fallible),
        task().schedule_with_fixed_delay(HOUR, HOUR, || ()),
        task().schedule_with_fixed_delay_fallible(HOUR, HOUR, fallible),
        task().schedule_periodic(period.clone(), || ()),
        task().schedule_periodic_fallible(period, fallible),
    ];
    for handle in ways {
        let handle = handle.unwrap();
        assert_eq!(handle.name(), Some("of the task"));
        assert_eq!(handle.attachment::<u32>(), Some(&7));
        assert!(!handle.delay().is_zero());
    }
    assert_eq!(pool.shutdown_now().len(), 9);
}

/// STP-056
#[test]
fn every_repetition_runs_decorated() {
    let runs = Arc::new(AtomicUsize::new(0));
    let clock = TestClock::new();
    let builder = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(2)
        .decorate(counting(&runs));
    let pool = clock.enter(|| builder.build());
    let body = || {
        let mut left = 100;
        move || {
            left -= 1;
            assert!(left > 0, "planned");
        }
    };
    let rate = pool.schedule_at_fixed_rate(SECOND, SECOND, body());
    let delay = pool.schedule_with_fixed_delay(SECOND, SECOND, body());
    let (mut rate, mut delay) = (rate.unwrap(), delay.unwrap());
    until("both have failed", || {
        clock.advance(SECOND);
        rate.is_done() && delay.is_done()
    });
    assert!(rate.get().unwrap_err().is_failed());
    assert!(delay.get().unwrap_err().is_failed());
    assert_eq!((rate.runs(), delay.runs()), (100, 100));
    assert_eq!(runs.load(Ordering::SeqCst), 200);
    pool.close();
}

/// STP-057
#[test]
fn every_accepted_task_is_prepared_once() {
    let prepared = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&prepared);
    let pool = ScheduledThreadPoolExecutor::builder()
        .prepare_tasks(move |task| {
            let number = counts.fetch_add(1, Ordering::SeqCst);
            task.name(format!("task {number}"))
        })
        .build();
    let gate = occupy(&pool);
    pool.execute(|| ()).unwrap();
    drop(pool.submit(|| ()).unwrap());
    drop(pool.schedule(HOUR, || ()).unwrap());
    drop(pool.schedule_fallible(HOUR, || Ok::<_, std::fmt::Error>(())));
    drop(pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap());
    drop(pool.schedule_with_fixed_delay(HOUR, HOUR, || ()).unwrap());
    assert_eq!(prepared.load(Ordering::SeqCst), 7);
    let drained = pool.shutdown_now();
    let mut kinds: Vec<_> = drained
        .iter()
        .map(|task| (task.name(), task.has_handle(), task.is_periodic()))
        .collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            (Some("task 1"), false, false),
            (Some("task 2"), true, false),
            (Some("task 3"), true, false),
            (Some("task 4"), true, false),
            (Some("task 5"), true, true),
            (Some("task 6"), true, true),
        ]
    );
    gate.open();
    pool.close();
}

/// STP-057
#[test]
fn a_decoration_is_not_told_of_tasks_that_are_not_scheduled() {
    let runs = Arc::new(AtomicUsize::new(0));
    let pool = ScheduledThreadPoolExecutor::builder()
        .decorate(counting(&runs))
        .build();
    pool.submit(|| ()).unwrap().get().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    pool.close();
}
