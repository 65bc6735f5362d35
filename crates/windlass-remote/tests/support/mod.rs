//! Task types and waits that the tests share.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail by panicking"
)]

#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod server;
pub mod tasks;

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
