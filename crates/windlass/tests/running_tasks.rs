//! What each worker does right now.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::clock::TestClock;
use windlass::executors::ThreadPerTaskExecutor;
use windlass::pool::Times;
use windlass::prelude::*;
use windlass::testing::{Gate, until};
use windlass::{RunningTask, TaskHandle};

const SECOND: Duration = Duration::from_secs(1);

/// Submits a task that waits at the gate, with a name or without, and waits until it is there.
fn block(executor: &impl Submit, gate: &Arc<Gate>, name: Option<&str>) -> TaskHandle<()> {
    let waiting = gate.waiting();
    let task = {
        let gate = Arc::clone(gate);
        move || gate.pass_uninterruptibly()
    };
    let handle = match name {
        None => executor.submit(task),
        Some(name) => executor.task().name(name).submit(task),
    };
    gate.await_waiting(waiting + 1);
    handle.unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pool has the machine's clock"
)]
fn now() -> Instant {
    Instant::now()
}

fn named(running: &[RunningTask]) -> Vec<Option<&str>> {
    let mut names: Vec<_> = running.iter().map(|task| task.name.as_deref()).collect();
    names.sort_unstable();
    names
}

/// WL-240
#[test]
fn a_pool_lists_the_tasks_that_run_with_names_threads_and_times() {
    let (clock, gate) = (TestClock::new(), Arc::new(Gate::new()));
    let builder = ThreadPoolExecutor::builder().name("web").core_pool_size(2);
    let pool = clock.enter(|| builder.build().unwrap());
    assert!(pool.running_tasks().is_empty());
    let first = block(&pool, &gate, Some("report"));
    let since_first = clock.now();
    clock.advance(SECOND);
    let second = block(&pool, &gate, None);
    let since_second = clock.now();
    clock.advance(SECOND);
    let mut running = pool.running_tasks();
    running.sort_by_key(|task| task.since);
    let seen: Vec<_> = running.iter().map(|task| (task.id, task.since)).collect();
    assert_eq!(
        seen,
        [(first.id(), since_first), (second.id(), since_second)]
    );
    assert_eq!(named(&running), [None, Some("report")]);
    let threads: Vec<_> = running.iter().map(|task| task.thread.as_deref()).collect();
    assert_eq!(threads, [Some("web-thread-1"), Some("web-thread-2")]);
    assert_eq!(clock.enter(|| running[0].elapsed()), 2 * SECOND);
    gate.open();
    pool.close();
    assert!(pool.running_tasks().is_empty());
}

/// WL-240
#[test]
fn a_name_is_not_shown_for_the_next_task() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    pool.task()
        .name("first")
        .submit(|| ())
        .unwrap()
        .join()
        .unwrap();
    let gate = Arc::new(Gate::new());
    let second = block(&pool, &gate, None);
    let running = pool.running_tasks();
    assert_eq!((running[0].id, &running[0].name), (second.id(), &None));
    gate.open();
    pool.close();
}

/// WL-241
#[test]
fn the_time_of_a_task_for_which_a_worker_waited_is_not_before_its_submission() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    for _ in 0..20_000 {
        pool.execute(|| ()).unwrap();
    }
    until("the worker is idle", || {
        let waiting = pool.queue().waiting().unwrap_or_default();
        pool.completed_task_count() == 20_000 && waiting.takers == 1
    });
    let (gate, before) = (Arc::new(Gate::new()), now());
    let long = block(&pool, &gate, None);
    let after = now();
    let running = pool.running_tasks();
    assert_eq!(running[0].id, long.id());
    assert!(before <= running[0].since && running[0].since <= after);
    gate.open();
    pool.close();
}

/// WL-241
#[test]
fn a_pool_that_takes_no_times_shows_since_when_a_task_was_seen() {
    let (clock, gate) = (TestClock::new(), Arc::new(Gate::new()));
    let builder = ThreadPoolExecutor::builder().core_pool_size(1);
    let pool = clock.enter(|| builder.times(Times::Off).build().unwrap());
    let _blocked = block(&pool, &gate, None);
    clock.advance(SECOND);
    let first_seen = clock.now();
    for _ in 0..3 {
        assert_eq!(pool.running_tasks()[0].since, first_seen);
        clock.advance(SECOND);
    }
    gate.open();
    pool.close();
}

/// WL-240
#[test]
fn a_scheduled_pool_and_a_thread_per_task_list_them_too() {
    let (scheduled, threads) = (
        ScheduledThreadPoolExecutor::new(1),
        ThreadPerTaskExecutor::new(),
    );
    let gate = Arc::new(Gate::new());
    let first = block(&scheduled, &gate, Some("scheduled"));
    let second = block(&threads, &gate, Some("alone"));
    let executors: [(&dyn ExecutorService, _, _); 2] = [
        (&scheduled, first.id(), "scheduled"),
        (&threads, second.id(), "alone"),
    ];
    for (executor, id, name) in executors {
        let running = executor.running_tasks();
        assert_eq!(running.len(), 1);
        assert_eq!(running[0].id, id);
        assert_eq!(running[0].name.as_deref(), Some(name));
        let thread = running[0].thread.as_deref().unwrap();
        let shown = running[0].to_string();
        assert!(shown.starts_with(&format!("{name} ({id}) on {thread} for ")));
    }
    gate.open();
    scheduled.close();
    threads.close();
}
