//! Durations of users as milliseconds that can be added to the engine's time.

use std::time::Duration;

/// More than 30,000 years. What is longer is cut: added to a time it would overflow, and what should wait forever would be due at once.
const MAX_MILLIS: u64 = 1_000_000_000_000_000;

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(MAX_MILLIS, |millis| millis.min(MAX_MILLIS))
}

#[cfg(test)]
mod tests {
    use super::{MAX_MILLIS, millis};
    use std::time::Duration;

    #[test]
    fn the_longest_time_is_long_and_does_not_overflow() {
        assert_eq!(millis(Duration::from_micros(1_999)), 1);
        assert_eq!(millis(Duration::MAX), MAX_MILLIS);
        // Fits 64 bits and is cut all the same.
        assert_eq!(millis(Duration::from_millis(u64::MAX)), MAX_MILLIS);
    }
}
