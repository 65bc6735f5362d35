//! A closure that an executor did not accept in a scope.

use std::error::Error;
use std::fmt;

use super::invoke::InvokeError;
use crate::executor::{RejectedExecution, RejectionReason};
use crate::task::{Cancellation, ExecutionError};

/// A closure that an executor did not accept, and why.
///
/// It borrows what the closure borrows, so it cannot leave the scope. For `?` it converts into
/// [`RejectedExecution`], [`InvokeError`], [`ExecutionError`] and `Box<dyn Error>`, which can: the closure
/// is then dropped. That is also why it is not an [`Error`] itself, as every `Error` converts into a
/// `Box<dyn Error>` in one way already, with all that it borrows.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// pool.shutdown();
/// let words = vec!["run", "it", "here"];
/// let count = pool.scope(|s| match s.spawn(|| words.len()) {
///     Ok(count) => count.join().unwrap(),
///     Err(rejected) => rejected.into_closure()(),
/// });
/// assert_eq!(count, 3);
/// ```
pub struct RejectedSpawn<F> {
    closure: F,
    rejected: RejectedExecution,
}

impl<F> RejectedSpawn<F> {
    pub(super) const fn new(closure: F, rejected: RejectedExecution) -> Self {
        Self { closure, rejected }
    }

    /// Returns the closure, to be called in place or spawned again.
    pub fn into_closure(self) -> F {
        self.closure
    }

    /// Converts it into the rejection of a task that is cancelled; the closure is dropped.
    pub fn into_rejection(self) -> RejectedExecution {
        self.rejected
    }

    /// Returns why the executor rejected the closure.
    #[must_use]
    pub const fn reason(&self) -> RejectionReason {
        self.rejected.reason()
    }

    /// Returns whether the executor was shut down.
    #[must_use]
    pub const fn is_shutdown(&self) -> bool {
        self.rejected.is_shutdown()
    }

    /// Returns whether the queue was full and no worker could be added.
    #[must_use]
    pub const fn is_saturated(&self) -> bool {
        self.rejected.is_saturated()
    }
}

impl<F> From<RejectedSpawn<F>> for RejectedExecution {
    fn from(rejected: RejectedSpawn<F>) -> Self {
        rejected.rejected
    }
}

impl<F> From<RejectedSpawn<F>> for InvokeError {
    fn from(rejected: RejectedSpawn<F>) -> Self {
        Self::Rejected(rejected.rejected)
    }
}

impl<F> From<RejectedSpawn<F>> for ExecutionError {
    fn from(_: RejectedSpawn<F>) -> Self {
        Self::Cancelled(Cancellation::Rejected)
    }
}

impl<F> From<RejectedSpawn<F>> for Box<dyn Error> {
    fn from(rejected: RejectedSpawn<F>) -> Self {
        rejected.rejected.into()
    }
}

impl<F> From<RejectedSpawn<F>> for Box<dyn Error + Send + Sync> {
    fn from(rejected: RejectedSpawn<F>) -> Self {
        rejected.rejected.into()
    }
}

impl<F> fmt::Debug for RejectedSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RejectedSpawn")
            .field(&self.rejected)
            .finish()
    }
}

impl<F> fmt::Display for RejectedSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rejected.fmt(f)
    }
}
