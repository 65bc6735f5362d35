//! Times and counts as JSON has them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest whole number that a reader of JSON is sure to keep: numbers are floating-point to it.
const LARGEST: u64 = 1 << 53;

/// Returns the Unix time in milliseconds.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}

/// Returns a bound, unless it is so large that it is none.
pub(super) fn bound(count: usize) -> Option<u64> {
    u64::try_from(count).ok().filter(|&count| count <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::{bound, milliseconds};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_time_before_the_epoch_is_zero() {
        assert_eq!(milliseconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
        assert_eq!(milliseconds(UNIX_EPOCH + Duration::from_millis(1500)), 1500);
    }

    #[test]
    fn a_bound_that_no_reader_could_keep_is_none() {
        assert_eq!(bound(8), Some(8));
        assert_eq!(bound(usize::MAX), None);
    }
}
