//! Numbers that are given out once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The counter is `std`'s under every backend: it orders nothing, so the models need not see it,
/// and theirs cannot stand in a `static`.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A number that was never given out before, and never zero.
pub(crate) fn unique_id() -> usize {
    NEXT.fetch_add(1, Ordering::Relaxed)
}
