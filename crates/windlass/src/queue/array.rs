//! A bounded queue in memory that is allocated once.
//!
//! An unfair queue has a lock and a ring at each end. A fair queue has one lock and one ring: only
//! a lock that guards all waiting threads can serve them in order of arrival.

use std::collections::VecDeque;

use super::blocking_queue::BlockingQueue;
use super::error::CapacityError;
use super::fairness::Fairness;
use super::parts::delegate::delegate_queue;
use super::parts::fair_ring::FairRing;
use super::parts::two_lock::{CapacityMode, TwoLockQueue};

/// A bounded first-in-first-out queue whose memory for elements is allocated once, on creation.
///
/// With [`Fairness::Fair`], threads that wait for room or for an element are served in order of
/// arrival, and a newcomer cannot overtake them.
///
/// An unfair queue has a lock and a ring of `capacity` places for producers, and another for
/// consumers, so that they do not contend. It takes memory for twice `capacity` elements.
///
/// A pending interrupt ends `take`, `put` and the timed calls even where they need not wait.
///
/// ```
/// use windlass::queue::{ArrayBlockingQueue, BlockingQueue};
///
/// let queue = ArrayBlockingQueue::new(2).unwrap();
/// queue.offer("first").unwrap();
/// queue.offer("second").unwrap();
/// assert!(queue.offer("third").unwrap_err().is_full());
/// assert_eq!(queue.take().unwrap(), "first");
/// ```
pub struct ArrayBlockingQueue<T: Send>(Rings<T>);

#[expect(
    clippy::large_enum_variant,
    reason = "a box would cost the unfair queue, the usual one, an indirection with each element"
)]
enum Rings<T: Send> {
    Fair(FairRing<T>),
    Unfair(TwoLockQueue<VecDeque<T>>),
}

impl<T: Send> ArrayBlockingQueue<T> {
    /// Creates a queue with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`], or [`CapacityError::TooLarge`] if there is no memory for `capacity`
    /// elements.
    pub fn new(capacity: usize) -> Result<Self, CapacityError> {
        Self::with_fairness(capacity, Fairness::Unfair)
    }

    /// Creates a queue with room for `capacity` elements and this fairness.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_fairness(capacity: usize, fairness: Fairness) -> Result<Self, CapacityError> {
        Self::from_elements(capacity, fairness, [])
    }

    /// Creates a queue with room for `capacity` elements that holds `elements`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), or [`CapacityError::TooManyElements`] if they do not fit.
    pub fn from_elements(
        capacity: usize,
        fairness: Fairness,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        // The rings are never filled beyond this capacity, so they do not grow.
        let ring = || {
            let mut ring = VecDeque::new();
            match ring.try_reserve_exact(capacity) {
                Ok(()) => Ok(ring),
                Err(_) => Err(CapacityError::TooLarge),
            }
        };
        let mut items = ring()?;
        for element in elements {
            if items.len() == capacity {
                return Err(CapacityError::TooManyElements);
            }
            items.push_back(element);
        }
        Ok(Self(match fairness {
            Fairness::Fair => Rings::Fair(FairRing::new(items, capacity)),
            Fairness::Unfair => {
                let capacity = Some(capacity);
                Rings::Unfair(TwoLockQueue::new(
                    items,
                    ring()?,
                    capacity,
                    CapacityMode::Fixed,
                ))
            }
        }))
    }

    /// Returns the fairness that this queue was created with.
    #[must_use]
    pub const fn fairness(&self) -> Fairness {
        match self.0 {
            Rings::Fair(_) => Fairness::Fair,
            Rings::Unfair(_) => Fairness::Unfair,
        }
    }

    #[inline]
    fn rings(&self) -> &dyn BlockingQueue<T> {
        match &self.0 {
            Rings::Fair(queue) => queue,
            Rings::Unfair(queue) => queue,
        }
    }
}

delegate_queue!(ArrayBlockingQueue<T>, |queue| queue.rings());

#[cfg(test)]
mod models {
    use super::ArrayBlockingQueue;
    use crate::queue::Fairness;
    use crate::queue::parts::scenarios;
    use crate::sync::model;

    fn queue(capacity: usize, fairness: Fairness) -> ArrayBlockingQueue<u32> {
        ArrayBlockingQueue::with_fairness(capacity, fairness).unwrap()
    }

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| scenarios::every_element_finds_a_taker(queue(2, Fairness::Unfair)));
    }

    #[test]
    fn every_element_of_a_fair_queue_finds_a_taker() {
        model(|| scenarios::every_element_finds_a_taker(queue(2, Fairness::Fair)));
    }

    #[test]
    fn a_putter_gets_the_place_that_a_taker_frees() {
        model(|| scenarios::a_freed_place_finds_its_putter(queue(1, Fairness::Unfair)));
    }

    #[test]
    fn a_putter_of_a_fair_queue_gets_the_place_that_a_taker_frees() {
        model(|| scenarios::a_freed_place_finds_its_putter(queue(1, Fairness::Fair)));
    }

    #[test]
    fn an_interrupted_putter_passes_its_place_on() {
        model(|| scenarios::an_interrupted_putter_strands_nobody(queue(1, Fairness::Unfair)));
    }

    #[test]
    fn an_interrupted_putter_of_a_fair_queue_passes_its_place_on() {
        model(|| scenarios::an_interrupted_putter_strands_nobody(queue(1, Fairness::Fair)));
    }

    #[test]
    fn an_interrupted_taker_of_a_fair_queue_passes_its_element_on() {
        model(|| scenarios::an_interrupted_taker_strands_nobody(queue(2, Fairness::Fair)));
    }

    #[test]
    fn places_freed_together_let_in_as_many_putters_of_a_fair_queue() {
        model(|| scenarios::places_freed_together_let_in_as_many_putters(queue(2, Fairness::Fair)));
    }

    #[test]
    fn no_newcomer_takes_the_element_of_a_waiting_taker() {
        model(|| {
            scenarios::no_newcomer_takes_the_element_of_a_waiting_taker(queue(1, Fairness::Fair));
        });
    }

    #[test]
    fn no_newcomer_gets_the_place_of_a_waiting_putter() {
        model(|| {
            scenarios::no_newcomer_gets_the_place_of_a_waiting_putter(queue(1, Fairness::Fair));
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| scenarios::a_taker_sees_what_came_before_the_put(queue(1, Fairness::Unfair)));
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(queue(
                1,
                Fairness::Unfair,
            ));
        });
    }

    #[test]
    fn an_element_of_a_fair_queue_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(queue(
                1,
                Fairness::Fair,
            ));
        });
    }
}
