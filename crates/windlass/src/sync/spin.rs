//! Spinning before a thread parks: never on a machine with one core, where nothing can change
//! meanwhile.

use super::backend;
use super::parallelism::available_parallelism;

/// Returns how often a thread checks for what it waits for before it parks.
pub(crate) fn spin_limit() -> u32 {
    static LIMIT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| match available_parallelism() {
        1 => 0,
        _ => backend::SPIN_LIMIT,
    })
}

/// Spins for some microseconds, which is less than a park and a wake-up cost, and checks `is_over`
/// `checks` times on the way.
///
/// Each check takes the cache line from the thread that is about to write to it.
pub(crate) fn spin_until(checks: u32, is_over: impl Fn() -> bool) {
    if spin_limit() > 0 {
        backend::spin_until(checks, is_over);
    }
}
