//! Waiting for threads: until they wait on a queue, or until they have ended.

use super::patience::{PATIENCE, join_within, until};
use crate::interrupt::JoinHandle;
use crate::queue::{BlockingQueue, Waiting};

/// Waits until exactly `count` threads wait on the queue for an element.
///
/// # Panics
///
/// If they do not within [`PATIENCE`].
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
    until("takers that wait", || waiting(queue).takers == count);
}

/// Waits until exactly `count` threads wait on the queue for room or for a receipt.
///
/// # Panics
///
/// If they do not within [`PATIENCE`].
pub fn await_putters<T: Send>(queue: &(impl BlockingQueue<T> + ?Sized), count: usize) {
    until("putters that wait", || waiting(queue).putters == count);
}

fn waiting<T: Send>(queue: &(impl BlockingQueue<T> + ?Sized)) -> Waiting {
    queue
        .waiting()
        .expect("this queue does not count who waits")
}

/// Waits for a thread to end. Returns its value.
///
/// # Panics
///
/// If it does not end within [`PATIENCE`] (the thread is left behind), or
/// panicked itself.
#[expect(clippy::must_use_candidate, reason = "many threads have no value")]
pub fn join<T>(what: &str, thread: JoinHandle<T>) -> T {
    join_within(PATIENCE, what, thread)
}
