//! The timers of one range of due times, in the order in which they came, with gaps.
//!
//! A timer that is removed leaves a gap, so that no other timer has to be told a new position: its memory
//! is probably not in the cache. Gaps at both ends are given up at once, so timers that are removed in
//! the order in which they came, or in reverse, never move. A list that is mostly gaps is closed up.

use std::collections::VecDeque;

use super::entry::{Entry, POSITIONS};

/// A list that is no longer than this is not closed up, and keeps its memory.
const SMALL: usize = 64;

/// The list.
#[derive(Debug)]
pub(super) struct FarList<E> {
    timers: VecDeque<Option<E>>,
    /// The position of the first place, modulo [`POSITIONS`].
    first: usize,
    len: usize,
}

impl<E> Default for FarList<E> {
    fn default() -> Self {
        Self {
            timers: VecDeque::new(),
            first: 0,
            len: 0,
        }
    }
}

impl<E: Entry> FarList<E> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, timer: E) {
        timer.set_position(self.next_position());
        self.append(timer);
    }

    /// Appends a timer, with its sequence number.
    #[inline]
    pub(super) fn push_new(&mut self, sequence: u64, timer: E) {
        timer.set_place(sequence, self.next_position());
        self.append(timer);
    }

    fn next_position(&self) -> usize {
        let places = self.timers.len();
        assert!(places < POSITIONS, "there are too many timers");
        (self.first + places) % POSITIONS
    }

    #[inline]
    fn append(&mut self, timer: E) {
        self.timers.push_back(Some(timer));
        self.len += 1;
    }

    fn index(&self, position: usize) -> usize {
        (position + POSITIONS - self.first) % POSITIONS
    }

    pub(super) fn get(&self, position: usize) -> Option<&E> {
        self.timers.get(self.index(position))?.as_ref()
    }

    #[inline]
    pub(super) fn remove(&mut self, position: usize) -> Option<E> {
        let index = self.index(position);
        let removed = self.timers.get_mut(index)?.take()?;
        self.len -= 1;
        self.give_up_gaps();
        Some(removed)
    }

    /// Keeps the timers whose verdict is true, in the order of [`iter`](Self::iter), and appends the others
    /// to `removed`.
    pub(super) fn retain(&mut self, verdicts: &[bool], removed: &mut Vec<E>) {
        let timers = self.timers.iter_mut().filter(|place| place.is_some());
        for (place, _) in timers.zip(verdicts).filter(|(_, keep)| !**keep) {
            removed.extend(place.take());
            self.len -= 1;
        }
        self.give_up_gaps();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.timers.iter().flatten()
    }

    pub(super) fn into_timers(self) -> impl Iterator<Item = E> {
        self.timers.into_iter().flatten()
    }

    #[inline]
    fn give_up_gaps(&mut self) {
        while let Some(None) = self.timers.front() {
            self.timers.pop_front();
            self.first = (self.first + 1) % POSITIONS;
        }
        while let Some(None) = self.timers.back() {
            self.timers.pop_back();
        }
        let (places, capacity) = (self.timers.len(), self.timers.capacity());
        if capacity > SMALL && (self.len < capacity / 4 || self.len < places / 2) {
            self.close_up();
        }
    }

    /// Moves the timers together, and releases the memory that is not needed.
    #[cold]
    fn close_up(&mut self) {
        if self.len < self.timers.len() {
            self.timers.retain(Option::is_some);
            for (position, timer) in self.timers.iter().flatten().enumerate() {
                timer.set_position(position);
            }
            self.first = 0;
        }
        self.timers.shrink_to((self.len * 2).max(SMALL));
    }
}
