//! Lets time pass until an instant, asleep or awake.

use std::time::Instant;

/// Sleeps until then. The system wakes a thread some 50 µs late, so steps are to be counted from
/// the first instant and not from the last one.
pub(crate) fn sleep_until(end: Instant) {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::park_timeout(left);
    }
}

/// Spins until then, for steps that are shorter than a sleep.
pub(crate) fn spin_until(end: Instant) {
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
