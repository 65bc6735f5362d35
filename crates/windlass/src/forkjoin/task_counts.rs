//! How many tasks a worker has run, and how they ended.

use crate::hooks::{Panicked, RunEnd};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::RunOutcome;
use crate::unwind::discard;

/// The counters of a worker, which only it writes.
#[derive(Debug, Default)]
pub(super) struct TaskCounters {
    completed: AtomicU64,
    failed: AtomicU64,
    skipped: AtomicU64,
}

/// What [`TaskCounters`] had counted at one time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskCounts {
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl TaskCounters {
    /// Counts a task that has ended on this worker.
    #[inline]
    pub(super) fn count(&self, outcome: RunOutcome) {
        match outcome {
            RunOutcome::Completed => increment(&self.completed),
            RunOutcome::Failed(failure) => {
                // This may be the last reference, and the drop of its payload may panic.
                discard(failure);
                increment(&self.failed);
            }
            RunOutcome::Skipped => increment(&self.skipped),
        }
    }

    /// As [`count`](Self::count), for a run between hooks.
    pub(super) fn count_hooked(&self, ended: &RunEnd) {
        match ended {
            RunEnd::Ended => increment(&self.completed),
            RunEnd::Failed(_) => increment(&self.failed),
            RunEnd::Panicked { by, .. } if *by == Panicked::Task => increment(&self.failed),
            RunEnd::Skipped | RunEnd::Panicked { .. } => increment(&self.skipped),
        }
    }

    /// Counts a task whose panic no handle receives.
    pub(super) fn count_panic(&self) {
        increment(&self.failed);
    }

    pub(super) fn get(&self) -> TaskCounts {
        TaskCounts {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
        }
    }
}

impl TaskCounts {
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// Increments a counter that only this thread writes.
#[inline]
fn increment(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
