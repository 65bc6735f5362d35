//! When a task was queued: a stamp, for tasks whose wait is timed.

// Not modelled: only the owner of a task sets its stamp. Those of the models are too large for the block
// that a stamp is kept in.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::sync::timestamp;

/// When a task was queued, and for how many tasks its wait stands.
#[derive(Debug)]
pub(crate) struct Stamp {
    /// As a [`timestamp`].
    at: AtomicU64,
    weight: AtomicU64,
}

impl Stamp {
    pub(super) fn new(at: Instant, weight: u64) -> Self {
        Self {
            at: AtomicU64::new(timestamp::nanos(at)),
            weight: AtomicU64::new(weight),
        }
    }

    pub(super) fn set(&self, at: Instant, weight: u64) {
        self.at.store(timestamp::nanos(at), Ordering::Relaxed);
        self.weight.store(weight, Ordering::Relaxed);
    }

    /// Returns the time as a [`timestamp`].
    pub(crate) fn nanos(&self) -> u64 {
        self.at.load(Ordering::Relaxed)
    }

    /// Returns the number of tasks that this one stands for.
    pub(crate) fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }
}
