//! When a task is due, where that is later than now.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::header;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::clock;
use crate::task::TaskId;

/// The sequence number of a task that has not been queued.
const NO_SEQUENCE: u64 = 0;

/// The time part of a scheduled task.
///
/// `sequence` and `slot` are written under the lock of the queue. A slot is not cleared when the task
/// leaves the queue: the queue knows who is in the slot.
pub(crate) struct Schedule {
    /// When it is due next, in the nanoseconds of [`header`].
    due: AtomicU64,
    /// Its place among all tasks of its pool with the same due time.
    sequence: AtomicU64,
    /// Its slot in the queue, if it is there.
    slot: AtomicU32,
    /// How often it has run, where it runs again and again.
    runs: Option<Arc<Runs>>,
    home: Weak<dyn Home>,
}

/// What a cell knows about when its task is due.
pub(super) trait When: Send + Sync + 'static {
    fn schedule(&self) -> Option<&Schedule>;
}

/// A task that is due at once has nothing to know.
impl When for () {
    fn schedule(&self) -> Option<&Schedule> {
        None
    }
}

impl When for Schedule {
    fn schedule(&self) -> Option<&Schedule> {
        Some(self)
    }
}

/// The pool that a scheduled task belongs to.
pub(crate) trait Home: Send + Sync {
    /// The task was cancelled; it may still be queued.
    fn cancelled(&self, id: TaskId, schedule: &Schedule);

    /// The time on the pool's clock.
    fn now(&self) -> Instant;
}

/// How often a periodic task has run to its end.
#[derive(Debug, Default)]
pub(crate) struct Runs(AtomicU64);

impl Runs {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Schedule {
    /// For a task that runs once.
    #[inline]
    pub(crate) fn once(due: Instant, home: Weak<dyn Home>) -> Self {
        Self {
            due: AtomicU64::new(header::nanos(due)),
            sequence: AtomicU64::new(NO_SEQUENCE),
            slot: AtomicU32::new(0),
            runs: None,
            home,
        }
    }

    /// For a task that runs again and again, and counts its runs.
    pub(crate) fn periodic(due: Instant, runs: Arc<Runs>, home: Weak<dyn Home>) -> Self {
        Self {
            runs: Some(runs),
            ..Self::once(due, home)
        }
    }

    pub(crate) fn due(&self) -> Instant {
        header::instant(self.due_nanos())
    }

    /// When it is due, in the nanoseconds of [`header`].
    pub(crate) fn due_nanos(&self) -> u64 {
        self.due.load(Ordering::Relaxed)
    }

    pub(crate) fn set_due(&self, due: Instant) {
        self.due.store(header::nanos(due), Ordering::Relaxed);
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// The number that it has, or the one that `next` gives, which is not zero.
    pub(crate) fn sequence_or(&self, next: impl FnOnce() -> u64) -> u64 {
        match self.sequence() {
            NO_SEQUENCE => {
                let sequence = next();
                self.sequence.store(sequence, Ordering::Relaxed);
                sequence
            }
            sequence => sequence,
        }
    }

    pub(crate) fn is_periodic(&self) -> bool {
        self.runs.is_some()
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs.as_ref().map_or(0, |runs| runs.so_far())
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot.load(Ordering::Relaxed)
    }

    pub(crate) fn set_slot(&self, slot: u32) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// How long it is until the task is due; zero if it is.
    pub(crate) fn delay(&self) -> Duration {
        // A pool that is gone has no clock any more; the caller's is the best there is.
        let now = self
            .home
            .upgrade()
            .map_or_else(clock::now, |home| home.now());
        self.due().saturating_duration_since(now)
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
            .field("sequence", &self.sequence())
            .field("is_periodic", &self.is_periodic())
            .finish_non_exhaustive()
    }
}
