//! A queue with two ends, with or without a bound.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::blocking::{Blocking, timed};
use super::line::Line;
use super::precedence::Precedence;
use super::{BlockingQueue, CapacityError, Discipline, Fairness, PutError, Waiting};
use crate::interrupt::Interrupted;
use crate::sync::Deadline;

/// A queue that can be filled and emptied at both ends.
///
/// As a [`BlockingQueue`] it is filled at the tail and emptied at the head. Both ends share one
/// bound, and a thread that waits at one end is served by what happens at the other.
///
/// A pending interrupt ends the timed calls even where they need not wait; `take` and `put` look
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
pub struct LinkedBlockingDeque<T: Send>(Blocking<Line<T>>);

impl<T: Send> LinkedBlockingDeque<T> {
    /// Makes a deque without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::from_ends(VecDeque::new(), None)
    }

    /// Makes a deque with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Self::from_ends(VecDeque::new(), Some(capacity)))
    }

    fn from_ends(items: VecDeque<T>, capacity: Option<usize>) -> Self {
        let line = Line { items, capacity };
        let queue = Blocking::configured(line, Fairness::Unfair, Precedence::TIMED);
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
        self.0.insert(item, None, Line::push_front)
    }

    /// Places the element at the tail if there is room right now.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`], with the element.
    #[doc(alias = "addLast")]
    pub fn offer_last(&self, item: T) -> Result<(), PutError<T>> {
        self.0.insert(item, None, Line::push)
    }

    /// Places the element at the head, waiting for room for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`] or [`PutError::Interrupted`], with the element.
    pub fn offer_first_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.0.insert(item, Some(timed(timeout)), Line::push_front)
    }

    /// Places the element at the tail, waiting for room for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`] or [`PutError::Interrupted`], with the element.
    pub fn offer_last_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.0.insert(item, Some(timed(timeout)), Line::push)
    }

    /// Places the element at the head, waiting for room.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`], with the element.
    pub fn put_first(&self, item: T) -> Result<(), PutError<T>> {
        self.0.insert(item, Some(Deadline::Never), Line::push_front)
    }

    /// Places the element at the tail, waiting for room.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`], with the element.
    pub fn put_last(&self, item: T) -> Result<(), PutError<T>> {
        self.0.insert(item, Some(Deadline::Never), Line::push)
    }

    /// Takes the element at the head if there is one right now.
    #[doc(alias = "pop")]
    pub fn poll_first(&self) -> Option<T> {
        self.0.extract(None, Line::pop).unwrap_or(None)
    }

    /// Takes the element at the tail if there is one right now.
    pub fn poll_last(&self) -> Option<T> {
        self.0.extract(None, Line::pop_back).unwrap_or(None)
    }

    /// Takes the element at the head, waiting for one for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn poll_first_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.0.extract(Some(timed(timeout)), Line::pop)
    }

    /// Takes the element at the tail, waiting for one for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn poll_last_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.0.extract(Some(timed(timeout)), Line::pop_back)
    }

    /// Takes the element at the head, waiting for one.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn take_first(&self) -> Result<T, Interrupted> {
        self.take_with(Line::pop)
    }

    /// Takes the element at the tail, waiting for one.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn take_last(&self) -> Result<T, Interrupted> {
        self.take_with(Line::pop_back)
    }

    fn take_with(&self, pop: fn(&mut Line<T>) -> Option<T>) -> Result<T, Interrupted> {
        loop {
            if let Some(item) = self.0.extract(Some(Deadline::Never), pop)? {
                return Ok(item);
            }
        }
    }

    /// Calls `f` with the element at the head, if there is one.
    pub fn peek_first(&self, f: &mut dyn FnMut(&T)) {
        self.0.with(|state| (state.items.items.front().map(f), ()));
    }

    /// Calls `f` with the element at the tail, if there is one.
    pub fn peek_last(&self, f: &mut dyn FnMut(&T)) {
        self.0.with(|state| (state.items.items.back().map(f), ()));
    }

    /// Takes the last element, seen from the head, for which `wanted` holds.
    #[doc(alias = "removeLastOccurrence")]
    pub fn remove_last(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        self.0
            .remove_where(|ends| ends.items.iter().rposition(wanted))
    }

    /// Calls `f` with every element, from the tail to the head.
    #[doc(alias = "descendingIterator")]
    pub fn for_each_rev(&self, f: &mut dyn FnMut(&T)) {
        self.0
            .with(|state| (state.items.items.iter().rev().for_each(f), ()));
    }
}

impl<T: Send> Default for LinkedBlockingDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for LinkedBlockingDeque<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from_ends(items.into_iter().collect(), None)
    }
}

delegate_queue!(LinkedBlockingDeque<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::LinkedBlockingDeque;
    use crate::queue::scenarios::{self, spawn};
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
}
