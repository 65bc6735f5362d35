//! A double-ended queue, with or without a bound.

use std::collections::VecDeque;
use std::time::Duration;

use super::discipline::Discipline;
use super::error::{CapacityError, PutError};
use super::fairness::Fairness;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::deque_discipline::DequeDiscipline;
use super::parts::interrupt_precedence::InterruptPrecedence;
use super::parts::wait_limit::WaitLimit;
use crate::interrupt::Interrupted;

/// A queue with insertion and removal at both ends.
///
/// As a [`BlockingQueue`](super::BlockingQueue) it inserts at the tail and removes at the head.
/// Both ends share one bound. An insertion or a removal at one end also serves a thread that waits
/// at the other.
///
/// A pending interrupt ends the timed calls even where they need not wait; `take` and `put` check
/// only when they have to wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, LinkedBlockingDeque};
///
/// let deque = LinkedBlockingDeque::new();
/// deque.offer_last(2).unwrap();
/// deque.offer_first(1).unwrap();
/// deque.offer_last(3).unwrap();
/// assert_eq!(deque.poll_last(), Some(3));
/// assert_eq!(deque.take().unwrap(), 1);
/// ```
pub struct LinkedBlockingDeque<T: Send>(Blocking<DequeDiscipline<T>>);

impl<T: Send> LinkedBlockingDeque<T> {
    /// Creates a deque without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::from_items(VecDeque::new(), None)
    }

    /// Creates a deque with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Self::from_items(VecDeque::new(), Some(capacity)))
    }

    fn from_items(items: VecDeque<T>, capacity: Option<usize>) -> Self {
        let discipline = DequeDiscipline { items, capacity };
        let precedence = InterruptPrecedence::Timed;
        let queue = Blocking::configured(discipline, Fairness::Unfair, precedence);
        Self(queue.admitting_all())
    }

    /// Places the element at the head if there is room right now.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`], with the element.
    #[doc(alias = "push")]
    #[doc(alias = "addFirst")]
    pub fn offer_first(&self, item: T) -> Result<(), PutError<T>> {
        self.0
            .insert(item, WaitLimit::NoWait, DequeDiscipline::push_front_from)
    }

    /// Places the element at the tail if there is room right now.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`], with the element.
    #[doc(alias = "addLast")]
    pub fn offer_last(&self, item: T) -> Result<(), PutError<T>> {
        self.0
            .insert(item, WaitLimit::NoWait, DequeDiscipline::push_from)
    }

    /// Places the element at the head, waiting for room no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`] or [`PutError::Interrupted`], with the element.
    pub fn offer_first_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.0.insert(
            item,
            WaitLimit::timeout(timeout),
            DequeDiscipline::push_front_from,
        )
    }

    /// Places the element at the tail, waiting for room no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`] or [`PutError::Interrupted`], with the element.
    pub fn offer_last_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.0.insert(
            item,
            WaitLimit::timeout(timeout),
            DequeDiscipline::push_from,
        )
    }

    /// Places the element at the head, waiting for room.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`], with the element.
    ///
    /// # Deadlocks
    ///
    /// Waits forever if no room becomes free and nobody interrupts.
    pub fn put_first(&self, item: T) -> Result<(), PutError<T>> {
        self.0
            .insert(item, WaitLimit::Forever, DequeDiscipline::push_front_from)
    }

    /// Places the element at the tail, waiting for room.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`], with the element.
    ///
    /// # Deadlocks
    ///
    /// Waits forever if no room becomes free and nobody interrupts.
    pub fn put_last(&self, item: T) -> Result<(), PutError<T>> {
        self.0
            .insert(item, WaitLimit::Forever, DequeDiscipline::push_from)
    }

    /// Removes the element at the head if there is one right now.
    #[doc(alias = "pop")]
    pub fn poll_first(&self) -> Option<T> {
        self.0
            .extract(WaitLimit::NoWait, DequeDiscipline::pop)
            .unwrap_or(None)
    }

    /// Removes the element at the tail if there is one right now.
    pub fn poll_last(&self) -> Option<T> {
        self.0
            .extract(WaitLimit::NoWait, DequeDiscipline::pop_back)
            .unwrap_or(None)
    }

    /// Removes the element at the head, waiting for one no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn poll_first_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.0
            .extract(WaitLimit::timeout(timeout), DequeDiscipline::pop)
    }

    /// Removes the element at the tail, waiting for one no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn poll_last_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.0
            .extract(WaitLimit::timeout(timeout), DequeDiscipline::pop_back)
    }

    /// Removes the element at the head, waiting for one.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    ///
    /// # Deadlocks
    ///
    /// Waits forever if nothing is inserted and nobody interrupts.
    pub fn take_first(&self) -> Result<T, Interrupted> {
        self.take_with(DequeDiscipline::pop)
    }

    /// Removes the element at the tail, waiting for one.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    ///
    /// # Deadlocks
    ///
    /// Waits forever if nothing is inserted and nobody interrupts.
    pub fn take_last(&self) -> Result<T, Interrupted> {
        self.take_with(DequeDiscipline::pop_back)
    }

    fn take_with(&self, pop: fn(&mut DequeDiscipline<T>) -> Option<T>) -> Result<T, Interrupted> {
        loop {
            if let Some(item) = self.0.extract(WaitLimit::Forever, pop)? {
                return Ok(item);
            }
        }
    }

    /// Calls `f` with the element at the head, if there is one.
    pub fn peek_first(&self, f: &mut dyn FnMut(&T)) {
        self.0
            .with(|state| (state.items.discipline.items.front().map(f), ()));
    }

    /// Calls `f` with the element at the tail, if there is one.
    pub fn peek_last(&self, f: &mut dyn FnMut(&T)) {
        self.0
            .with(|state| (state.items.discipline.items.back().map(f), ()));
    }

    /// Removes the element nearest to the tail for which `wanted` returns true.
    #[doc(alias = "removeLastOccurrence")]
    pub fn remove_last(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        self.0.remove_with(|deque| {
            let index = deque.items.iter().rposition(wanted)?;
            deque.remove_at(index)
        })
    }

    /// Calls `f` with every element, from the tail to the head.
    #[doc(alias = "descendingIterator")]
    pub fn for_each_rev(&self, f: &mut dyn FnMut(&T)) {
        self.0
            .with(|state| (state.items.discipline.items.iter().rev().for_each(f), ()));
    }
}

impl<T: Send> Default for LinkedBlockingDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for LinkedBlockingDeque<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from_items(items.into_iter().collect(), None)
    }
}

delegate_queue!(LinkedBlockingDeque<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::LinkedBlockingDeque;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::sync::model;

    #[test]
    fn an_element_at_one_end_reaches_a_taker_at_the_other() {
        model(|| {
            let deque = Arc::new(LinkedBlockingDeque::new());
            let theirs = Arc::clone(&deque);
            let taker = spawn(move || theirs.take_last().unwrap());
            deque.put_first(1).unwrap();
            assert_eq!(taker.join().unwrap(), 1);
        });
    }

    #[test]
    fn a_place_freed_at_one_end_reaches_a_putter_at_the_other() {
        model(|| {
            let deque = Arc::new(LinkedBlockingDeque::with_capacity(1).unwrap());
            deque.offer_last(1).unwrap();
            let theirs = Arc::clone(&deque);
            let putter = spawn(move || theirs.put_first(2).unwrap());
            assert!(deque.take_last().is_ok());
            putter.join().unwrap();
            assert_eq!(deque.poll_first(), Some(2));
        });
    }

    fn bounded(capacity: usize) -> LinkedBlockingDeque<u32> {
        LinkedBlockingDeque::with_capacity(capacity).unwrap()
    }

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| scenarios::every_element_finds_a_taker(bounded(2)));
    }

    #[test]
    fn an_interrupted_putter_passes_its_place_on() {
        model(|| scenarios::an_interrupted_putter_strands_nobody(bounded(1)));
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| scenarios::a_taker_sees_what_came_before_the_put(bounded(1)));
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| scenarios::an_element_is_counted_or_its_producer_sees_who_counts(bounded(1)));
    }
}
