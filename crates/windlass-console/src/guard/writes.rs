//! How often a pool may be changed: once a second.
//!
//! A script that changes a pool in a loop would see none of its changes have an effect. Attempts that
//! were refused do not count.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;

const PAUSE: Duration = Duration::from_secs(1);

/// When each pool was last changed.
#[derive(Debug, Default)]
pub(crate) struct Writes(Mutex<HashMap<String, Instant>>);

impl Writes {
    /// Makes a change of a pool, unless another one was made less than a second ago.
    pub(crate) fn make<T>(
        &self,
        pool: &str,
        now: Instant,
        change: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(wait) = self.reserve(pool, now) {
            return Err(Failure::too_many(
                "a pool is changed once a second at most",
                wait,
            ));
        }
        let outcome = change();
        if outcome.is_err() {
            self.with(|changed| changed.remove(pool));
        }
        outcome
    }

    /// Notes the change before it is made, so that no other begins meanwhile. Returns how long to wait if
    /// it cannot be made.
    fn reserve(&self, pool: &str, now: Instant) -> Option<Duration> {
        self.with(|changed| {
            changed.retain(|_, at| now.saturating_duration_since(*at) < PAUSE);
            if let Some(at) = changed.get(pool) {
                return Some(PAUSE - now.saturating_duration_since(*at));
            }
            changed.insert(pool.to_owned(), now);
            None
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut HashMap<String, Instant>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::Writes;
    use crate::failure::Failure;
    use axum::http::StatusCode;
    use std::time::{Duration, Instant};

    #[test]
    fn a_pool_is_changed_once_a_second() {
        let writes = Writes::default();
        let now = Instant::now();
        assert_eq!(writes.make("web", now, || Ok(1)), Ok(1));
        let refused = writes
            .make("web", now + Duration::from_millis(999), || Ok(2))
            .unwrap_err();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(writes.make("jobs", now, || Ok(3)), Ok(3));
        assert_eq!(
            writes.make("web", now + Duration::from_secs(1), || Ok(4)),
            Ok(4)
        );
    }

    #[test]
    fn an_attempt_that_was_refused_does_not_count() {
        let writes = Writes::default();
        let now = Instant::now();
        let failure = Failure::conflict("stale");
        assert_eq!(
            writes.make("web", now, || Err::<(), _>(failure.clone())),
            Err(failure)
        );
        assert_eq!(writes.make("web", now, || Ok(1)), Ok(1));
    }
}
