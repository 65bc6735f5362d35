//! The figures of a work-stealing pool, and what can be taken out of it.
#![expect(clippy::unwrap_used, reason = "tests")]

use windlass::Submit;
use windlass::forkjoin::ForkJoinPool;
use windlass::task::Task;
use windlass::testing::{Gate, PATIENCE};

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
