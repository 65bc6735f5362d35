//! The decision whether a submitter waits for a taker to return: only while takers do.

/// The decision whether the next wait for a returning taker is worth its time, from how the last ones
/// ended and from how many takers have returned since.
///
/// Without a return since the last wait in vain all takers are still busy, and the next wait would be
/// in vain too. After several in a row more of them have to return first, up to a bound: tasks may have
/// become short again.
#[derive(Debug)]
pub(super) struct Patience {
    /// The number of returns at the last wait in vain.
    returns_at_failure: u32,
    /// Returns since then that make the next wait worthwhile.
    needed: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            returns_at_failure: 0,
            needed: 1,
        }
    }
}

impl Patience {
    /// Returns whether to wait, when takers have returned so many times, modulo 2^32.
    pub(super) fn should_wait(&self, returns: u32) -> bool {
        returns.wrapping_sub(self.returns_at_failure) >= self.needed
    }

    /// Records whether a taker returned during the last wait.
    pub(super) fn record(&mut self, returned: bool, returns: u32) {
        if returned {
            self.needed = 1;
        } else {
            self.returns_at_failure = returns;
            self.needed = (self.needed * 2).min(MAX_NEEDED);
        }
    }
}

/// After many waits in vain, one is attempted for so many returns.
const MAX_NEEDED: u32 = 64;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{MAX_NEEDED, Patience};

    #[test]
    fn nobody_waits_before_a_taker_has_returned() {
        assert!(!Patience::default().should_wait(0));
        assert!(Patience::default().should_wait(1));
    }

    #[test]
    fn after_a_wait_in_vain_nobody_waits_until_takers_return() {
        let mut patience = Patience::default();
        patience.record(false, 7);
        assert!(!patience.should_wait(7));
        assert!(patience.should_wait(9));
    }

    #[test]
    fn each_wait_in_vain_asks_for_more_returns_up_to_a_bound() {
        let (mut patience, mut returns) = (Patience::default(), 0);
        let asked = [(); 8].map(|()| {
            patience.record(false, returns);
            let before = returns;
            while !patience.should_wait(returns) {
                returns += 1;
            }
            returns - before
        });
        assert_eq!(asked, [2, 4, 8, 16, 32, 64, 64, MAX_NEEDED]);
    }

    #[test]
    fn a_taker_that_returns_makes_up_for_all_waits_in_vain() {
        let mut patience = Patience::default();
        (0..9).for_each(|_| patience.record(false, 0));
        patience.record(true, 100);
        assert!(patience.should_wait(101));
    }
}
