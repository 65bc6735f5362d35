//! Numbers that are unique in the process.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The counter is `std`'s under every backend: it orders nothing, so the models need not see it,
/// and theirs cannot be a `static`.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Returns a number that was not returned before, and never zero.
pub(crate) fn unique_id() -> usize {
    NEXT.fetch_add(1, Ordering::Relaxed)
}
