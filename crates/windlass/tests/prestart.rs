//! Core workers that are started before there is anything to do.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use threads::{Counting, await_idle, finish};
use windlass::executors::fixed_thread_pool_with;
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

fn pool_of(core: usize, threads: &Counting) -> ThreadPoolExecutor {
    fixed_thread_pool_with(core, std::sync::Arc::new(threads.clone())).unwrap()
}

/// TPE-070
#[test]
fn one_idle_worker_is_started_per_call_while_below_core() {
    let threads = Counting::default();
    let pool = pool_of(2, &threads);
    let started = [(); 4].map(|()| (pool.prestart_core_thread(), pool.pool_size()));
    assert_eq!(started, [(true, 1), (true, 2), (false, 2), (false, 2)]);
    await_idle(&pool, 2);
    assert_eq!((threads.created(), pool.active_count()), (2, 0));
    finish(&pool);
}

/// TPE-070
#[test]
fn with_core_zero_there_is_nothing_to_prestart() {
    let pool = ThreadPoolExecutor::builder().core_pool_size(0).build();
    let pool = pool.unwrap();
    assert!(!pool.prestart_core_thread());
    assert_eq!((pool.prestart_all_core_threads(), pool.pool_size()), (0, 0));
}

/// TPE-071
#[test]
fn all_core_workers_are_started_and_a_second_call_changes_nothing() {
    let threads = Counting::default();
    let pool = pool_of(2, &threads);
    let started = [(); 2].map(|()| (pool.prestart_all_core_threads(), pool.pool_size()));
    assert_eq!(started, [(2, 2), (0, 2)]);
    assert_eq!(threads.created(), 2);
    finish(&pool);
}

/// TPE-071
#[test]
fn what_is_left_to_core_size_is_started_and_counted() {
    let threads = Counting::default();
    let pool = pool_of(3, &threads);
    pool.submit(|| ()).unwrap().get().unwrap();
    assert_eq!(pool.prestart_all_core_threads(), 2);
    assert_eq!((pool.pool_size(), threads.created()), (3, 3));
    finish(&pool);
}

/// TPE-072
#[test]
fn after_shutdown_nothing_is_started() {
    let threads = Counting::default();
    let pool = pool_of(2, &threads);
    assert!(pool.prestart_core_thread());
    pool.shutdown();
    assert!(!pool.prestart_core_thread());
    assert_eq!(pool.prestart_all_core_threads(), 0);
    finish(&pool);
    assert!(!pool.prestart_core_thread());
    assert_eq!(
        (pool.prestart_all_core_threads(), threads.created()),
        (0, 1)
    );
}

/// TPE-072
#[test]
fn after_shutdown_nothing_is_started_for_queued_tasks_either_while_workers_are_busy() {
    let threads = Counting::default();
    let blockers = threads::Blockers::default();
    let pool = pool_of(1, &threads);
    for _ in 0..2 {
        pool.execute(blockers.body()).unwrap();
    }
    pool.shutdown();
    assert!(!pool.prestart_core_thread());
    blockers.release();
    finish(&pool);
    assert_eq!((threads.created(), blockers.ended()), (1, 2));
}
