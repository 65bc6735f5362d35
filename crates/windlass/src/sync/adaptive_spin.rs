//! Spinning that is skipped while it does not pay.

use super::spin::SpinLength;

/// The decision whether the next spin is worth its cost, from how the last ones ended.
///
/// A thread that spins in vain keeps a core from the thread it has just woken, which then has to be
/// scheduled on another one. After [`TOLERATED_FAILURES`] spins in a row without success the spin
/// is skipped, more often with each failure, but not forever: the workload may change. Attempts to
/// find that out are short.
#[derive(Debug, Default)]
pub(crate) struct AdaptiveSpin {
    /// Occasions to skip before the next attempt.
    skips: u32,
    /// Failed attempts since the last success.
    failures: u32,
}

impl AdaptiveSpin {
    /// Returns whether to spin on this occasion.
    pub(crate) fn should_spin(&mut self) -> bool {
        let spins = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        spins
    }

    /// Returns how long to spin: not long for an attempt after many failures.
    pub(crate) fn length(&self) -> SpinLength {
        if self.failures > TOLERATED_FAILURES {
            SpinLength::Short
        } else {
            SpinLength::Full
        }
    }

    /// Records whether the last spin saw what it waited for, soon enough.
    ///
    /// A success after many failures may be a chance: it takes a second one to make up for all of them.
    pub(crate) fn record(&mut self, succeeded: bool) {
        self.failures = match succeeded {
            true if self.failures > TOLERATED_FAILURES => TOLERATED_FAILURES,
            true => 0,
            false => self.failures.saturating_add(1),
        };
        self.set_skips();
    }

    /// Records that the last spin failed, and cost more than most: the next ones are skipped at once.
    pub(crate) fn record_costly_failure(&mut self) {
        self.failures = TOLERATED_FAILURES + MAX_SKIP_EXPONENT;
        self.set_skips();
    }

    fn set_skips(&mut self) {
        let excess = self.failures.saturating_sub(TOLERATED_FAILURES);
        self.skips = (1 << excess.min(MAX_SKIP_EXPONENT)) - 1;
    }
}

/// Failures in a row that change nothing: even a steady exchange has occasional delays.
const TOLERATED_FAILURES: u32 = 16;

/// After many failures, one occasion in `2^MAX_SKIP_EXPONENT` is used.
const MAX_SKIP_EXPONENT: u32 = 6;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{AdaptiveSpin, MAX_SKIP_EXPONENT, SpinLength, TOLERATED_FAILURES};

    /// Returns how many of the next `occasions` are used, if each attempt succeeds or none does.
    fn attempts(spin: &mut AdaptiveSpin, occasions: usize, succeeds: bool) -> usize {
        let mut attempts = 0;
        for _ in 0..occasions {
            if spin.should_spin() {
                attempts += 1;
                spin.record(succeeds);
            }
        }
        attempts
    }

    /// Returns the state after many failures and one success.
    fn after_one_success() -> AdaptiveSpin {
        let mut spin = AdaptiveSpin::default();
        attempts(&mut spin, 500, false);
        while !spin.should_spin() {}
        spin.record(true);
        spin
    }

    #[test]
    fn a_spin_that_succeeds_is_repeated_every_time() {
        assert_eq!(attempts(&mut AdaptiveSpin::default(), 100, true), 100);
    }

    #[test]
    fn a_few_failures_in_a_row_change_nothing() {
        let mut spin = AdaptiveSpin::default();
        let tolerated = TOLERATED_FAILURES as usize;
        assert_eq!(attempts(&mut spin, tolerated, false), tolerated);
        assert_eq!(attempts(&mut spin, 1, true), 1);
        assert_eq!(attempts(&mut spin, tolerated, false), tolerated);
    }

    #[test]
    fn more_and_more_occasions_are_skipped_up_to_a_bound() {
        let mut spin = AdaptiveSpin::default();
        attempts(&mut spin, TOLERATED_FAILURES as usize, false);
        let mut between = Vec::new();
        for _ in 0..MAX_SKIP_EXPONENT + 2 {
            assert!(spin.should_spin());
            spin.record(false);
            between.push(spin.skips);
            while spin.skips > 0 {
                assert!(!spin.should_spin());
            }
        }
        assert_eq!(between, [1, 3, 7, 15, 31, 63, 63, 63]);
    }

    #[test]
    fn one_success_after_many_failures_is_not_trusted() {
        let mut spin = after_one_success();
        assert_eq!(attempts(&mut spin, 3, false), 2, "the third is skipped");
    }

    #[test]
    fn two_successes_make_up_for_all_failures() {
        let mut spin = after_one_success();
        assert_eq!(attempts(&mut spin, 1, true), 1);
        let tolerated = TOLERATED_FAILURES as usize;
        assert_eq!(attempts(&mut spin, tolerated, false), tolerated);
    }

    #[test]
    fn an_attempt_after_many_failures_is_short() {
        let mut spin = AdaptiveSpin::default();
        attempts(&mut spin, TOLERATED_FAILURES as usize, false);
        assert_eq!(spin.length(), SpinLength::Full);
        attempts(&mut spin, 1, false);
        assert_eq!(spin.length(), SpinLength::Short);
    }
}
