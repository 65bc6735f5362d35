//! The decision whether a thread that finds nothing to take, or no room, yields before it parks.

use std::time::Duration;

use crate::sync::AdaptiveSpin;

/// The decision whether the next thread that would have to wait yields first: while that pays.
///
/// If the threads of the other end are ready on this core, a yield lets them fill or empty the whole
/// queue, where a wake-up for each element would cost a switch of threads each time. But if other
/// programs want the core, a yield costs a time slice or several, and a thread that sleeps is run
/// sooner after its wake-up. The time that the last yields took, beside what they brought, tells the
/// two apart.
#[derive(Debug, Default)]
pub(super) struct Yielding(AdaptiveSpin);

impl Yielding {
    /// Returns whether to yield on this occasion.
    pub(super) fn is_due(&mut self) -> bool {
        self.0.should_spin()
    }

    /// Records how many elements or places the last yield brought, to this thread or another, and how long
    /// it took.
    pub(super) fn record(&mut self, gained: usize, took: Duration) {
        let gained = u32::try_from(gained).unwrap_or(u32::MAX);
        let worth = SLEEP_AND_WAKE_UP.saturating_add(WORTH_OF_ONE.saturating_mul(gained));
        if took > TIME_SLICE.max(worth) {
            self.0.record_costly_failure();
        } else {
            self.0.record(gained > 0 && took <= worth);
        }
    }
}

/// What the alternative costs.
const SLEEP_AND_WAKE_UP: Duration = Duration::from_micros(20);

/// A yield that takes so long has given the core to another program.
const TIME_SLICE: Duration = Duration::from_micros(500);

/// How long a yield may take for each element or place that it brings.
const WORTH_OF_ONE: Duration = Duration::from_micros(1);

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::Yielding;

    /// Returns how many of a hundred occasions are used, if each yield brings so much in so long.
    fn yields(gained: usize, micros: u64) -> usize {
        let mut yielding = Yielding::default();
        let mut used = 0;
        for _ in 0..100 {
            if yielding.is_due() {
                used += 1;
                yielding.record(gained, Duration::from_micros(micros));
            }
        }
        used
    }

    #[test]
    fn a_yield_that_brings_much_in_a_short_time_is_repeated() {
        assert_eq!(yields(1, 5), 100);
        assert_eq!(yields(1_024, 40), 100);
        assert_eq!(yields(100_000, 3_000), 100);
    }

    #[test]
    fn a_yield_that_brings_nothing_or_takes_time_slices_is_skipped() {
        assert!(yields(0, 1) < 40);
        assert!(yields(1, 100) < 40);
        assert!(yields(1, 3_000) < 5);
        assert!(yields(1_024, 3_000) < 5);
    }
}
