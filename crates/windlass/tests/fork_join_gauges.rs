//! The figures of a work-stealing pool, and what can be taken out of it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::forkjoin::{ForkJoinPool, ForkJoinWorker};
use windlass::task::Task;
use windlass::testing::{Gate, PATIENCE};
use windlass::{ExecutorService, Submit};

fn held() -> (ForkJoinPool, Gate) {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    (pool, gate)
}

/// FJP-030
#[test]
fn the_steal_count_covers_what_others_have_submitted() {
    let pool = ForkJoinPool::new(1).unwrap();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap().get().unwrap();
    }
    assert!(pool.await_quiescence(PATIENCE));
    assert_eq!(pool.stats().steal_count, 100);
    pool.install(|| {
        (0..5).for_each(|_| {
            pool.execute(|| ()).unwrap();
        });
    });
    assert!(pool.await_quiescence(PATIENCE));
    assert_eq!(pool.stats().steal_count, 101);
}

/// FJP-031, FJP-032
#[test]
fn gauges_tell_a_workers_own_tasks_from_submissions() {
    let pool = ForkJoinPool::new(1).unwrap();
    let counts = || {
        let stats = pool.stats();
        (stats.queued_task_count, stats.queued_submission_count)
    };
    pool.install(|| {
        for own in 1..=3 {
            let _ = pool.execute(|| ()).unwrap();
            assert_eq!(counts(), (own, 0));
        }
        for outside in 1..=3 {
            pool.external_submit(Task::new(|| ())).unwrap();
            assert_eq!(counts(), (3, outside));
        }
    });
    let (pool, gate) = held();
    for submitted in 1..=3 {
        let _ = pool.execute(|| ()).unwrap();
        let stats = pool.stats();
        assert_eq!(
            (stats.queued_task_count, stats.queued_submission_count),
            (0, submitted)
        );
    }
    gate.open();
}

/// FJP-011
#[test]
fn an_unstarted_submission_can_be_taken_back_without_running_it() {
    let (pool, gate) = held();
    let handles: Vec<_> = (0..3)
        .map(|number| pool.submit(move || number).unwrap())
        .collect();
    let taken = pool.poll_submission().unwrap();
    let mut of_it = handles
        .into_iter()
        .find(|handle| handle.id() == taken.id())
        .unwrap();
    assert!(!of_it.is_done());
    assert_eq!(pool.stats().queued_submission_count, 2);
    taken.run();
    assert!(of_it.get().is_ok());
    gate.open();
}

/// FJP-012
#[test]
fn all_unstarted_tasks_can_be_drained_unchanged() {
    let (pool, gate) = held();
    let handle = pool.submit(|| 1).unwrap();
    let _ = pool.execute(|| ()).unwrap();
    let tasks = pool.drain_tasks();
    assert_eq!(tasks.len(), 2);
    assert!(!handle.is_done());
    assert_eq!(pool.stats().queued_submission_count, 0);
    gate.open();
    let drained = pool.install(|| {
        let _ = pool.execute(|| ()).unwrap();
        pool.drain_tasks().len()
    });
    assert_eq!(drained, 1);
}

/// The last submission that is taken back is the end of what there was to wait for.
#[test]
fn taking_the_last_submission_back_lets_the_pool_end() {
    use windlass::ExecutorService;
    let pool = ForkJoinPool::new(1).unwrap();
    pool.lazy_submit(Task::new(|| ())).unwrap();
    drop(pool.poll_submission());
    pool.shutdown();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// WL-433
#[test]
fn the_figures_of_the_workers_add_up_to_those_of_the_pool() {
    let pool = ForkJoinPool::new(2).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (inside, theirs) = (pool.clone(), Arc::clone(&stop));
    let forks = pool.submit(move || {
        while !theirs.load(Ordering::SeqCst) {
            let forked = (0..32).map(|_| inside.submit(|| ()).unwrap());
            let forked: Vec<_> = forked.collect();
            forked.into_iter().for_each(|fork| fork.join().unwrap());
        }
    });
    let mut last = 0;
    for _ in 0..20_000 {
        let stats = pool.stats();
        let sum = |count: fn(&ForkJoinWorker) -> u64| stats.workers.iter().map(count).sum::<u64>();
        // Workers that have retired are in the totals only.
        assert!(sum(|worker| worker.completed_task_count) <= stats.completed_task_count);
        assert!(sum(|worker| worker.skipped_task_count) <= stats.skipped_task_count);
        assert!(sum(|worker| worker.steal_count) <= stats.steal_count);
        let queued: usize = stats
            .workers
            .iter()
            .map(|worker| worker.queued_task_count)
            .sum();
        assert_eq!(queued, stats.queued_task_count);
        assert!(stats.completed_task_count >= last);
        last = stats.completed_task_count;
    }
    stop.store(true, Ordering::SeqCst);
    forks.unwrap().join().unwrap();
    pool.close();
}
