//! A console on a free port with pools of its own, and a plain HTTP client that can misbehave.

pub(crate) mod contract;
pub(crate) mod http;
#[cfg(feature = "remote")]
pub(crate) mod redis;
pub(crate) mod stage;

use std::time::{Duration, Instant};

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until something is so.
#[track_caller]
pub(crate) fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
