//! Hooks of the fork-join pool, and what it counts.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask, join, worker_index};
use windlass::pool::{Hooks, Outcome, TaskInfo};
use windlass::prelude::*;
use windlass::task::TaskId;
use windlass::testing::{Gate, PATIENCE, until};

/// Writes down what it is told.
#[derive(Default)]
struct Diary {
    lines: Mutex<Vec<(TaskId, String)>>,
    times: Mutex<Vec<(Option<Duration>, Option<Duration>)>>,
    terminated: AtomicUsize,
}

impl Diary {
    fn write(&self, task: &TaskInfo, line: &str) {
        assert!(worker_index().is_some(), "hooks are called on the worker");
        self.lines
            .lock()
            .unwrap()
            .push((task.id(), line.to_owned()));
    }

    fn of(&self, id: TaskId) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let own = lines.iter().filter(|line| line.0 == id);
        own.map(|line| line.1.clone()).collect()
    }
}

impl Hooks for Diary {
    fn wants_times(&self) -> bool {
        true
    }

    fn before_execute(&self, task: &TaskInfo) {
        self.write(task, task.name().unwrap_or("before"));
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        self.write(
            task,
            match outcome {
                Outcome::Completed => "completed",
                Outcome::Failed(_) => "failed",
                _ => "cancelled",
            },
        );
        let times = (task.queued_for(), task.ran_for());
        self.times.lock().unwrap().push(times);
    }

    fn terminated(&self) {
        self.terminated.fetch_add(1, Ordering::SeqCst);
    }
}

fn pool_with(diary: &Arc<Diary>) -> ForkJoinPool {
    let builder = ForkJoinPool::builder().parallelism(2);
    builder.hooks(Arc::clone(diary)).build().unwrap()
}

struct Fib(u32);

impl RecursiveTask for Fib {
    type Output = u32;

    fn compute(self, cx: &Cx<'_>) -> u32 {
        if self.0 < 2 {
            return self.0;
        }
        // Joined in the order of the forks, so that the first is below the second in the deque.
        let (a, b) = (cx.fork(Fib(self.0 - 1)), cx.fork(Fib(self.0 - 2)));
        a.join().unwrap() + b.join().unwrap()
    }
}

#[test]
fn hooks_are_called_around_each_task_with_its_outcome() {
    let diary = Arc::new(Diary::default());
    let pool = pool_with(&diary);
    let good = pool.task().name("good").submit(|| 1).unwrap();
    let bad = pool.submit(|| -> u32 { panic!("on purpose") }).unwrap();
    let (good_id, bad_id) = (good.id(), bad.id());
    assert_eq!(good.join().unwrap(), 1);
    assert!(bad.join().unwrap_err().is_failed());
    let gate = Gate::new();
    for _ in 0..2 {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(2);
    let cancelled = pool.submit(|| 2).unwrap();
    cancelled.cancel();
    gate.open();
    pool.close();
    assert_eq!(diary.of(good_id), ["good", "completed"]);
    assert_eq!(diary.of(bad_id), ["before", "failed"]);
    assert_eq!(diary.of(cancelled.id()), ["before", "cancelled"]);
    assert_eq!(diary.terminated.load(Ordering::SeqCst), 1);
}

#[test]
fn hooks_are_called_once_for_each_forked_task() {
    let diary = Arc::new(Diary::default());
    let pool = pool_with(&diary);
    assert_eq!(pool.fork(Fib(12)).unwrap().join().unwrap(), 144);
    pool.close();
    let mut lines = diary.lines.lock().unwrap().clone();
    // Each call of `Fib` is one task: 465 of them, with two lines each.
    assert_eq!(lines.len(), 2 * 465);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 2 * 465);
}

#[test]
fn hooks_are_not_called_for_the_closures_of_joins() {
    let diary = Arc::new(Diary::default());
    let pool = pool_with(&diary);
    let sum = pool.submit(|| join(|| 1, || 2)).unwrap();
    assert_eq!(sum.join().unwrap(), (1, 2));
    pool.join(|| (), || ());
    pool.close();
    assert_eq!(diary.lines.lock().unwrap().len(), 2);
}

#[test]
fn hooks_that_want_times_receive_them() {
    let clock = TestClock::new();
    let diary = Arc::new(Diary::default());
    let pool = clock.enter(|| pool_with(&diary));
    let (gate, theirs) = (Gate::new(), clock.clone());
    let blockers: Vec<_> = (0..2)
        .map(|_| {
            let gate = gate.clone();
            pool.submit(move || gate.pass_uninterruptibly()).unwrap()
        })
        .collect();
    gate.await_waiting(2);
    let timed = pool
        .submit(move || theirs.advance(Duration::from_secs(7)))
        .unwrap();
    clock.advance(Duration::from_secs(3));
    gate.open();
    timed.join().unwrap();
    blockers
        .into_iter()
        .for_each(|blocker| blocker.join().unwrap());
    pool.close();
    let times = diary.times.lock().unwrap();
    let seconds = |n| Some(Duration::from_secs(n));
    assert!(times.contains(&(seconds(3), seconds(7))), "{times:?}");
}

#[test]
fn a_hook_that_panics_is_reported_and_the_worker_goes_on() {
    struct Fragile;
    impl Hooks for Fragile {
        fn before_execute(&self, task: &TaskInfo) {
            assert!(task.name() != Some("before"), "the hook");
        }

        fn after_execute(&self, task: &TaskInfo, _: &Outcome) {
            assert!(task.name() != Some("after"), "the hook");
        }

        fn terminated(&self) {
            panic!("the hook");
        }
    }
    let reports = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&reports);
    let pool = ForkJoinPool::builder()
        .parallelism(1)
        .hooks(Fragile)
        .uncaught_handler(move |_| {
            theirs.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    let before = pool.task().name("before").submit(|| 1).unwrap();
    assert!(before.join().unwrap_err().is_cancelled(), "it does not run");
    let after = pool.task().name("after").submit(|| 2).unwrap();
    assert_eq!(after.join().unwrap(), 2);
    assert_eq!(pool.submit(|| 3).unwrap().join().unwrap(), 3);
    pool.close();
    assert_eq!(reports.load(Ordering::SeqCst), 3);
}

#[test]
fn the_pool_counts_how_its_tasks_ended() {
    let pool = ForkJoinPool::new(2).unwrap();
    for n in 0..10 {
        let _ = pool
            .submit(move || assert!(n >= 3, "on purpose"))
            .unwrap()
            .join();
    }
    pool.execute(|| panic!("without a handle")).unwrap();
    let gate = Gate::new();
    for _ in 0..2 {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(2);
    pool.submit(|| ()).unwrap().cancel();
    gate.open();
    assert!(pool.await_quiescence(PATIENCE));
    let stats = pool.stats();
    assert_eq!(stats.completed_task_count, 7 + 2);
    assert_eq!(stats.failed_task_count, 3 + 1);
    assert_eq!(stats.skipped_task_count, 1);
    let by_workers: u64 = stats
        .workers
        .iter()
        .map(|worker| worker.completed_task_count)
        .sum();
    assert_eq!(by_workers, 9);
    pool.close();
    assert_eq!(
        pool.stats().completed_task_count,
        9,
        "also when the workers are gone"
    );
    assert!(pool.stats().workers.is_empty());
}

#[test]
fn forked_tasks_are_counted_too() {
    let pool = ForkJoinPool::new(2).unwrap();
    assert_eq!(pool.fork(Fib(12)).unwrap().join().unwrap(), 144);
    until("all are counted", || {
        pool.stats().completed_task_count == 465
    });
    assert_eq!(pool.stats().failed_task_count, 0);
}
