//! How many threads of a pool wait for tasks inside tasks.

use super::ctl::{Ctl, Waits};
use crate::sync::Mutex;

/// How a thread that waits belongs to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It is a worker, and counts as blocked.
    Worker,
    /// It runs a task for the pool: as the submitter, or because it waits for the task.
    Guest,
}

/// The number of threads that wait. The bit in the control word is written under the lock.
#[derive(Debug, Default)]
pub(crate) struct WaitCount(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    waiting: usize,
    /// Those of them that are workers.
    blocked: usize,
}

impl WaitCount {
    /// Counts a thread that is about to wait; afterwards submitters see that somebody waits.
    pub(crate) fn begin(&self, membership: Membership, ctl: &Ctl) {
        let mut counts = self.0.lock();
        counts.waiting += 1;
        counts.blocked += usize::from(membership == Membership::Worker);
        if counts.waiting == 1 {
            ctl.set_waits(Waits::Some);
        }
    }

    /// Ends what [`begin`](Self::begin) began.
    pub(crate) fn end(&self, membership: Membership, ctl: &Ctl) {
        let mut counts = self.0.lock();
        counts.waiting -= 1;
        counts.blocked -= usize::from(membership == Membership::Worker);
        if counts.waiting == 0 {
            ctl.set_waits(Waits::None);
        }
    }

    /// Returns how many workers wait.
    pub(crate) fn blocked(&self) -> usize {
        self.0.lock().blocked
    }
}
