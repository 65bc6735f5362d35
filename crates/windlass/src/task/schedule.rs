//! When a task is due, where that is later than now.

use std::fmt;
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::header;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock::Clock;
use crate::task::TaskId;

/// The place of a task that is in no queue.
const NOWHERE: usize = usize::MAX;

/// The time part of a scheduled task: shared by the task, its handle and the queue it waits in.
pub(crate) struct Schedule {
    /// When it is due next, in the nanoseconds of [`header`].
    due: AtomicU64,
    /// Its place among all tasks of its pool with the same due time.
    sequence: u64,
    is_periodic: bool,
    /// How often it has run to its end.
    runs: AtomicU64,
    /// Its place in the queue, under the queue's lock.
    place: AtomicUsize,
    home: Weak<dyn Home>,
    /// The clock of the pool, on which it is due.
    clock: Clock,
}

/// The pool that a scheduled task belongs to.
pub(crate) trait Home: Send + Sync {
    /// The task was cancelled; it may still be queued.
    fn cancelled(&self, id: TaskId, schedule: &Schedule);
}

impl Schedule {
    pub(crate) fn new(
        due: Instant,
        sequence: u64,
        is_periodic: bool,
        home: Weak<dyn Home>,
        clock: Clock,
    ) -> Self {
        Self {
            due: AtomicU64::new(header::nanos(due)),
            sequence,
            is_periodic,
            runs: AtomicU64::new(0),
            place: AtomicUsize::new(NOWHERE),
            home,
            clock,
        }
    }

    pub(crate) fn due(&self) -> Instant {
        header::instant(self.due.load(Ordering::Relaxed))
    }

    pub(crate) fn set_due(&self, due: Instant) {
        self.due.store(header::nanos(due), Ordering::Relaxed);
    }

    pub(crate) const fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) const fn is_periodic(&self) -> bool {
        self.is_periodic
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub(crate) fn count_run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn place(&self) -> Option<usize> {
        Some(self.place.load(Ordering::Relaxed)).filter(|place| *place != NOWHERE)
    }

    pub(crate) fn set_place(&self, place: Option<usize>) {
        self.place
            .store(place.unwrap_or(NOWHERE), Ordering::Relaxed);
    }

    /// How long it is until the task is due; zero if it is.
    pub(crate) fn delay(&self) -> Duration {
        self.due().saturating_duration_since(self.clock.now())
    }

    pub(super) fn cancelled(&self, id: TaskId) {
        if let Some(home) = self.home.upgrade() {
            home.cancelled(id, self);
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("due", &self.due())
            .field("sequence", &self.sequence)
            .field("is_periodic", &self.is_periodic)
            .finish_non_exhaustive()
    }
}
