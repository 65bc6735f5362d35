//! The join jobs of a worker that other threads cannot reach, and whether it may have any.
//!
//! A job that others can reach costs a fence and an exchange, several times what a short join costs
//! otherwise. So a worker whose joins are short shares the oldest job only, and keeps newer ones in a list
//! of its own. It shares them too as soon as it is asked, but looks only when a join begins or ends.
//! With long joins that would be too late, and the cost does not matter: such a worker shares every job.
//!
//! Each worker measures the time of its joins while it shares all jobs: at the beginning, and whenever it
//! was asked. A private join is not even counted, since a counter would take a good part of its time. So a
//! worker whose joins have become long answers late once, and then measures again.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::job::StackJobRef;
use crate::sync::clock::system_now;

/// The number of joins whose time is measured at once.
const MEASURED: u32 = 64;

/// The mean time from which on joins are long.
const LONG: Duration = Duration::from_micros(1);

/// The join jobs that only their worker sees, and the pace of its joins.
pub(super) struct PrivateJobs {
    /// The head of the list, which goes on from each job to the next older one.
    ///
    /// The list lies in the jobs. So what a join stores here does not depend on what the one before has
    /// stored: many joins one after the other do not wait for each other's stores.
    newest: Cell<Option<StackJobRef>>,
    pace: Pace,
}

impl PrivateJobs {
    pub(super) fn new() -> Self {
        Self {
            newest: Cell::new(None),
            pace: Pace::unknown(),
        }
    }

    #[inline]
    pub(super) fn newest(&self) -> Option<StackJobRef> {
        self.newest.get()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.newest.get().is_none()
    }

    /// Adds a job, which was created with the [newest](Self::newest) as the next older one.
    #[inline]
    pub(super) fn push(&self, job: StackJobRef) {
        debug_assert_eq!(job.older(), self.newest(), "the list goes on");
        self.newest.set(Some(job));
    }

    /// Removes the job of the innermost join, unless it was shared; returns whether it was private.
    #[inline]
    #[must_use]
    pub(super) fn pop(&self, job: StackJobRef) -> bool {
        let is_private = self.newest.get() == Some(job);
        if is_private {
            self.newest.set(job.older());
        }
        is_private
    }

    /// Takes all jobs, calls `f` with each, oldest first, and measures the next joins.
    pub(super) fn drain(&self, mut f: impl FnMut(StackJobRef)) {
        let mut rest = self.newest.take();
        if rest.is_some() {
            self.forget_pace();
        }
        let mut oldest_first = None;
        while let Some(job) = rest {
            rest = job.older();
            job.set_older(oldest_first);
            oldest_first = Some(job);
        }
        while let Some(job) = oldest_first {
            oldest_first = job.older();
            f(job);
        }
    }

    /// Returns whether joins are short, so that jobs may be private.
    #[inline]
    pub(super) fn are_joins_short(&self) -> bool {
        self.pace.is_short.get()
    }

    /// Counts a join that has ended, and whose job was shared.
    pub(super) fn count_shared(&self) {
        self.pace.count_join();
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

    fn count_join(&self) {
        let left = self.joins_left.get() - 1;
        self.joins_left.set(left);
        if left == 0 {
            self.measure();
        }
    }

    /// Measures the time of the last joins.
    #[cold]
    fn measure(&self) {
        let now = system_now();
        let begun = self.begun.replace(Some(now));
        let is_short = begun.is_some_and(|begun| now - begun < LONG * MEASURED);
        self.is_short.set(is_short);
        self.joins_left.set(MEASURED);
    }
}
