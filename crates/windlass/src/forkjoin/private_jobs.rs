//! The join jobs of a worker that other threads cannot reach, and whether it may have any.
//!
//! A job that others can reach costs a fence and an exchange, several times what a short join costs
//! otherwise. So a worker whose joins are short shares the oldest job only, and keeps newer ones in a list
//! of its own. It shares them too as soon as it is asked, but looks only when a join begins or ends.
//! With long joins that would be too late, and the cost does not matter: such a worker shares every job.
//! Each worker measures the time of its joins; until it has, it takes them for long.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::job::StackJobRef;
use crate::sync::clock::system_now;

/// The capacity of the list.
const CAPACITY: usize = 64;

/// One join in so many that are inside each other is counted.
const COUNTED: usize = 4;

/// The number of joins whose time is measured at once: few while jobs are shared, more while they are
/// not, when the clock costs more than a join.
const LONG_JOINS: u32 = 64;
const SHORT_JOINS: u32 = 256;

/// The mean time from which on joins are long.
const LONG: Duration = Duration::from_micros(1);

/// The position of a job, which tells whether it is still private.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub(super) struct Position(usize);

/// The join jobs that only their worker sees, oldest first, and the pace of its joins.
pub(super) struct PrivateJobs {
    ring: [Cell<Option<StackJobRef>>; CAPACITY],
    /// The positions of the oldest job and after the newest; they count on from lap to lap.
    oldest: Cell<usize>,
    end: Cell<usize>,
    pace: Pace,
}

impl PrivateJobs {
    pub(super) fn new() -> Self {
        Self {
            ring: [const { Cell::new(None) }; CAPACITY],
            oldest: Cell::new(0),
            end: Cell::new(0),
            pace: Pace::unknown(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.end.get().wrapping_sub(self.oldest.get())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.end.get() == self.oldest.get()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    /// Returns whether there is a job, and room for another.
    #[inline]
    pub(super) fn is_partly_filled(&self) -> bool {
        // In one comparison: the length of an empty list minus one is large.
        self.len().wrapping_sub(1) < CAPACITY - 1
    }

    /// Adds the newest job, and returns its position. The list is not full.
    #[inline]
    pub(super) fn push(&self, job: StackJobRef) -> Position {
        let end = self.end.get();
        self.ring[end % CAPACITY].set(Some(job));
        self.end.set(end.wrapping_add(1));
        Position(end)
    }

    /// Returns the position of a job that was never private. The list is empty.
    pub(super) fn shared_position(&self) -> Position {
        Position(self.oldest.get().wrapping_sub(1))
    }

    /// Removes the job at this position, which is the newest, unless it was shared; returns whether it
    /// was private.
    #[inline]
    #[must_use]
    pub(super) fn pop(&self, Position(at): Position) -> bool {
        let is_private = at.wrapping_sub(self.oldest.get()) <= usize::MAX / 2;
        if is_private {
            // Not computed from the former end: many joins one after the other would wait for its store.
            self.end.set(at);
        }
        is_private
    }

    /// Takes the oldest job.
    pub(super) fn pop_oldest(&self) -> Option<StackJobRef> {
        if self.is_empty() {
            return None;
        }
        let oldest = self.oldest.get();
        self.oldest.set(oldest.wrapping_add(1));
        self.ring[oldest % CAPACITY].take()
    }

    /// Returns whether joins are short, so that jobs may be private.
    #[inline]
    pub(super) fn are_joins_short(&self) -> bool {
        self.pace.is_short.get()
    }

    /// Counts a join that has ended, and whose job was private; returns whether private jobs have to be
    /// shared, since joins have become long.
    #[inline]
    #[must_use]
    pub(super) fn count_private(&self, Position(at): Position) -> bool {
        // Not all: many joins one after the other would wait for the store of the counter.
        at % COUNTED == 0 && self.pace.count_join()
    }

    /// Counts a join that has ended, and whose job was shared; as [`count_private`](Self::count_private).
    #[must_use]
    pub(super) fn count_shared(&self) -> bool {
        self.pace.count_join()
    }

    /// Forgets the pace: the next joins belong to other work.
    #[inline]
    pub(super) fn forget_pace(&self) {
        self.pace.is_short.set(false);
        self.pace.begun.set(None);
        self.pace.joins_left.set(1);
    }
}

/// The pace of a worker's joins.
struct Pace {
    is_short: Cell<bool>,
    /// How many joins have to end before the time is measured.
    joins_left: Cell<u32>,
    /// The time of the last measurement.
    begun: Cell<Option<Instant>>,
}

impl Pace {
    fn unknown() -> Self {
        Self {
            is_short: Cell::new(false),
            joins_left: Cell::new(1),
            begun: Cell::new(None),
        }
    }

    /// Counts a join; returns whether joins have become long.
    #[inline]
    fn count_join(&self) -> bool {
        let left = self.joins_left.get() - 1;
        self.joins_left.set(left);
        left == 0 && !self.measure()
    }

    /// Measures the time of the last joins; returns whether they were short.
    #[cold]
    fn measure(&self) -> bool {
        let now = system_now();
        let joins = if self.is_short.get() {
            SHORT_JOINS
        } else {
            LONG_JOINS
        };
        let begun = self.begun.replace(Some(now));
        let is_short = begun.is_some_and(|begun| now - begun < LONG * joins);
        self.is_short.set(is_short);
        self.joins_left
            .set(if is_short { SHORT_JOINS } else { LONG_JOINS });
        is_short
    }
}
