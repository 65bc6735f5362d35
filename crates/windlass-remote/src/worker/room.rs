//! How many tasks a worker may still take.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Counts free places. Places are taken by the fetcher only, so what it has seen free stays free.
#[derive(Debug)]
pub(crate) struct Room {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Room {
    pub(crate) const fn new(places: usize) -> Self {
        Self {
            free: Mutex::new(places),
            freed: Condvar::new(),
        }
    }

    /// Waits until a place is free, no longer than `limit`; returns how many are.
    pub(crate) fn wait_free(&self, limit: Duration) -> usize {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .freed
            .wait_timeout_while(free, limit, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn take(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.saturating_sub(1);
    }

    pub(crate) fn give_back(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free += 1;
        if *free == 1 {
            self.freed.notify_one();
        }
    }
}
