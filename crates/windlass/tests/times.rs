//! How long tasks wait and run, as a pool tells it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::pool::{Builder, PoolStats, Times};
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::testing::{Gate, until};

const SECOND: Duration = Duration::from_secs(1);

fn one_worker() -> Builder {
    ThreadPoolExecutor::builder().core_pool_size(1)
}

/// Runs a task for two seconds while another one waits, both with names if there are any; returns the
/// figures at the end.
fn run_two(clock: &TestClock, pool: &ThreadPoolExecutor, names: Option<[&str; 2]>) -> PoolStats {
    let gate = Arc::new(Gate::new());
    let blocker = {
        let gate = Arc::clone(&gate);
        move || gate.pass_uninterruptibly()
    };
    let [first, second] = names.map_or([None; 2], |names| names.map(Some));
    let submit = |name: Option<&str>, task: Box<dyn FnOnce() + Send>| match name {
        None => pool.execute(task).unwrap(),
        Some(name) => pool.task().name(name).execute(task).unwrap(),
    };
    submit(first, Box::new(blocker));
    gate.await_waiting(1);
    submit(second, Box::new(|| ()));
    clock.advance(2 * SECOND);
    gate.open();
    pool.close();
    pool.stats()
}

/// WL-242
#[test]
fn a_pool_tells_how_long_tasks_waited_and_ran() {
    let clock = TestClock::new();
    let pool = clock.enter(|| one_worker().build().unwrap());
    assert_eq!(pool.stats().wait_times.count(), 0);
    let stats = run_two(&clock, &pool, None);
    for times in [&stats.wait_times, &stats.run_times] {
        assert_eq!((times.count(), times.samples()), (2, 2));
        assert_eq!(times.sampled_every(), 1);
        assert_eq!((times.sum(), times.max()), (2 * SECOND, Some(2 * SECOND)));
        assert_eq!(times.mean(), Some(SECOND));
        assert!(times.quantile(0.5).unwrap() < Duration::from_micros(1));
    }
    assert!(stats.task_times.is_empty());
}

/// WL-244
#[test]
fn tasks_with_a_name_have_times_of_their_own() {
    let clock = TestClock::new();
    let pool = clock.enter(|| one_worker().build().unwrap());
    let stats = run_two(&clock, &pool, Some(["report", "mail"]));
    let times: Vec<_> = stats
        .task_times
        .iter()
        .map(|times| (&*times.name, times.wait_times.sum(), times.run_times.sum()))
        .collect();
    let zero = Duration::ZERO;
    assert_eq!(
        times,
        [("report", zero, 2 * SECOND), ("mail", 2 * SECOND, zero)]
    );
    assert_eq!(stats.run_times.count(), 2);
}

/// WL-242
#[test]
fn a_pool_that_takes_no_times_has_none() {
    let clock = TestClock::new();
    let pool = clock.enter(|| one_worker().times(Times::Off).build().unwrap());
    let stats = run_two(&clock, &pool, Some(["report", "mail"]));
    assert_eq!(stats.completed_task_count, 2);
    for times in [&stats.wait_times, &stats.run_times] {
        assert_eq!(
            (times.count(), times.max(), times.quantile(0.5)),
            (0, None, None)
        );
    }
    assert!(stats.task_times.is_empty());
}

/// WL-242
#[test]
fn a_scheduled_task_waits_from_when_it_is_due() {
    let (clock, gate) = (TestClock::new(), Arc::new(Gate::new()));
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    let blocker = {
        let gate = Arc::clone(&gate);
        move || gate.pass_uninterruptibly()
    };
    pool.execute(blocker).unwrap();
    gate.await_waiting(1);
    let late = pool.schedule(5 * SECOND, || ()).unwrap();
    clock.advance(7 * SECOND);
    gate.open();
    late.join().unwrap();
    pool.close();
    assert_eq!(pool.stats().wait_times.max(), Some(2 * SECOND));
    assert_eq!(pool.stats().wait_times.count(), 2);
}

/// WL-245
#[test]
fn a_pool_that_times_every_task_counts_each() {
    let pool = one_worker().times(Times::Every).build().unwrap();
    for _ in 0..10_000 {
        pool.execute(|| ()).unwrap();
    }
    pool.close();
    let stats = pool.stats();
    for times in [&stats.wait_times, &stats.run_times] {
        assert_eq!((times.count(), times.samples()), (10_000, 10_000));
    }
}

/// WL-245
#[test]
fn the_samples_of_short_tasks_stand_for_all_of_them() {
    const TASKS: u64 = 200_000;
    let pool = one_worker().build().unwrap();
    for _ in 0..TASKS {
        pool.execute(|| ()).unwrap();
    }
    pool.close();
    let times = pool.stats().run_times;
    assert!((TASKS / 2..2 * TASKS).contains(&times.count()), "{times}");
    assert!(times.samples() <= times.count());
}

/// WL-242
#[test]
fn times_can_be_read_while_tasks_run() {
    let pool = executors::fixed_thread_pool(2).unwrap();
    for _ in 0..100 {
        pool.execute(|| ()).unwrap();
    }
    until("the first tasks are counted", || {
        pool.stats().run_times.count() >= 1
    });
    pool.close();
}

/// WL-242
#[test]
fn a_task_that_is_rejected_comes_back_whole_though_its_wait_was_to_be_timed() {
    let (clock, gate) = (TestClock::new(), Arc::new(Gate::new()));
    let queue = ArrayBlockingQueue::new(1).unwrap();
    let pool = clock.enter(|| one_worker().work_queue(queue).build().unwrap());
    let blocker = {
        let gate = Arc::clone(&gate);
        move || gate.pass_uninterruptibly()
    };
    pool.execute(blocker).unwrap();
    gate.await_waiting(1);
    pool.execute(|| ()).unwrap();
    let rejected = pool
        .execute_with(String::from("input"), |_| ())
        .unwrap_err();
    assert_eq!(
        rejected.into_task().into_input::<String>().unwrap(),
        "input"
    );
    let rejected = pool
        .execute_with(String::from("input"), |_| ())
        .unwrap_err();
    let task = rejected.into_task().into_input::<u8>().unwrap_err();
    assert_eq!(task.into_input::<String>().unwrap(), "input");
    let rejected = pool.task().name("named").submit(|| 7).unwrap_err();
    let (task, handle) = rejected.into_parts();
    assert_eq!(task.name(), Some("named"));
    task.run();
    assert_eq!(handle.join().unwrap(), 7);
    gate.open();
    pool.close();
}

/// WL-455
#[test]
fn a_task_that_runs_in_place_is_timed_as_its_own() {
    let clock = TestClock::new();
    let pool = clock.enter(|| one_worker().build().unwrap());
    let (inner, theirs) = (pool.clone(), clock.clone());
    let outer = pool.task().name("outer").submit(move || {
        let (nested, inside) = (inner.clone(), theirs.clone());
        let handle = nested
            .task()
            .name("inner")
            .submit(move || inside.advance(2 * SECOND));
        theirs.advance(SECOND);
        handle.unwrap().join().unwrap();
    });
    outer.unwrap().join().unwrap();
    pool.close();
    let stats = pool.stats();
    assert_eq!(stats.completed_task_count, 2);
    assert_eq!((stats.run_times.count(), stats.wait_times.count()), (2, 2));
    assert_eq!(stats.run_times.sum(), 5 * SECOND);
    assert_eq!(stats.wait_times.sum(), SECOND);
    let named = stats.task_times.iter();
    let mut named: Vec<_> = named
        .map(|times| (&*times.name, times.wait_times.sum(), times.run_times.sum()))
        .collect();
    named.sort_unstable();
    assert_eq!(
        named,
        [
            ("inner", SECOND, 2 * SECOND),
            ("outer", Duration::ZERO, 3 * SECOND)
        ]
    );
}
