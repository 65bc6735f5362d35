//! The limit of the time that a call on a queue may wait.

use std::time::Duration;

use crate::sync::{Deadline, clock};

/// The limit of the time that a call may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitLimit {
    /// Not at all.
    NoWait,
    /// Until this deadline.
    Timed(Deadline),
    /// Without a time limit.
    Forever,
}

impl WaitLimit {
    /// Returns the limit of a call with this time-out.
    pub(crate) fn timeout(timeout: Duration) -> Self {
        Self::Timed(timed(timeout))
    }

    /// Returns the deadline of a wait; `None` if the call does not wait.
    pub(crate) const fn deadline(self) -> Option<Deadline> {
        match self {
            Self::NoWait => None,
            Self::Timed(deadline) => Some(deadline),
            Self::Forever => Some(Deadline::Never),
        }
    }
}

/// Returns the deadline of a timed call: never [`Deadline::Never`], however long the time-out, so
/// that a timed wait shows as one on a test's clock.
pub(crate) fn timed(timeout: Duration) -> Deadline {
    match Deadline::after(timeout) {
        Deadline::Never => Deadline::At(clock::now() + clock::MAX_TIMEOUT),
        at => at,
    }
}

/// Implements the three insertions of a [`BlockingQueue`](crate::queue::BlockingQueue) by `put_within`.
macro_rules! insertions_within {
    ($T:ident) => {
        fn offer(&self, item: $T) -> Result<(), PutError<$T>> {
            self.put_within(item, WaitLimit::NoWait)
        }

        fn offer_timeout(&self, item: $T, timeout: Duration) -> Result<(), PutError<$T>> {
            self.put_within(item, WaitLimit::timeout(timeout))
        }

        fn put(&self, item: $T) -> Result<(), PutError<$T>> {
            self.put_within(item, WaitLimit::Forever)
        }
    };
}

/// Implements the three removals of the next element by `take_within`.
macro_rules! removals_within {
    ($T:ident) => {
        fn poll(&self) -> Option<$T> {
            self.take_within(WaitLimit::NoWait).unwrap_or(None)
        }

        fn poll_timeout(&self, timeout: Duration) -> Result<Option<$T>, Interrupted> {
            self.take_within(WaitLimit::timeout(timeout))
        }

        fn take(&self) -> Result<$T, Interrupted> {
            loop {
                if let Some(item) = self.take_within(WaitLimit::Forever)? {
                    return Ok(item);
                }
            }
        }
    };
}

pub(crate) use {insertions_within, removals_within};
