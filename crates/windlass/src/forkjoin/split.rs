//! How a slice is split among workers: eagerly into a few pieces for each, then lazily.
//!
//! The first splits make four pieces for each worker, all within reach of idle ones, so that a few long
//! elements are run side by side. A piece is then folded block by block. Before each block its worker looks
//! whether it has anything left that others could steal; if not, it splits the rest of the piece in two.
//! So a slice is split about as often as there are thieves. The length of a block follows the time that the
//! last one took. It begins with one element, since that may take long. What would be over by the time that a thief
//! has come is not split any more.
//!
//! Long blocks begin at round distances from the beginning of the slice: a loop that the compiler has vectorised would
//! otherwise load and store across cache lines, in each of its steps.

use std::time::Duration;

use super::common::{install, join};
use super::local::Local;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock::system_now;

/// The pieces for each worker.
const PIECES: usize = 4;

/// How long a block takes, within a factor of four: long compared to the look at the deque and the clock, of
/// which the latter takes up to a tenth of a microsecond; short compared to what a thief waits for anyway.
const BLOCK_TIME: Duration = Duration::from_micros(20);

/// Elements of a long part in a row: a multiple of a cache line, whatever their size.
const ROW: usize = 64;

/// Returns where to split a part of this length: in the middle, between two rows if it is long.
const fn middle(len: usize) -> usize {
    let half = len / 2;
    if half < 16 * ROW {
        half
    } else {
        half - half % ROW
    }
}

/// What can be split: a slice, shared or exclusive.
pub(super) trait Splittable: Send + Sized {
    fn len(&self) -> usize;

    fn split_at(self, at: usize) -> (Self, Self);
}

impl<T: Sync> Splittable for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Splittable for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// What is done with each part, and how the results of neighbours are combined.
pub(super) struct Fold<E, F, M> {
    pub(super) empty: E,
    /// Adds a block to the result of what is on its left.
    pub(super) fold: F,
    pub(super) merge: M,
}

impl<E, F, M> Fold<E, F, M> {
    /// Folds all items on the workers of the current pool, or of the common pool.
    pub(super) fn run<S, A>(&self, items: S) -> A
    where
        S: Splittable,
        A: Send,
        E: Fn() -> A + Sync,
        F: Fn(A, S) -> A + Sync,
        M: Fn(A, A) -> A + Sync,
    {
        install(|parallelism| self.eagerly(items, PIECES * parallelism))
    }

    fn eagerly<S, A>(&self, items: S, pieces: usize) -> A
    where
        S: Splittable,
        A: Send,
        E: Fn() -> A + Sync,
        F: Fn(A, S) -> A + Sync,
        M: Fn(A, A) -> A + Sync,
    {
        let len = items.len();
        if len < 2 || pieces < 2 {
            return self.lazily((self.empty)(), items, &Pace::default());
        }
        let (left, right) = items.split_at(middle(len));
        let (right, left) = join(
            || self.eagerly(right, pieces / 2),
            || self.eagerly(left, pieces - pieces / 2),
        );
        (self.merge)(left, right)
    }

    /// Folds the items of a piece, or a part of one, into `result`.
    fn lazily<S, A>(&self, mut result: A, mut items: S, pace: &Pace) -> A
    where
        S: Splittable,
        A: Send,
        E: Fn() -> A + Sync,
        F: Fn(A, S) -> A + Sync,
        M: Fn(A, A) -> A + Sync,
    {
        let mut block = pace.first_block();
        // When the last block has ended: the clock is read once for each.
        let mut last_ended = None;
        let mut visited = 0_usize;
        loop {
            let len = items.len();
            if len <= block || pace.takes_short(len) {
                return (self.fold)(result, items);
            }
            if !Local::with(|local| local.is_some_and(Local::has_work_for_others)) {
                let (left, right) = items.split_at(middle(len));
                let (right, left) = join(
                    || self.lazily((self.empty)(), right, pace),
                    || self.lazily(result, left, pace),
                );
                return (self.merge)(left, right);
            }
            let begun = last_ended.unwrap_or_else(system_now);
            let (first, rest) = items.split_at(block);
            result = (self.fold)(result, first);
            items = rest;
            let ended = system_now();
            let took = ended - begun;
            last_ended = Some(ended);
            visited += block;
            pace.record(block, took);
            // Not after the first element: one, one, two, four.
            if took < BLOCK_TIME / 2 && visited > 1 {
                block = block.saturating_mul(2);
            } else if took > BLOCK_TIME * 2 {
                block = (block / 2).max(1);
            }
        }
    }
}

/// How long the elements of a piece take, by its last block.
///
/// It is trusted for no more elements than were visited: the next ones may take longer.
///
/// `Relaxed`: whoever runs a part of the piece writes it, and a reader may see times and counts of two of them.
#[derive(Default)]
struct Pace {
    /// Picoseconds for an element; zero before the first block.
    picos: AtomicU64,
    visited: AtomicUsize,
}

impl Pace {
    fn record(&self, block: usize, took: Duration) {
        let picos = took.as_nanos().saturating_mul(1_000) / block as u128;
        let picos = u64::try_from(picos).unwrap_or(u64::MAX).max(1);
        self.picos.store(picos, Ordering::Relaxed);
        self.visited.fetch_add(block, Ordering::Relaxed);
    }

    /// Returns how many elements probably take this time; none before the first block.
    fn elements_in(&self, time: Duration) -> usize {
        let picos = self.picos.load(Ordering::Relaxed);
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let elements = time.saturating_mul(1_000).checked_div(picos);
        let elements = elements.map_or(0, |elements| {
            usize::try_from(elements).unwrap_or(usize::MAX)
        });
        elements.min(self.visited.load(Ordering::Relaxed))
    }

    /// Returns the length of the first block of a part.
    fn first_block(&self) -> usize {
        self.elements_in(BLOCK_TIME).max(1)
    }

    /// Returns whether so many elements take no longer than a thief waits for them anyway.
    fn takes_short(&self, elements: usize) -> bool {
        elements <= self.elements_in(2 * BLOCK_TIME)
    }
}
