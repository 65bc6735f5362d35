//! What happens when the last handle of a pool is dropped.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recording::{Blocker, CountingFactory, HookFns, fixed};
use windlass::RejectedExecution;
use windlass::pool::Saturated;
use windlass::task::{Cancellation, ExecutionError, Failure, Task};
use windlass::testing::{DropCounter, Gate, Latch, until};
use windlass::{ExecutorService, Submit, executors};

/// TPE-162
#[test]
fn dropping_the_last_handle_runs_what_is_queued_and_ends_the_threads() {
    let (factory, ended) = (CountingFactory::new(), Latch::new(1));
    let theirs = ended.clone();
    let pool = fixed(2)
        .thread_factory(factory.clone())
        .hooks(HookFns::new().terminated(move || theirs.count_down()))
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 2);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        let body = move || {
            ran.fetch_add(1, Ordering::SeqCst);
        };
        pool.execute(body).unwrap();
    }
    drop(pool);
    // The drop has not waited: the workers are still held.
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(ended.count(), 1);
    blocker.release();
    ended.wait();
    assert_eq!(ran.load(Ordering::SeqCst), 100);
    factory.await_live(0);
}

/// TPE-162
#[test]
fn dropping_one_of_several_handles_changes_nothing() {
    let pool = fixed(1).build().unwrap();
    drop(pool.clone());
    assert!(!pool.is_shutdown());
    assert_eq!(pool.submit(|| 2).unwrap().get().unwrap(), 2);
}

/// TPE-162
#[test]
fn idle_workers_end_when_the_last_handle_is_dropped() {
    let factory = CountingFactory::new();
    let pool = fixed(4).thread_factory(factory.clone()).build().unwrap();
    pool.prestart_all_core_threads();
    drop(pool);
    factory.await_live(0);
}

/// TPE-162
#[test]
fn a_task_may_drop_the_last_handle_of_its_own_pool() {
    let (factory, gate) = (CountingFactory::new(), Gate::new());
    let pool = fixed(1).thread_factory(factory.clone()).build().unwrap();
    let (mine, at) = (pool.clone(), gate.clone());
    let mut handle = pool
        .submit(move || {
            at.pass_uninterruptibly();
            drop(mine);
            1
        })
        .unwrap();
    let mut queued = pool.submit(|| 2).unwrap();
    drop(pool);
    gate.open();
    assert_eq!(handle.get().unwrap(), 1);
    assert_eq!(queued.get().unwrap(), 2);
    factory.await_live(0);
}

/// TPE-162
#[test]
fn a_queued_task_that_owns_the_last_handle_runs_and_the_pool_ends() {
    let factory = CountingFactory::new();
    let pool = fixed(1).thread_factory(factory.clone()).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let mine = pool.clone();
    let mut handle = pool.submit(move || mine.is_shutdown()).unwrap();
    drop(pool);
    blocker.release();
    assert!(!handle.get().unwrap());
    factory.await_live(0);
}

/// TPE-162
#[test]
fn handles_of_a_pool_that_never_had_a_thread_complete_when_it_is_dropped() {
    let pool = fixed(1).build().unwrap();
    let (task, mut handle) = Task::with_handle(|| ());
    pool.queue().offer(task).unwrap();
    drop(pool);
    assert!(matches!(
        handle.get(),
        Err(ExecutionError::Cancelled(Cancellation::Dropped))
    ));
}

/// TPE-162, TPE-102
#[test]
fn a_terminated_hook_that_fails_does_not_fail_the_drop() {
    let hooks = HookFns::new().terminated(|| panic!("terminated"));
    drop(fixed(1).hooks(hooks).build().unwrap());
}

/// WL-434
#[test]
fn shutdown_now_returns_what_it_has_drained_if_the_terminated_hook_panics() {
    let reported = Latch::new(1);
    let theirs = reported.clone();
    let hooks = HookFns::new().terminated(|| panic!("terminated"));
    let builder = fixed(1).hooks(hooks);
    let builder = builder.uncaught_handler(move |_: &Failure| theirs.count_down());
    let pool = builder.build().unwrap();
    let (task, mut handle) = Task::with_handle(|| 7);
    // Without a worker it is `shutdown_now` that terminates the pool.
    pool.queue().offer(task).unwrap();
    let drained = pool.shutdown_now();
    assert!(pool.is_terminated());
    assert_eq!(drained.len(), 1);
    drained.into_iter().for_each(Task::run);
    assert_eq!(handle.get().unwrap(), 7);
    reported.wait();
}

/// TPE-162: as the JDK's single-thread executor, which is shut down when nobody holds it any more.
#[test]
fn a_dropped_single_thread_executor_finishes_its_tasks() {
    let factory = CountingFactory::new();
    let single = executors::single_thread_executor_with(Arc::new(factory.clone()));
    let mut handles: Vec<_> = (0..10).map(|n| single.submit(move || n).unwrap()).collect();
    drop(single);
    for (n, handle) in handles.iter_mut().enumerate() {
        assert_eq!(handle.get().unwrap(), n);
    }
    factory.await_live(0);
}

/// TPE-162
#[test]
fn nothing_leaks() {
    let drops = DropCounter::new();
    let (of_hook, of_handler, of_report) = (drops.token(), drops.token(), drops.token());
    let factory = CountingFactory::new();
    let pool = fixed(2)
        .thread_factory(factory.clone())
        .hooks(HookFns::new().before(move |_| {
            let _ = &of_hook;
        }))
        .rejection_handler(
            move |task: Task, _: &dyn Saturated| -> Result<(), RejectedExecution> {
                let _ = &of_handler;
                drop(task);
                Ok(())
            },
        )
        .uncaught_handler(move |_| {
            let _ = &of_report;
        })
        .build()
        .unwrap();
    for n in 0..100 {
        let token = drops.token();
        pool.execute(move || {
            let _token = token;
            assert_ne!(n % 10, 3, "some fail");
        })
        .unwrap();
        let token = drops.token();
        let unused = pool.submit(move || token).unwrap();
        let token = drops.token();
        let cancelled = pool.submit(move || drop(token)).unwrap();
        cancelled.cancel();
        drop(unused);
    }
    drop(pool);
    factory.await_live(0);
    until("everything is dropped", || drops.count() == 303);
}

/// TPE-162
#[test]
fn nothing_leaks_when_the_pool_is_stopped() {
    let (drops, factory) = (DropCounter::new(), CountingFactory::new());
    let pool = fixed(1).thread_factory(factory.clone()).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    for _ in 0..10 {
        let token = drops.token();
        pool.execute(move || drop(token)).unwrap();
    }
    let unrun = pool.shutdown_now();
    assert_eq!((unrun.len(), drops.count()), (10, 0));
    drop(unrun);
    assert_eq!(drops.count(), 10);
    blocker.release();
    drop(pool);
    factory.await_live(0);
}
