//! Points in time as nonzero numbers, for atomics.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::clock;

/// Converts a time into nanoseconds since a process-wide epoch; never zero.
#[inline]
pub(crate) fn nanos(at: Instant) -> u64 {
    let since = at.saturating_duration_since(epoch());
    let nanos = since.as_secs().saturating_mul(1_000_000_000);
    nanos.saturating_add(u64::from(since.subsec_nanos())).max(1)
}

/// Converts the result of [`nanos`] back into a time.
pub(crate) fn instant(nanos: u64) -> Instant {
    epoch() + Duration::from_nanos(nanos)
}

/// Returns the epoch: an hour before the first call, so that times which were read before that call
/// can be converted too.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        let now = clock::system_now();
        now.checked_sub(Duration::from_secs(3600)).unwrap_or(now)
    })
}
