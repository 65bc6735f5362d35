//! How long to wait between attempts.

use std::time::Duration;

use super::period::mix;

/// How a random part is mixed into the wait between two attempts, so that many clients that failed at
/// once do not come back at once.
///
/// ```
/// use std::time::Duration;
/// use windlass::scheduled::{Jitter, Retry};
///
/// let policy = Retry::exponential(Duration::from_millis(50)).jitter(Jitter::Full);
/// # drop(policy);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// The wait is what the back-off says.
    None,
    /// Half of the wait is random: between one half of what the back-off says and all of it.
    #[default]
    Equal,
    /// All of the wait is random: between nothing and what the back-off says.
    Full,
}

/// The wait after each attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backoff {
    pub(super) first: Duration,
    pub(super) growth: Growth,
    pub(super) most: Duration,
    pub(super) jitter: Jitter,
}

/// How the wait grows from one attempt to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    Constant,
    Doubling,
}

impl Backoff {
    /// Returns the wait after attempt number `attempts`, counted from one. The random part is determined
    /// by the seed and that number.
    pub(super) fn wait(&self, attempts: u64, seed: u64) -> Duration {
        let doublings = match self.growth {
            Growth::Constant => 0,
            Growth::Doubling => u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX),
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let wait = self.first.saturating_mul(factor).min(self.most);
        let random = mix(seed ^ mix(attempts));
        match self.jitter {
            Jitter::None => wait,
            Jitter::Equal => wait - part(wait / 2, random),
            Jitter::Full => part(wait, random),
        }
    }
}

/// Returns a random part of the time, from nothing to all of it.
fn part(time: Duration, random: u64) -> Duration {
    let nanos = time.as_nanos();
    // Of a time of more than five hundred years all parts are alike.
    let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
    Duration::from_nanos(match nanos.checked_add(1) {
        None => random,
        Some(choices) => random % choices,
    })
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{Backoff, Growth, Jitter};

    const MS: Duration = Duration::from_millis(1);

    fn backoff(growth: Growth, jitter: Jitter) -> Backoff {
        Backoff {
            first: 10 * MS,
            growth,
            most: 70 * MS,
            jitter,
        }
    }

    /// WL-195
    #[test]
    fn the_wait_doubles_up_to_its_cap_or_stays() {
        let doubling = backoff(Growth::Doubling, Jitter::None);
        let waits: Vec<_> = (1..=5).map(|attempts| doubling.wait(attempts, 0)).collect();
        assert_eq!(waits, [10, 20, 40, 70, 70].map(|wait| wait * MS));
        assert_eq!(doubling.wait(u64::MAX, 0), 70 * MS);
        let constant = backoff(Growth::Constant, Jitter::None);
        assert_eq!(constant.wait(9, 0), 10 * MS);
        let endless = Backoff {
            most: Duration::MAX,
            ..doubling
        };
        assert!(endless.wait(u64::MAX, 0) >= 10 * MS * u32::MAX);
    }

    /// WL-195
    #[test]
    fn jitter_stays_within_its_bounds_and_uses_them() {
        for (jitter, least) in [(Jitter::Full, Duration::ZERO), (Jitter::Equal, 20 * MS)] {
            let backoff = backoff(Growth::Doubling, jitter);
            let waits: Vec<_> = (0..10_000).map(|seed| backoff.wait(3, seed)).collect();
            let (min, max) = (waits.iter().min(), waits.iter().max());
            let (min, max) = (*min.unwrap(), *max.unwrap());
            assert!(min >= least && max <= 40 * MS, "{min:?} {max:?}");
            assert!(min < least + MS && max > 39 * MS, "{min:?} {max:?}");
            assert_eq!(backoff.wait(3, 7), waits[7], "a seed determines it");
        }
    }
}
