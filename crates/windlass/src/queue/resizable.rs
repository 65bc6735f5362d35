//! A first-in-first-out queue whose bound can be changed while it is in use.

use super::error::CapacityError;
use super::parts::block_list::BlockList;
use super::parts::delegate::delegate_queue;
use super::parts::two_lock::{CapacityMode, TwoLockQueue};

/// A first-in-first-out queue whose capacity can be changed at any time.
///
/// A larger bound wakes, at once, as many waiting putters as there is new room for. A smaller
/// one drops nothing: what is queued beyond it stays, in order, and nothing is inserted until
/// there are fewer elements than the bound.
///
/// A pending interrupt ends `take`, `put` and the timed calls even where they need not wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, ResizableBlockingQueue};
///
/// let queue = ResizableBlockingQueue::with_capacity(1).unwrap();
/// queue.offer('a').unwrap();
/// assert!(queue.offer('b').is_err());
/// assert_eq!(queue.set_capacity(2), Ok(Some(1)));
/// assert!(queue.offer('b').is_ok());
/// ```
#[doc(alias = "VariableLinkedBlockingQueue")]
pub struct ResizableBlockingQueue<T: Send>(TwoLockQueue<BlockList<T>>);

impl<T: Send> ResizableBlockingQueue<T> {
    /// Creates a queue without a bound; [`set_capacity`](super::BlockingQueue::set_capacity) sets
    /// one.
    #[must_use]
    pub fn new() -> Self {
        Self::bounded(None)
    }

    /// Creates a queue with room for `capacity` elements, until that is changed.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Self::bounded(Some(capacity)))
    }

    fn bounded(capacity: Option<usize>) -> Self {
        let [tail, empty] = Default::default();
        Self(TwoLockQueue::new(
            tail,
            empty,
            capacity,
            CapacityMode::Resizable,
        ))
    }
}

impl<T: Send> Default for ResizableBlockingQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for ResizableBlockingQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let queue = Self::new();
        items
            .into_iter()
            .for_each(|item| queue.0.push_unbounded(item));
        queue
    }
}

delegate_queue!(ResizableBlockingQueue<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::ResizableBlockingQueue;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::queue::{BlockingQueue, PutError};
    use crate::sync::model;

    fn full_queue() -> Arc<ResizableBlockingQueue<u32>> {
        let queue = Arc::new(ResizableBlockingQueue::with_capacity(1).unwrap());
        queue.offer(1).unwrap();
        queue
    }

    #[test]
    fn a_putter_that_waits_sees_the_larger_bound() {
        model(|| {
            let queue = full_queue();
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(2).unwrap());
            queue.set_capacity(2).unwrap();
            putter.join().unwrap();
            assert_eq!(queue.drain(9), [1, 2]);
        });
    }

    #[test]
    fn a_larger_bound_lets_in_as_many_putters_as_it_has_room_for() {
        model(|| {
            let queue = full_queue();
            let putters = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.put(2).unwrap())
            });
            queue.set_capacity(3).unwrap();
            for putter in putters {
                putter.join().unwrap();
            }
            assert_eq!(queue.drain(9), [1, 2, 2]);
        });
    }

    #[test]
    fn a_bound_that_shrinks_and_grows_again_loses_no_wake_up() {
        model(|| {
            let queue = full_queue();
            queue.set_capacity(2).unwrap();
            queue.offer(2).unwrap();
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(3).unwrap());
            let theirs = Arc::clone(&queue);
            let resizer = spawn(move || {
                theirs.set_capacity(1).unwrap();
                theirs.set_capacity(2).unwrap();
            });
            assert_eq!(queue.take(), Ok(1));
            putter.join().unwrap();
            resizer.join().unwrap();
            assert_eq!(queue.drain(9), [2, 3]);
        });
    }

    #[test]
    fn a_smaller_bound_holds_for_whoever_comes_after_it() {
        model(|| {
            let queue = Arc::new(ResizableBlockingQueue::with_capacity(2).unwrap());
            queue.offer(1).unwrap();
            let theirs = Arc::clone(&queue);
            let giver = spawn(move || theirs.offer(2).is_ok());
            queue.set_capacity(1).unwrap();
            assert_eq!(queue.offer(3), Err(PutError::Full(3)));
            let came_first = giver.join().unwrap();
            assert_eq!(queue.len(), 1 + usize::from(came_first));
        });
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(
                ResizableBlockingQueue::new(),
            );
        });
    }
}
