//! Waiting for threads: until they wait on a queue, or until they have ended.

use super::{PATIENCE, join_within, until};
use crate::interrupt::JoinHandle;
use crate::queue::{BlockingQueue, Waiting};

/// Waits until exactly `count` threads wait on the queue for an element.
///
/// # Panics
///
/// If it does not come to that within [`PATIENCE`].
///
/// ```
/// use windlass::queue::{BlockingQueue, SynchronousQueue};
/// use windlass::testing::await_takers;
///
/// let queue = SynchronousQueue::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| queue.take().unwrap());
///     await_takers(&queue, 1);
///     assert!(queue.offer("somebody is there").is_ok());
/// });
/// ```
pub fn await_takers<T: Send>(queue: &(impl BlockingQueue<T> + ?Sized), count: usize) {
    until("takers that wait", || figures(queue).takers == count);
}

/// Waits until exactly `count` threads wait on the queue for room or for a receipt.
///
/// # Panics
///
/// If it does not come to that within [`PATIENCE`].
pub fn await_putters<T: Send>(queue: &(impl BlockingQueue<T> + ?Sized), count: usize) {
    until("putters that wait", || figures(queue).putters == count);
}

fn figures<T: Send>(queue: &(impl BlockingQueue<T> + ?Sized)) -> Waiting {
    queue
        .waiting()
        .expect("this queue does not count who waits")
}

/// Waits for a thread to end and gives its value.
///
/// # Panics
///
/// If it does not end within [`PATIENCE`] (the thread is left behind), or
/// panicked itself.
#[expect(clippy::must_use_candidate, reason = "many a thread has no value")]
pub fn join<T>(what: &str, thread: JoinHandle<T>) -> T {
    join_within(PATIENCE, what, thread)
}
