//! The number of workers of a pool, and its limits.

use std::error::Error;
use std::fmt;

/// The most workers that a pool can have.
pub(super) const MAX_WORKERS: usize = 32_767;

/// The error of a parallelism that is not between 1 and 32767.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelismError(usize);

impl fmt::Display for ParallelismError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a parallelism of {} is not between 1 and {MAX_WORKERS}",
            self.0
        )
    }
}

impl Error for ParallelismError {}

/// Returns the parallelism if a pool can have it.
pub(super) fn check(parallelism: usize) -> Result<usize, ParallelismError> {
    if (1..=MAX_WORKERS).contains(&parallelism) {
        Ok(parallelism)
    } else {
        Err(ParallelismError(parallelism))
    }
}

/// Returns how many threads the machine runs at a time, but no more than a pool can have.
pub(super) fn available_parallelism() -> usize {
    crate::sync::available_parallelism().min(MAX_WORKERS)
}
