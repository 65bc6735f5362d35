//! Counts the tasks of a pool whose time was up.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::clock::{Clock, TestClock};
use crate::task::LimitOwner;

/// The tasks of a pool whose time was up. Shared by the pool and its tasks with limits.
#[derive(Debug)]
pub(super) struct LimitCounts {
    expired: AtomicU64,
    timed_out: AtomicU64,
    clock: Clock,
}

impl LimitCounts {
    /// Creates the counts of a pool that is built on the current thread.
    pub(super) fn new() -> Self {
        Self {
            expired: AtomicU64::new(0),
            timed_out: AtomicU64::new(0),
            clock: Clock::current(),
        }
    }

    pub(super) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    pub(super) fn timed_out(&self) -> u64 {
        self.timed_out.load(Ordering::Relaxed)
    }
}

impl LimitOwner for LimitCounts {
    fn test_clock(&self) -> Option<TestClock> {
        match &self.clock {
            Clock::System => None,
            Clock::Test(clock) => Some(clock.clone()),
        }
    }

    fn expiry_begins(&self) {
        self.expired.fetch_add(1, Ordering::Relaxed);
    }

    fn expiry_ends(&self, expired: bool) {
        if !expired {
            self.expired.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn task_timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}
