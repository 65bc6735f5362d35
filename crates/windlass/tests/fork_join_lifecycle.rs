//! How a work-stealing pool is ended.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::error::{Cancellation, ExecutionError, RejectionReason};
use windlass::forkjoin::{Cx, ForkHandle, ForkJoinPool, RecursiveTask};
use windlass::task::{Task, TaskHandle};
use windlass::testing::{Gate, PATIENCE, join, until, within_patience};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Submit, interrupt};

struct Unit;

impl RecursiveTask for Unit {
    type Output = ();
    fn compute(self, _cx: &Cx<'_>) {}
}

fn held() -> (ForkJoinPool, Gate) {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    (pool, gate)
}

/// FJP-005
#[test]
fn await_termination_waits_its_time_and_is_true_after_shutdown() {
    let pool = ForkJoinPool::new(1).unwrap();
    assert_eq!(pool.await_termination(Duration::ZERO), Ok(false));
    let (clock, limit) = (TestClock::new(), Duration::from_secs(5));
    let (theirs, waited) = (clock.clone(), pool.clone());
    let waiter = interrupt::spawn(move || theirs.enter(|| waited.await_termination(limit)));
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(limit - Duration::from_nanos(1));
    assert_eq!(clock.sleepers(), 1);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(join("the waiter", waiter), Ok(false));
    pool.shutdown();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert!(pool.is_terminated());
}

/// FJP-006
#[test]
fn a_worker_that_panics_at_its_start_does_not_block_termination() {
    #[derive(Debug)]
    struct Dying(AtomicUsize);
    impl ThreadFactory for Dying {
        fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
            if self.0.fetch_add(1, Ordering::SeqCst) > 0 {
                return Err(io::Error::other("no second thread"));
            }
            let thread = thread::Builder::new().spawn(move || {
                let _body = body;
                std::panic::resume_unwind(Box::new("at the start"));
            });
            thread.map(drop)
        }
    }
    let factory = Arc::new(Dying(AtomicUsize::new(0)));
    let pool = ForkJoinPool::builder()
        .parallelism(1)
        .thread_factory(factory)
        .build()
        .unwrap();
    // The thread dies before the factory returns, or after that.
    match pool.submit(|| ()) {
        Err(refused) => assert_eq!(refused.reason(), RejectionReason::NoThread),
        Ok(task) => {
            until("the task's end", || task.is_done());
            assert_eq!(reason(task), Cancellation::NoThread);
        }
    }
    assert!(pool.shutdown_now().is_empty());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// FJP-009, FJP-036
#[test]
fn after_shutdown_submissions_are_rejected_while_accepted_work_completes() {
    let (pool, gate) = held();
    let mut queued = pool.submit(|| 5).unwrap();
    pool.shutdown();
    assert!(pool.is_shutdown() && !pool.is_terminated());
    assert!(pool.execute(|| ()).is_err());
    assert!(pool.submit(|| ()).is_err());
    let (task, handle) = pool.fork(Unit).unwrap_err().into_parts();
    assert!(!handle.is_done());
    task.run();
    handle.join().unwrap();
    assert!(pool.external_submit(Task::new(|| ())).is_err());
    assert!(pool.lazy_submit(Task::new(|| ())).is_err());
    gate.open();
    assert_eq!(queued.get().unwrap(), 5);
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// FJP-009
#[test]
fn tasks_in_progress_fork_and_join_after_shutdown() {
    struct Splits(u32);
    impl RecursiveTask for Splits {
        type Output = u32;
        fn compute(self, cx: &Cx<'_>) -> u32 {
            if self.0 == 0 {
                return 1;
            }
            let fork = cx.fork(Splits(self.0 - 1));
            fork.join().unwrap() + Splits(self.0 - 1).compute(cx)
        }
    }
    let (pool, gate) = held();
    let task = pool.fork(Splits(6)).unwrap();
    pool.shutdown();
    gate.open();
    assert_eq!(task.join().unwrap(), 64);
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// FJP-035
#[test]
fn close_finishes_all_submitted_work() {
    let pool = ForkJoinPool::new(2).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let count = Arc::clone(&count);
        pool.execute(move || {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    }
    pool.close();
    assert!(pool.is_terminated());
    assert_eq!(count.load(Ordering::SeqCst), 100);
    pool.close();
}

/// FJP-037
#[test]
fn shutdown_now_hands_back_what_is_queued_and_interrupts_what_runs() {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let (inside, spawner) = (gate.clone(), pool.clone());
    let mut running = pool.submit(move || {
        let forked = spawner.submit(|| 1).unwrap();
        assert!(inside.pass().is_err());
        forked
    });
    gate.await_waiting(1);
    let mut queued = pool.submit(|| 2).unwrap();
    let dropped = pool.submit(|| 3).unwrap();
    let unstarted = pool.shutdown_now();
    assert_eq!(unstarted.len(), 3);
    let mut forked = running.as_mut().unwrap().get().unwrap();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert!(!queued.is_done() && !forked.is_done() && !dropped.is_done());
    for task in unstarted {
        if task.id() != dropped.id() {
            task.run();
        }
    }
    assert_eq!((forked.get().unwrap(), queued.get().unwrap()), (1, 2));
    assert_eq!(reason(dropped), Cancellation::Drained);
}

fn reason<T: Send + 'static>(mut handle: TaskHandle<T>) -> Cancellation {
    match handle.get() {
        Err(ExecutionError::Cancelled(reason)) => reason,
        _ => panic!("the task was not cancelled"),
    }
}

/// FJP-037
#[test]
fn a_task_that_was_handed_back_runs_without_its_pool() {
    struct Splits;
    impl RecursiveTask for Splits {
        type Output = u32;
        fn compute(self, cx: &Cx<'_>) -> u32 {
            let (a, ()) = cx.join(Leaf, Unit);
            a + cx.fork(Leaf).join().unwrap()
        }
    }
    struct Leaf;
    impl RecursiveTask for Leaf {
        type Output = u32;
        fn compute(self, _cx: &Cx<'_>) -> u32 {
            1
        }
    }
    let (pool, gate) = held();
    let handle = pool.fork(Splits).unwrap();
    let unstarted = pool.shutdown_now();
    gate.open();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    unstarted.into_iter().for_each(Task::run);
    assert_eq!(handle.join().unwrap(), 2);
}

/// FJP-037
#[test]
fn what_is_forked_after_shutdown_now_and_not_joined_is_cancelled_by_it() {
    struct Forks(Gate);
    impl RecursiveTask for Forks {
        type Output = ForkHandle<()>;
        fn compute(self, cx: &Cx<'_>) -> ForkHandle<()> {
            assert!(self.0.pass().is_err());
            cx.fork(Unit)
        }
    }
    let (pool, gate) = (ForkJoinPool::new(1).unwrap(), Gate::new());
    let running = pool.fork(Forks(gate.clone())).unwrap();
    gate.await_waiting(1);
    assert!(pool.shutdown_now().is_empty());
    let forked = running.join().unwrap();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert_eq!(reason(forked.into_handle()), Cancellation::Shutdown);
}

/// A pool that never gets a thread can be dropped with what it was given.
#[test]
fn what_a_dropped_pool_could_not_run_is_cancelled_by_it() {
    #[derive(Debug)]
    struct NoThreads;
    impl ThreadFactory for NoThreads {
        fn new_thread(&self, _body: ThreadBody) -> io::Result<()> {
            Err(io::Error::other("no thread"))
        }
    }
    let builder = ForkJoinPool::builder().parallelism(1);
    let pool = builder.thread_factory(Arc::new(NoThreads)).build().unwrap();
    let (task, handle) = Task::with_handle(|| ());
    pool.lazy_submit(task).unwrap();
    drop(pool);
    assert_eq!(reason(handle), Cancellation::NoThread);
}

/// FJP-021
#[test]
fn shutdown_now_releases_every_blocked_caller() {
    let (pool, gate) = held();
    let mut waiting = pool.submit(|| ()).unwrap();
    let getter = interrupt::spawn(move || waiting.get().is_err());
    let all = pool.clone();
    let all = interrupt::spawn(move || match all.invoke_all((0..3).map(|_| || ())) {
        Ok(handles) => handles.iter().all(|handle| handle.is_done()),
        Err(_) => true,
    });
    let any = pool.clone();
    let any = interrupt::spawn(move || {
        any.invoke_any_fallible((0..3).map(|_| || Ok::<_, io::Error>(())))
            .is_err()
    });
    until("submissions", || pool.stats().queued_submission_count >= 5);
    drop(pool.shutdown_now());
    assert!(join("get", getter));
    assert!(join("invoke_all", all));
    assert!(join("invoke_any", any));
    gate.open();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// FJP-036
#[test]
fn a_pool_ends_whenever_it_is_shut_down() {
    within_patience("rounds of shutdown", || {
        for round in 0..300 {
            let pool = ForkJoinPool::new(1 + round % 4).unwrap();
            let accepted = Arc::new(AtomicUsize::new(0));
            let submitter = {
                let (pool, accepted) = (pool.clone(), Arc::clone(&accepted));
                thread::spawn(move || {
                    let task = || {
                        let accepted = Arc::clone(&accepted);
                        pool.submit(move || {
                            accepted.fetch_add(1, Ordering::SeqCst);
                        })
                    };
                    (0..20).map_while(|_| task().ok()).count()
                })
            };
            pool.shutdown();
            assert_eq!(pool.await_termination(PATIENCE), Ok(true));
            assert_eq!(submitter.join().unwrap(), accepted.load(Ordering::SeqCst));
        }
    });
}

/// Dropping the last handle is a shutdown without waiting.
#[test]
fn a_pool_that_is_dropped_finishes_what_it_has() {
    let pool = ForkJoinPool::new(1).unwrap();
    let mut task = pool.submit(|| 8).unwrap();
    drop(pool);
    assert_eq!(task.get_timeout(PATIENCE).unwrap(), 8);
}
