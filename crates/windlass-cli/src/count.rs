//! Numbers of threads: those on the command line have to be at least one, and one has no plural.

use std::num::NonZeroUsize;

/// Returns a number with its noun, `1 thread` or `2 threads`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// Reads how many threads or slots there are.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| {
        "must be a number from 1; without this option there is one for each processor".to_owned()
    })
}
