//! The everyday work queue: first in, first out, with or without a fixed bound.

use std::fmt;
use std::time::Duration;

use super::two_lock::{Bound, TwoLock};
use super::{BlockingQueue, CapacityError, PutError, Waiting};
use crate::interrupt::Interrupted;

/// A first-in-first-out queue, unbounded or with a bound that is fixed for its life.
///
/// Producers and consumers use different locks. For a bound that can be changed while the queue
/// is in use see [`ResizableBlockingQueue`](super::ResizableBlockingQueue).
///
/// A pending interrupt ends `take`, `put` and the timed calls even where they need not wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
///
/// let queue = LinkedBlockingQueue::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| queue.put("hello").unwrap());
///     assert_eq!(queue.take().unwrap(), "hello");
/// });
/// assert_eq!(queue.remaining_capacity(), None);
/// ```
pub struct LinkedBlockingQueue<T: Send>(TwoLock<T>);

impl<T: Send> LinkedBlockingQueue<T> {
    /// Makes a queue without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self(TwoLock::new(None, Bound::Fixed))
    }

    /// Makes a queue with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Self(TwoLock::new(Some(capacity), Bound::Fixed)))
    }
}

impl<T: Send> Default for LinkedBlockingQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for LinkedBlockingQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let queue = Self::new();
        items.into_iter().for_each(|item| queue.0.append(item));
        queue
    }
}

delegate_queue!(LinkedBlockingQueue<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::LinkedBlockingQueue;
    use crate::interrupt;
    use crate::queue::BlockingQueue;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use crate::sync::{model, thread};

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| {
            let queue = Arc::new(LinkedBlockingQueue::new());
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let queue = Arc::clone(&queue);
                    thread::Builder::new()
                        .spawn(move || queue.take().unwrap())
                        .unwrap()
                })
                .collect();
            queue.offer(1).unwrap();
            queue.offer(2).unwrap();
            let sum: u32 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
            assert_eq!(sum, 3);
        });
    }

    #[test]
    fn a_putter_gets_the_place_that_a_taker_frees() {
        model(|| {
            let queue = Arc::new(LinkedBlockingQueue::with_capacity(1).unwrap());
            queue.offer(1).unwrap();
            let putter = {
                let queue = Arc::clone(&queue);
                thread::Builder::new()
                    .spawn(move || queue.put(2).unwrap())
                    .unwrap()
            };
            assert_eq!(queue.take(), Ok(1));
            assert_eq!(queue.take(), Ok(2));
            putter.join().unwrap();
            assert_eq!(queue.len(), 0);
        });
    }

    #[test]
    fn an_interrupted_taker_strands_neither_an_element_nor_another_taker() {
        model(|| {
            let queue = Arc::new(LinkedBlockingQueue::new());
            let me = interrupt::current();
            let taker = {
                let queue = Arc::clone(&queue);
                thread::Builder::new().spawn(move || queue.take()).unwrap()
            };
            let interrupter = {
                let queue = Arc::clone(&queue);
                let body = move || {
                    queue.offer(1).unwrap();
                    me.interrupt();
                };
                thread::Builder::new().spawn(body).unwrap()
            };
            // If the interrupted thread has the element, the other taker needs one more.
            if queue.take().is_ok() {
                queue.offer(2).unwrap();
            }
            assert!(taker.join().unwrap().is_ok());
            interrupter.join().unwrap();
            let _ = interrupt::interrupted();
            assert_eq!(queue.len(), 0);
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| {
            let queue = Arc::new(LinkedBlockingQueue::new());
            let note = Arc::new(AtomicUsize::new(0));
            let theirs = (Arc::clone(&queue), Arc::clone(&note));
            let producer = thread::Builder::new().spawn(move || {
                // Relaxed: only the queue can make this visible.
                theirs.1.store(7, Ordering::Relaxed);
                theirs.0.put('x')
            });
            assert_eq!(queue.take(), Ok('x'));
            assert_eq!(note.load(Ordering::Relaxed), 7);
            producer.unwrap().join().unwrap().unwrap();
        });
    }
}
