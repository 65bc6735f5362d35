//! The timers that are due first: a heap with four children per node, by due time and sequence.
//!
//! Each entry knows its position, so one from the middle is removed without a search. The keys are in the
//! heap and not in the entries, so comparing touches no memory of a task; moving a key writes its
//! position to its entry. The heap is small when there are many timers (see
//! [`TimerSet`](super::timer_set::TimerSet)), so those entries are in the cache.

use super::entry::{Entry, POSITIONS};
use crate::queue::Shrink;

/// The number of children of a node: two make the heap deeper, eight compare more per level.
const CHILDREN: usize = 4;

/// A heap of timers.
#[derive(Debug)]
pub(super) struct NearHeap<E> {
    keys: Vec<Key<E>>,
}

#[derive(Debug)]
pub(super) struct Key<E> {
    pub(super) due: u64,
    pub(super) sequence: u64,
    pub(super) entry: E,
}

impl<E: Entry> Key<E> {
    /// Creates the key of an entry that has its due time and its sequence number.
    pub(super) fn of(entry: E) -> Self {
        let (due, sequence) = entry.key();
        Self {
            due,
            sequence,
            entry,
        }
    }

    fn precedes(&self, other: &Self) -> bool {
        (self.due, self.sequence) < (other.due, other.sequence)
    }
}

impl<E> Default for NearHeap<E> {
    fn default() -> Self {
        Self { keys: Vec::new() }
    }
}

impl<E: Entry> NearHeap<E> {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn first(&self) -> Option<&Key<E>> {
        self.keys.first()
    }

    /// Returns the key after the first.
    pub(super) fn second(&self) -> Option<&Key<E>> {
        let child = self.least_child(0)?;
        Some(&self.keys[child])
    }

    /// Returns the keys, in no particular order; a position is an index into them.
    pub(super) fn keys(&self) -> &[Key<E>] {
        &self.keys
    }

    #[inline]
    pub(super) fn push(&mut self, key: Key<E>) {
        assert!(self.keys.len() < POSITIONS, "there are too many timers");
        self.keys.push(key);
        self.sift_up(self.keys.len() - 1);
    }

    pub(super) fn pop(&mut self) -> Option<E> {
        (!self.keys.is_empty()).then(|| self.remove(0))
    }

    /// Removes the entry at this position.
    #[inline]
    pub(super) fn remove(&mut self, at: usize) -> E {
        let key = self.keys.swap_remove(at);
        // The last key has moved here; it may belong further up or further down.
        if at < self.keys.len() && self.sift_up(at) == at {
            self.sift_down(at);
        }
        self.keys.shrink_if_mostly_empty(0);
        key.entry
    }

    /// Inserts many keys at once.
    pub(super) fn extend(&mut self, keys: impl IntoIterator<Item = Key<E>>) {
        self.keys.extend(keys);
        self.rebuild();
    }

    /// Keeps the entries whose verdict is true, in the order of [`keys`](Self::keys). Returns the others in
    /// that order.
    pub(super) fn retain(&mut self, verdicts: &[bool]) -> Vec<E> {
        let mut removed = Vec::new();
        if verdicts.contains(&false) {
            let mut kept = Vec::new();
            for (key, keep) in self.take_keys().into_iter().zip(verdicts) {
                if *keep {
                    kept.push(key);
                } else {
                    removed.push(key.entry);
                }
            }
            self.extend(kept);
        }
        removed
    }

    /// Takes all keys out, in no particular order.
    pub(super) fn take_keys(&mut self) -> Vec<Key<E>> {
        std::mem::take(&mut self.keys)
    }

    fn rebuild(&mut self) {
        assert!(self.keys.len() <= POSITIONS, "there are too many timers");
        for (at, key) in self.keys.iter().enumerate() {
            key.entry.set_position(at);
        }
        for at in (0..self.keys.len().div_ceil(CHILDREN)).rev() {
            self.sift_down(at);
        }
    }

    /// Exchanges two keys, and writes the position of the one that is now at `settled`.
    fn exchange(&mut self, settled: usize, moving: usize) {
        self.keys.swap(settled, moving);
        self.keys[settled].entry.set_position(settled);
    }

    fn sift_up(&mut self, mut at: usize) -> usize {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !self.keys[at].precedes(&self.keys[parent]) {
                break;
            }
            self.exchange(at, parent);
            at = parent;
        }
        self.keys[at].entry.set_position(at);
        at
    }

    fn sift_down(&mut self, mut at: usize) {
        while let Some(child) = self.least_child(at) {
            if !self.keys[child].precedes(&self.keys[at]) {
                break;
            }
            self.exchange(at, child);
            at = child;
        }
        self.keys[at].entry.set_position(at);
    }

    fn least_child(&self, at: usize) -> Option<usize> {
        let first = at * CHILDREN + 1;
        let end = (first + CHILDREN).min(self.keys.len());
        let mut least = first;
        for child in first + 1..end {
            if self.keys[child].precedes(&self.keys[least]) {
                least = child;
            }
        }
        (first < end).then_some(least)
    }
}
