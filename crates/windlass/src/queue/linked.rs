//! The default work queue: first in, first out, with or without a fixed bound.

use super::error::CapacityError;
use super::parts::block_list::BlockList;
use super::parts::delegate::delegate_queue;
use super::parts::two_lock::{CapacityMode, TwoLockQueue};

/// A first-in-first-out queue, unbounded or with a bound that cannot be changed.
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
pub struct LinkedBlockingQueue<T: Send>(TwoLockQueue<BlockList<T>>);

impl<T: Send> LinkedBlockingQueue<T> {
    /// Creates a queue without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::bounded(None)
    }

    /// Creates a queue with room for `capacity` elements.
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
            CapacityMode::Fixed,
        ))
    }

    /// Offers the element that `make` returns, created in its slot. Returns `make` if there is no
    /// room.
    #[inline(always)]
    pub(crate) fn offer_with<M: FnOnce() -> T>(&self, make: M) -> Result<(), M> {
        self.0.offer_with(make)
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
        items
            .into_iter()
            .for_each(|item| queue.0.push_unbounded(item));
        queue
    }
}

delegate_queue!(LinkedBlockingQueue<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use super::LinkedBlockingQueue;
    use crate::queue::parts::scenarios;
    use crate::sync::model;

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| scenarios::every_element_finds_a_taker(LinkedBlockingQueue::new()));
    }

    #[test]
    fn a_putter_gets_the_place_that_a_taker_frees() {
        model(|| {
            scenarios::a_freed_place_finds_its_putter(
                LinkedBlockingQueue::with_capacity(1).unwrap(),
            );
        });
    }

    #[test]
    fn an_interrupted_taker_strands_neither_an_element_nor_another_taker() {
        model(|| scenarios::an_interrupted_taker_strands_nobody(LinkedBlockingQueue::new()));
    }

    #[test]
    fn an_interrupted_putter_strands_neither_a_place_nor_another_putter() {
        model(|| {
            scenarios::an_interrupted_putter_strands_nobody(
                LinkedBlockingQueue::with_capacity(1).unwrap(),
            );
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| scenarios::a_taker_sees_what_came_before_the_put(LinkedBlockingQueue::new()));
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(
                LinkedBlockingQueue::new(),
            );
        });
    }
}
