//! Pauses between attempts to reach an engine.

use crate::id::random_below;
use std::time::Duration;

/// Doubles from attempt to attempt, with jitter, so that many clients do not come back at the same moment.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            next: first,
        }
    }

    pub(crate) const fn reset(&mut self) {
        self.next = self.first;
    }

    /// Returns a random time between a half and the whole of the next step.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.max);
        let half = whole / 2;
        half + Duration::from_micros(random_below(half.as_micros() as u64 + 1))
    }
}
