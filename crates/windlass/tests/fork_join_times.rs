//! How long the tasks of a fork-join pool wait and run, and what each worker does right now.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::forkjoin::{Cx, ForkJoinPool, ForkJoinStats, RecursiveTask, join};
use windlass::pool::{PoolState, Times};
use windlass::prelude::*;
use windlass::task::Task;
use windlass::testing::{Gate, PATIENCE, until};

const SECOND: Duration = Duration::from_secs(1);

fn one_worker(clock: &TestClock, times: Times) -> ForkJoinPool {
    let builder = ForkJoinPool::builder().name("render").parallelism(1);
    clock.enter(|| builder.times(times).build().unwrap())
}

/// Submits a task that waits at the gate, with a name or without, and waits until it is there.
fn block(pool: &ForkJoinPool, gate: &Arc<Gate>, name: Option<&str>) -> windlass::task::TaskId {
    let (waiting, theirs) = (gate.waiting(), Arc::clone(gate));
    let task = move || theirs.pass_uninterruptibly();
    let handle = match name {
        None => pool.submit(task),
        Some(name) => pool.task().name(name).submit(task),
    };
    gate.await_waiting(waiting + 1);
    handle.unwrap().id()
}

/// Runs a task for two seconds while another one waits; returns the figures at the end.
fn run_two(clock: &TestClock, times: Times) -> ForkJoinStats {
    let (pool, gate) = (one_worker(clock, times), Arc::new(Gate::new()));
    block(&pool, &gate, Some("tile"));
    let second = pool.task().name("frame").submit(|| ()).unwrap();
    clock.advance(2 * SECOND);
    gate.open();
    pool.close();
    assert!(second.is_done());
    pool.stats()
}

/// WL-253
#[test]
fn a_fork_join_pool_tells_how_long_tasks_waited_and_ran() {
    let stats = run_two(&TestClock::new(), Times::Sampled);
    for times in [&stats.wait_times, &stats.run_times] {
        assert_eq!((times.count(), times.samples()), (2, 2));
        assert_eq!((times.sum(), times.max()), (2 * SECOND, Some(2 * SECOND)));
    }
    let zero = Duration::ZERO;
    let named = stats.task_times.iter();
    let named = named.map(|times| (&*times.name, times.wait_times.sum(), times.run_times.sum()));
    assert_eq!(
        named.collect::<Vec<_>>(),
        [("tile", zero, 2 * SECOND), ("frame", 2 * SECOND, zero)]
    );
}

/// WL-253
#[test]
fn a_fork_join_pool_that_takes_no_times_has_none() {
    let stats = run_two(&TestClock::new(), Times::Off);
    assert_eq!(stats.completed_task_count, 2);
    assert_eq!((stats.wait_times.count(), stats.run_times.count()), (0, 0));
    assert!(stats.task_times.is_empty());
}

/// A task that forks another one and joins it: on the only worker, it runs inside.
struct Outer(TestClock);

struct Inner(TestClock);

impl RecursiveTask for Outer {
    type Output = ();
    fn compute(self, cx: &Cx<'_>) {
        let inner = cx.fork(Inner(self.0.clone()));
        self.0.advance(SECOND);
        inner.join().unwrap();
    }
}

impl RecursiveTask for Inner {
    type Output = ();
    fn compute(self, _: &Cx<'_>) {
        self.0.advance(2 * SECOND);
    }
}

/// WL-253
#[test]
fn a_forked_task_that_runs_inside_another_is_timed_as_its_own() {
    let clock = TestClock::new();
    let pool = one_worker(&clock, Times::Sampled);
    pool.fork(Outer(clock.clone())).unwrap().join().unwrap();
    pool.close();
    let stats = pool.stats();
    assert_eq!(
        (stats.run_times.count(), stats.run_times.sum()),
        (2, 5 * SECOND)
    );
    assert_eq!(
        (stats.wait_times.count(), stats.wait_times.sum()),
        (2, SECOND)
    );
}

/// WL-253
#[test]
fn closures_of_joins_and_scopes_and_cancelled_tasks_are_not_timed() {
    let clock = TestClock::new();
    let (pool, gate) = (one_worker(&clock, Times::Every), Arc::new(Gate::new()));
    pool.install(|| join(|| (), || ()));
    pool.scope(|s| s.spawn(|| ()));
    assert!(pool.await_quiescence(PATIENCE));
    assert_eq!(pool.stats().run_times.count(), 0);
    block(&pool, &gate, None);
    let cancelled = pool.submit(|| ()).unwrap();
    assert!(cancelled.cancel());
    gate.open();
    pool.close();
    let stats = pool.stats();
    assert_eq!((stats.run_times.count(), stats.wait_times.count()), (1, 1));
    assert_eq!(stats.skipped_task_count, 1);
}

/// WL-253
#[test]
fn every_way_into_a_fork_join_pool_is_timed() {
    let clock = TestClock::new();
    let (pool, gate) = (one_worker(&clock, Times::Sampled), Arc::new(Gate::new()));
    block(&pool, &gate, None);
    pool.external_submit(Task::new(|| ())).unwrap();
    pool.lazy_submit(Task::new(|| ())).unwrap();
    pool.execute(|| ()).unwrap();
    clock.advance(SECOND);
    gate.open();
    pool.close();
    let waits = pool.stats().wait_times;
    assert_eq!((waits.count(), waits.sum()), (4, 3 * SECOND));
}

/// WL-253
#[test]
fn the_samples_of_short_forks_stand_for_all_of_them() {
    const TASKS: u64 = 100_000;
    let pool = ForkJoinPool::new(1).unwrap();
    for _ in 0..TASKS {
        pool.execute(|| ()).unwrap();
    }
    pool.close();
    let times = pool.stats().run_times;
    assert!((TASKS / 2..2 * TASKS).contains(&times.count()), "{times}");
    assert!(times.samples() <= times.count());
}

/// WL-254
#[test]
fn a_fork_join_pool_lists_the_tasks_that_run_with_names_threads_and_times() {
    let (clock, gate) = (TestClock::new(), Arc::new(Gate::new()));
    let builder = ForkJoinPool::builder().name("render").parallelism(2);
    let pool = clock.enter(|| builder.build().unwrap());
    assert!(pool.running_tasks().is_empty());
    let first = (block(&pool, &gate, Some("tile")), clock.now());
    clock.advance(SECOND);
    let second = (block(&pool, &gate, None), clock.now());
    clock.advance(SECOND);
    let mut running = pool.running_tasks();
    running.sort_by_key(|task| task.since);
    let seen = running.iter().map(|task| (task.id, task.since));
    assert_eq!(seen.collect::<Vec<_>>(), [first, second]);
    let names = running.iter().map(|task| task.name.as_deref());
    assert_eq!(names.collect::<Vec<_>>(), [Some("tile"), None]);
    for task in &running {
        let thread = task.thread.as_deref().unwrap();
        assert!(thread.starts_with("render-worker-"), "{thread}");
    }
    assert_eq!(clock.enter(|| running[0].elapsed()), 2 * SECOND);
    gate.open();
    pool.close();
    assert!(pool.running_tasks().is_empty());
}

/// WL-254
#[test]
fn a_worker_that_joins_shows_the_outer_task_and_a_job_shows_none() {
    struct Waits(Arc<Gate>);
    impl RecursiveTask for Waits {
        type Output = ();
        fn compute(self, cx: &Cx<'_>) {
            struct Inner(Arc<Gate>);
            impl RecursiveTask for Inner {
                type Output = ();
                fn compute(self, _: &Cx<'_>) {
                    self.0.pass_uninterruptibly();
                }
            }
            cx.fork(Inner(self.0)).join().unwrap();
        }
    }
    let (pool, gate) = (ForkJoinPool::new(1).unwrap(), Arc::new(Gate::new()));
    let outer = pool.fork(Waits(Arc::clone(&gate))).unwrap();
    gate.await_waiting(1);
    let running = pool.running_tasks();
    let ids = running.iter().map(|task| task.id);
    assert_eq!(ids.collect::<Vec<_>>(), [outer.id()]);
    gate.open();
    outer.join().unwrap();
    until("the worker is idle", || pool.running_tasks().is_empty());
    assert!(pool.install(|| pool.running_tasks()).is_empty());
    pool.close();
}

/// WL-254
#[test]
fn a_thread_from_outside_that_runs_a_task_of_the_pool_is_listed_with_its_name() {
    let (pool, gate) = (ForkJoinPool::new(1).unwrap(), Arc::new(Gate::new()));
    let (held, theirs) = (Arc::new(Gate::new()), Arc::clone(&gate));
    block(&pool, &held, None);
    let task = move || theirs.pass_uninterruptibly();
    let inside = pool.task().name("helped").submit(task).unwrap();
    let helper = {
        let pool = pool.clone();
        let thread = std::thread::Builder::new().name("outside".into());
        thread
            .spawn(move || pool.await_quiescence(PATIENCE))
            .unwrap()
    };
    gate.await_waiting(1);
    let running = pool.running_tasks();
    let helped = running.iter().find(|task| task.id == inside.id()).unwrap();
    assert_eq!(helped.name.as_deref(), Some("helped"));
    assert_eq!(helped.thread.as_deref(), Some("outside"));
    gate.open();
    held.open();
    assert!(helper.join().unwrap());
    pool.close();
}

/// WL-254
#[test]
fn a_fork_join_pool_that_takes_no_times_shows_since_when_a_task_was_seen() {
    let clock = TestClock::new();
    let (pool, gate) = (one_worker(&clock, Times::Off), Arc::new(Gate::new()));
    block(&pool, &gate, None);
    clock.advance(SECOND);
    let first_seen = clock.now();
    for _ in 0..3 {
        assert_eq!(pool.running_tasks()[0].since, first_seen);
        clock.advance(SECOND);
    }
    gate.open();
    pool.close();
}

/// WL-255
#[test]
fn the_figures_of_a_fork_join_pool_name_it_its_state_and_what_it_has_rejected() {
    let clock = TestClock::new();
    let (pool, gate) = (one_worker(&clock, Times::Off), Arc::new(Gate::new()));
    let seen = |pool: &ForkJoinPool| {
        let stats = pool.stats();
        (stats.name, stats.state, stats.rejected_count)
    };
    assert_eq!(seen(&pool), ("render".into(), PoolState::Running, 0));
    block(&pool, &gate, None);
    pool.shutdown();
    assert_eq!(seen(&pool), ("render".into(), PoolState::ShuttingDown, 0));
    assert!(pool.execute(|| ()).is_err());
    assert!(pool.external_submit(Task::new(|| ())).is_err());
    assert_eq!(pool.completed_count(), Some(0));
    gate.open();
    pool.close();
    assert_eq!(pool.completed_count(), Some(1));
    assert_eq!(seen(&pool), ("render".into(), PoolState::Terminated, 2));
}
