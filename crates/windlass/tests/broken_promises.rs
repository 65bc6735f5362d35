//! Thread factories that say that a thread will run, and then none does.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use threads::{Counting, await_size, finish};
use windlass::pool::Builder;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue, SynchronousQueue};
use windlass::task::{Cancellation, ExecutionError};
use windlass::testing::PATIENCE;
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
}

/// A factory that says that all is well, and leaves the bodies to the test.
#[derive(Debug, Clone, Default)]
struct Hoarding(Arc<LinkedBlockingQueue<ThreadBody>>);

impl ThreadFactory for Hoarding {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.offer(body).unwrap();
        Ok(())
    }
}

impl Hoarding {
    fn next(&self) -> ThreadBody {
        self.0.poll().unwrap()
    }

    /// Drops the next body on another thread.
    fn drop_next(&self) {
        let body = self.next();
        thread::spawn(|| drop(body)).join().unwrap();
    }
}

/// A factory that says that all is well, and has every body dropped on another thread.
#[derive(Debug, Clone, Default)]
struct Forgetful(Arc<AtomicUsize>);

impl ThreadFactory for Forgetful {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        thread::Builder::new().spawn(|| drop(body)).map(drop)
    }
}

#[test]
fn a_promised_thread_counts_and_its_task_finds_another_way_when_it_does_not_come() {
    let factory = Hoarding::default();
    let pool = sized(1, 1).thread_factory(factory.clone()).build().unwrap();
    let mut handle = pool.submit(|| 8).unwrap();
    assert_eq!((pool.pool_size(), factory.0.len()), (1, 1));
    factory.drop_next();
    // By way of the queue, for which the factory was asked once more.
    assert_eq!((pool.queue().len(), factory.0.len()), (1, 1));
    let body = factory.next();
    let worker = thread::spawn(|| body.run());
    assert_eq!(handle.get().unwrap(), 8);
    finish(&pool);
    worker.join().unwrap();
}

#[test]
fn a_factory_that_keeps_no_promise_is_not_asked_for_ever() {
    for (queue, fate) in [
        (
            Arc::new(LinkedBlockingQueue::new()) as Arc<dyn BlockingQueue<_>>,
            Cancellation::NoThread,
        ),
        (Arc::new(SynchronousQueue::new()), Cancellation::Rejected),
    ] {
        let factory = Hoarding::default();
        let pool = sized(1, 2)
            .work_queue(queue)
            .thread_factory(factory.clone())
            .build()
            .unwrap();
        let mut handle = pool.submit(|| ()).unwrap();
        factory.drop_next();
        factory.drop_next();
        assert_eq!((factory.0.len(), pool.pool_size()), (0, 0));
        let stats = pool.stats();
        let abandoned = u64::from(fate == Cancellation::NoThread);
        assert_eq!(stats.abandoned_task_count, abandoned);
        assert_eq!((stats.refused_thread_count, stats.queue_len), (2, 0));
        assert!(pool.shutdown_now().is_empty());
        let outcome = handle.get().unwrap_err();
        assert!(matches!(outcome, ExecutionError::Cancelled(why) if why == fate));
        assert!(pool.is_terminated());
    }
}

#[test]
fn a_promise_that_is_broken_after_shutdown_does_not_cost_the_task() {
    let factory = Hoarding::default();
    let pool = sized(1, 1).thread_factory(factory.clone()).build().unwrap();
    let mut handle = pool.submit(|| 8).unwrap();
    pool.shutdown();
    assert!(pool.is_terminating());
    factory.drop_next();
    assert!(pool.is_terminating());
    let body = factory.next();
    let worker = thread::spawn(|| body.run());
    assert_eq!(handle.get().unwrap(), 8);
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    worker.join().unwrap();
}

#[test]
fn a_promise_that_is_broken_after_stop_ends_the_pool_and_cancels_the_task() {
    let factory = Hoarding::default();
    let pool = sized(1, 1).thread_factory(factory.clone()).build().unwrap();
    let handle = pool.submit(|| 8).unwrap();
    assert!(pool.shutdown_now().is_empty());
    assert!(pool.is_terminating());
    factory.drop_next();
    assert!(handle.is_cancelled());
    assert!(pool.is_terminated());
}

#[test]
fn prestarting_threads_that_do_not_come_ends_and_leaves_nobody_on_the_books() {
    for _ in 0..64 {
        let factory = Forgetful::default();
        let pool = sized(4, 4).thread_factory(factory.clone()).build().unwrap();
        // A body that is dropped before the factory's answer counts as refused.
        assert!(pool.prestart_all_core_threads() <= 4);
        assert!(factory.0.load(Ordering::SeqCst) <= 4);
        await_size(&pool, 0);
        finish(&pool);
    }
}

#[test]
fn a_body_that_is_leaked_costs_its_worker_and_its_task_and_no_other() {
    let factory = Hoarding::default();
    let pool = sized(2, 2).thread_factory(factory.clone()).build().unwrap();
    let leaked = pool.submit(|| ()).unwrap();
    std::mem::forget(factory.next());
    pool.set_thread_factory(Arc::new(Counting::default()));
    for _ in 0..8 {
        assert_eq!(pool.submit(|| 2).unwrap().get().unwrap(), 2);
    }
    pool.shutdown();
    await_size(&pool, 1);
    // Nobody can tell such a thread from one that is late: the pool goes on waiting for it.
    assert!(pool.is_terminating() && !leaked.is_done());
}
