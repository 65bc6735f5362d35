//! Numbers on the command line that have to be at least one.

use std::num::NonZeroUsize;

/// Reads how many threads or slots there are.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| {
        "must be a number from 1; without this option there is one for each processor".to_owned()
    })
}
