//! A pool with a queue whose waits an interrupt does not end.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use threads::{Counting, await_size, finish};
use windlass::interrupt::Interrupted;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue, PutError};
use windlass::task::Task;
use windlass::testing::{PATIENCE, until};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

/// A queue that does not wait itself, and stops a worker just before it would, where told to.
#[derive(Default)]
struct Deaf {
    tasks: LinkedBlockingQueue<Task>,
    polls: AtomicUsize,
    stop_before_wait: Option<Arc<Barrier>>,
}

impl BlockingQueue<Task> for Deaf {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.tasks.offer(task)
    }

    fn offer_timeout(&self, task: Task, _timeout: Duration) -> Result<(), PutError<Task>> {
        self.tasks.offer(task)
    }

    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.tasks.offer(task)
    }

    fn poll(&self) -> Option<Task> {
        self.tasks.poll()
    }

    fn poll_timeout(&self, _timeout: Duration) -> Result<Option<Task>, Interrupted> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        Ok(self.tasks.poll())
    }

    fn take(&self) -> Result<Task, Interrupted> {
        unreachable!("nobody could end this wait")
    }

    fn drain(&self, max: usize) -> Vec<Task> {
        self.tasks.drain(max)
    }

    fn drain_all(&self) -> Vec<Task> {
        self.tasks.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        self.tasks.remove_first(wanted)
    }

    fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
        self.tasks.retain(keep)
    }

    fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.tasks.for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&Task)) {
        self.tasks.peek(f);
    }

    fn len(&self) -> usize {
        self.tasks.len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.tasks.remaining_capacity()
    }

    fn is_interruptible(&self) -> bool {
        if let Some(barrier) = &self.stop_before_wait {
            barrier.wait();
            barrier.wait();
        }
        false
    }
}

fn pool_over(queue: &Arc<Deaf>, core: usize, threads: &Counting) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .keep_alive(Duration::MAX)
        .work_queue(Arc::clone(queue))
        .thread_factory(threads.clone())
        .build()
        .unwrap()
}

/// Waits until workers have polled the queue, in vain, a few times more.
fn await_polls(queue: &Deaf) {
    let before = queue.polls.load(Ordering::SeqCst);
    until("polls", || queue.polls.load(Ordering::SeqCst) >= before + 8);
}

/// TPE-059
#[test]
fn a_worker_that_waits_in_slices_sees_tasks_shutdown_and_stop() {
    for at_once in [false, true] {
        let (queue, threads) = (Arc::new(Deaf::default()), Counting::default());
        let pool = pool_over(&queue, 2, &threads);
        assert_eq!(pool.prestart_all_core_threads(), 2);
        await_polls(&queue);
        assert_eq!(pool.submit(|| 4).unwrap().get().unwrap(), 4);
        if at_once {
            assert!(pool.shutdown_now().is_empty());
        }
        finish(&pool);
        threads.await_live(0);
        assert_eq!(threads.created(), 2);
    }
}

/// TPE-059
#[test]
fn a_stop_between_the_last_look_and_the_wait_is_seen() {
    let barrier = Arc::new(Barrier::new(2));
    let queue = Arc::new(Deaf {
        stop_before_wait: Some(Arc::clone(&barrier)),
        ..Deaf::default()
    });
    let pool = pool_over(&queue, 1, &Counting::default());
    assert!(pool.prestart_core_thread());
    barrier.wait();
    assert!(pool.shutdown_now().is_empty());
    barrier.wait();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// TPE-062, TPE-063
#[test]
fn a_worker_that_waits_in_slices_sees_new_settings() {
    let (queue, threads) = (Arc::new(Deaf::default()), Counting::default());
    let pool = pool_over(&queue, 3, &threads);
    assert_eq!(pool.prestart_all_core_threads(), 3);
    await_polls(&queue);
    pool.set_core_pool_size(1).unwrap();
    pool.set_maximum_pool_size(2).unwrap();
    await_size(&pool, 2);
    pool.set_keep_alive(Duration::from_nanos(1)).unwrap();
    await_size(&pool, 1);
    finish(&pool);
}
