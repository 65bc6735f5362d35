//! Waits with a limit.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]

use std::time::{Duration, Instant};

/// The longest time that anything in a test may take.
pub const LONG: Duration = Duration::from_secs(30);

/// Waits until a condition holds; panics after [`LONG`].
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "not within {LONG:?}: {what}");
        windlass::interrupt::sleep(Duration::from_millis(2)).unwrap();
    }
}
