//! Tasks that call their own pool, and handles that are forgotten.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "faults/kit.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod kit;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::{goes_on_and_ends, pools};
use windlass::RejectedExecution;
use windlass::pool::AbortPolicy;
use windlass::testing::{Gate, Latch, PATIENCE, until, within_patience};
use windlass::thread_factory::DefaultThreadFactory;
use windlass::{
    ExecutorService, ForkJoinPool, Schedule, ScheduledThreadPoolExecutor, Submit, Task,
    ThreadPoolExecutor,
};

#[test]
fn forgotten_handles_cost_nothing_but_their_memory() {
    for (name, pool) in pools() {
        let ran = Arc::new(AtomicUsize::new(0));
        for n in 0..100 {
            let ran = Arc::clone(&ran);
            let handle = pool.submit(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
            let handle = handle.unwrap();
            if n % 2 == 0 {
                handle.on_done(|_| ());
            }
            std::mem::forget(handle);
        }
        until("all tasks", || ran.load(Ordering::SeqCst) == 100);
        goes_on_and_ends(name, &*pool);
    }
}

/// What a pool does with what its own task submits after a shutdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterShutdown {
    Accepts,
    Rejects,
}

/// What every executor service can be asked; ends it.
fn call_service(pool: &dyn ExecutorService, after_shutdown: AfterShutdown) {
    assert!(!pool.is_terminated() && !pool.is_terminating() && !pool.is_shutdown());
    assert!(!pool.await_termination(Duration::ZERO).unwrap());
    pool.shutdown();
    assert!(pool.is_shutdown() && pool.is_terminating());
    let is_accepted = pool.submit(|| ()).is_ok();
    assert_eq!(is_accepted, after_shutdown == AfterShutdown::Accepts);
    drop(pool.shutdown_now());
    assert!(pool.submit(|| ()).is_err());
    // The task itself still runs, and it has been interrupted just now.
    assert!(windlass::interrupt::interrupted());
    assert!(!pool.await_termination(Duration::ZERO).unwrap());
    assert!(!pool.is_terminated());
}

/// Every public method of a pool that does not wait for its end.
fn call_pool(pool: &ThreadPoolExecutor) {
    let queued = pool.submit(|| ()).unwrap();
    let cancelled = pool.submit(|| ()).unwrap();
    assert_eq!((pool.pool_size(), pool.active_count()), (1, 1));
    assert_eq!((pool.largest_pool_size(), pool.queue().len()), (1, 2));
    assert_eq!((pool.task_count(), pool.completed_task_count()), (3, 0));
    assert!(pool.remove(&queued).is_some());
    assert!(cancelled.cancel());
    assert_eq!((pool.purge(), pool.rejected_count()), (1, 0));
    pool.set_maximum_pool_size(3).unwrap();
    pool.set_core_pool_size(2).unwrap();
    assert_eq!((pool.core_pool_size(), pool.maximum_pool_size()), (2, 3));
    assert!(pool.prestart_core_thread());
    assert_eq!(pool.prestart_all_core_threads(), 0);
    pool.set_core_pool_size(1).unwrap();
    pool.set_keep_alive(Duration::from_secs(5)).unwrap();
    assert_eq!(pool.keep_alive(), Duration::from_secs(5));
    pool.set_allow_core_thread_timeout(true).unwrap();
    assert!(pool.allows_core_thread_timeout());
    pool.set_thread_factory(Arc::new(DefaultThreadFactory::named("other")));
    let _ = pool.thread_factory();
    pool.set_rejection_handler(Arc::new(AbortPolicy));
    let _ = pool.rejection_handler();
    assert!(pool.set_queue_capacity(3).is_err());
    pool.retire_idle();
    assert_eq!(pool.stats().active_count, 1);
    assert!(format!("{pool:?}").contains("Running"));
    call_service(pool, AfterShutdown::Rejects);
}

#[test]
fn a_task_may_call_every_method_of_its_own_pool() {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .build()
        .unwrap();
    let theirs = pool.clone();
    let mut handle = pool.submit(move || call_pool(&theirs)).unwrap();
    handle.get_timeout(PATIENCE).unwrap();
    drop(handle);
    assert!(pool.await_termination(PATIENCE).unwrap());
}

fn call_scheduled(pool: &ScheduledThreadPoolExecutor) {
    let day = Duration::from_secs(86_400);
    let queued = pool.schedule(day, || ()).unwrap();
    let cancelled = pool.schedule_at_fixed_rate(day, day, || ()).unwrap();
    assert_eq!(pool.queued_tasks().len(), 2);
    assert!(pool.remove(&queued).is_some());
    assert!(cancelled.cancel());
    assert_eq!(pool.purge(), 1);
    pool.set_remove_on_cancel(!pool.removes_on_cancel());
    pool.set_run_delayed_after_shutdown(!pool.runs_delayed_after_shutdown());
    pool.set_continue_periodic_after_shutdown(!pool.continues_periodic_after_shutdown());
    assert_eq!(pool.stats().active_count, 1);
    assert_eq!(pool.active_count(), 1);
    call_service(pool, AfterShutdown::Rejects);
}

#[test]
fn a_task_may_call_every_method_of_its_own_scheduled_pool() {
    let pool = Arc::new(ScheduledThreadPoolExecutor::new(1));
    let theirs = Arc::clone(&pool);
    let mut handle = pool.submit(move || call_scheduled(&theirs)).unwrap();
    handle.get_timeout(PATIENCE).unwrap();
    assert!(pool.await_termination(PATIENCE).unwrap());
}

fn call_fork_join(pool: &ForkJoinPool) {
    assert!(pool.is_current() && !pool.is_quiescent());
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert_eq!(pool.install(|| 3), 3);
    let mut sum = 0;
    pool.scope(|scope| scope.spawn(|| sum = 4));
    assert_eq!(sum, 4);
    assert!(pool.await_quiescence(PATIENCE));
    pool.lazy_submit(Task::new(|| ())).unwrap();
    pool.external_submit(Task::new(|| ())).unwrap();
    drop((pool.poll_submission(), pool.drain_tasks()));
    let former = pool.set_parallelism(2).unwrap();
    assert_eq!((former, pool.parallelism()), (1, 2));
    assert!(!pool.is_async_mode() && format!("{pool:?}").contains("Running"));
    let _ = pool.stats();
    call_service(pool, AfterShutdown::Accepts);
}

#[test]
fn a_task_may_call_every_method_of_its_own_fork_join_pool() {
    let pool = Arc::new(ForkJoinPool::new(1).unwrap());
    let theirs = Arc::clone(&pool);
    let mut handle = pool.submit(move || call_fork_join(&theirs)).unwrap();
    handle.get_timeout(PATIENCE).unwrap();
    assert!(pool.await_termination(PATIENCE).unwrap());
}

/// A task holds the last handle of its own pool, more tasks are queued behind it: all run.
#[test]
fn a_pool_may_be_dropped_by_its_own_task() {
    for (name, pool) in pools() {
        let (gate, ran) = (Gate::new(), Latch::new(10));
        let (theirs, slot) = (gate.clone(), Arc::new(std::sync::Mutex::new(None)));
        let last = Arc::clone(&slot);
        pool.execute(move || {
            theirs.pass().unwrap();
            let pool: Option<kit::Pool> = last.lock().unwrap().take();
            drop(pool);
        })
        .unwrap();
        for _ in 0..10 {
            let ran = ran.clone();
            pool.execute(move || ran.count_down()).unwrap();
        }
        *slot.lock().unwrap() = Some(pool);
        gate.open();
        within_patience(name, move || ran.wait());
        until("the drop", || slot.lock().unwrap().is_none());
    }
}

#[test]
fn a_task_may_submit_to_its_own_pool_until_that_is_shut_down() {
    fn chain(pool: &kit::Pool, done: &Latch) -> Result<(), RejectedExecution> {
        let (theirs, latch) = (Arc::clone(pool), done.clone());
        let next = move || {
            latch.count_down();
            // A fork-join pool goes on accepting what its own tasks submit.
            if !theirs.is_shutdown() {
                let _ = chain(&theirs, &latch);
            }
        };
        pool.execute(next).map(drop)
    }
    for (name, pool) in pools() {
        let done = Latch::new(100);
        chain(&pool, &done).unwrap();
        done.wait();
        goes_on_and_ends(name, &*pool);
    }
}
