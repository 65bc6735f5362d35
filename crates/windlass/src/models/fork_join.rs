//! Fork-join pools: what is submitted, forked and joined, racing with their end and their settings.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Ledger, Rendezvous, producers, spawn, submit_tasks_that_meet};
use crate::executor::ExecutorService;
use crate::forkjoin::{Cx, ForkJoinPool, RecursiveTask, blocking, join};
use crate::scheduled::Schedule;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::model;
use crate::task::TaskHandle;
use crate::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};

fn pool(parallelism: usize) -> ForkJoinPool {
    ForkJoinPool::new(parallelism).unwrap()
}

/// Splits itself into a tree with this many levels; the sum of its leaves.
struct Tree(u32);

impl RecursiveTask for Tree {
    type Output = u32;

    fn compute(self, cx: &Cx<'_>) -> u32 {
        if self.0 == 0 {
            return 1;
        }
        let left = cx.fork(Tree(self.0 - 1));
        Tree(self.0 - 1).compute(cx) + left.join().unwrap()
    }
}

#[test]
fn submissions_from_several_threads_and_a_shutdown() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            theirs.1.execute_some(&theirs.0, 1);
            theirs.1.submit(&theirs.0, || ());
        });
        closer.join().unwrap();
        let account = ledger.close_fork_join(&pool);
        assert_eq!(account.ran, account.sent - account.refused);
    });
}

#[test]
fn submissions_from_several_threads_and_a_stop() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let stopper = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            for _ in 0..2 {
                theirs.1.submit(&theirs.0, || ());
            }
        });
        stopper.join().unwrap();
        // Each was rejected, returned or run; none is cancelled.
        assert_eq!(ledger.close_fork_join(&pool).unrun, 0);
    });
}

#[test]
fn a_delayed_task_that_meets_a_shutdown_is_refused_or_runs_before_the_end() {
    model(|| {
        let pool = pool(1);
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        let delayed = pool.schedule(Duration::ZERO, || 5).ok();
        closer.join().unwrap();
        assert_eq!(pool.await_termination(Duration::MAX), Ok(true));
        if let Some(mut accepted) = delayed {
            assert_eq!(accepted.try_get().unwrap().unwrap(), 5);
        }
    });
}

#[test]
fn a_delayed_task_that_meets_a_stop_is_refused_cancelled_or_run() {
    model(|| {
        let pool = pool(1);
        let theirs = pool.clone();
        let stopper = spawn(move || drop(theirs.shutdown_now()));
        let delayed = pool.schedule(Duration::ZERO, || 5).ok();
        stopper.join().unwrap();
        assert_eq!(pool.await_termination(Duration::MAX), Ok(true));
        assert!(delayed.is_none_or(|accepted| accepted.is_done()));
    });
}

#[test]
fn no_task_waits_while_a_worker_sleeps() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        submit_tasks_that_meet(&pool, &ledger);
        assert_eq!(ledger.close_fork_join(&pool).ran, 4);
    });
}

#[test]
fn what_a_task_submits_to_its_own_pool_finds_the_other_worker() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let rendezvous = Rendezvous::of(2);
        let theirs = (pool.clone(), ledger.clone());
        let parent = ledger.submit(&pool, move || {
            theirs.1.submit(&theirs.0, rendezvous.participant());
            rendezvous.arrive();
        });
        parent.wait().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 2);
    });
}

#[test]
fn a_tree_grows_beside_submissions() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        assert_eq!(pool.invoke(Tree(2)), 4);
        producer.join().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 2);
    });
}

#[test]
fn a_tree_that_was_taken_grows_to_its_end_after_a_shutdown() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        let tree = pool.fork(Tree(2));
        closer.join().unwrap();
        ledger.close_fork_join(&pool);
        if let Ok(mut tree) = tree {
            assert_eq!(tree.get().unwrap(), 4);
        }
    });
}

#[test]
fn both_halves_of_a_join_are_done_whoever_stops_the_pool() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = pool.clone();
        let stopper = spawn(move || drop(theirs.shutdown_now()));
        let body = {
            let ledger = ledger.clone();
            move || join(ledger.body(|| ()), ledger.body(|| ()))
        };
        pool.install(body);
        stopper.join().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 2);
    });
}

#[test]
fn a_scope_ends_with_all_it_spawned_whoever_shuts_the_pool_down() {
    model(|| {
        let (pool, ledger) = (pool(1), Ledger::default());
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        pool.scope(|scope| {
            scope.spawn(ledger.body(|| ()));
            scope.spawn(ledger.body(|| ()));
        });
        assert_eq!(
            ledger
                .0
                .lock()
                .sent
                .iter()
                .map(super::Entry::runs)
                .sum::<u64>(),
            2
        );
        closer.join().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 2);
    });
}

#[test]
fn workers_that_leave_at_once_leave_nothing_behind() {
    model(|| {
        let builder = ForkJoinPool::builder().parallelism(2);
        let (pool, ledger) = (
            builder.keep_alive(Duration::ZERO).build().unwrap(),
            Ledger::default(),
        );
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            for _ in 0..2 {
                theirs.1.submit(&theirs.0, || ()).wait().unwrap();
            }
        });
        assert_eq!(ledger.close_fork_join(&pool).ran, 4);
    });
}

#[test]
fn more_parallelism_runs_what_was_queued() {
    model(|| {
        let (pool, ledger) = (pool(1), Ledger::default());
        let rendezvous = Rendezvous::of(2);
        ledger.execute(&pool, rendezvous.participant());
        ledger.execute(&pool, rendezvous.participant());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 1));
        pool.set_parallelism(2).unwrap();
        producer.join().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 3);
    });
}

#[test]
fn a_worker_that_waits_makes_room_for_what_it_waits_for() {
    model(|| {
        let (pool, ledger) = (pool(1), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let parent = ledger.submit(&pool, move || {
            let child: Arc<TaskHandle<()>> = theirs.1.submit(&theirs.0, || ());
            blocking(|| child.wait().unwrap());
        });
        ledger.execute_some(&pool, 1);
        parent.wait().unwrap();
        assert_eq!(ledger.close_fork_join(&pool).ran, 3);
    });
}

#[test]
fn what_is_drained_is_handed_back_and_the_rest_is_run() {
    model(|| {
        let (pool, ledger) = (pool(1), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let drainer = spawn(move || {
            theirs.1.take_back(theirs.0.poll_submission());
            theirs.1.take_back(theirs.0.drain_tasks());
        });
        ledger.execute_some(&pool, 2);
        drainer.join().unwrap();
        ledger.close_fork_join(&pool);
    });
}

#[test]
fn quiescence_comes_when_all_is_done() {
    model(|| {
        let (pool, ledger) = (pool(2), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        ledger.execute_some(&pool, 1);
        assert!(pool.await_quiescence(Duration::MAX));
        producer.join().unwrap();
        assert!(pool.await_quiescence(Duration::MAX));
        let done = ledger
            .0
            .lock()
            .sent
            .iter()
            .map(super::Entry::runs)
            .sum::<u64>();
        assert_eq!(done, 3);
        assert_eq!(ledger.close_fork_join(&pool).ran, 3);
    });
}

/// A factory that fails the first time.
#[derive(Debug)]
struct LateStarter(AtomicUsize, DefaultThreadFactory);

impl ThreadFactory for LateStarter {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(io::ErrorKind::OutOfMemory.into()),
            _ => self.1.new_thread(body),
        }
    }
}

#[test]
fn a_thread_that_cannot_be_started() {
    model(|| {
        let factory = LateStarter(AtomicUsize::new(0), DefaultThreadFactory::named("model"));
        let builder = ForkJoinPool::builder().parallelism(2);
        let pool = builder.thread_factory(Arc::new(factory)).build().unwrap();
        let ledger = Ledger::default();
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            theirs.1.execute_some(&theirs.0, 2);
        });
        // Refused are at most those that come while the pool has no worker and gets no thread: one of
        // each producer.
        let account = ledger.close_fork_join(&pool);
        assert_eq!(account.ran + account.refused, 4);
        assert!(account.refused <= 2);
    });
}
