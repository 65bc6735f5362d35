//! The last task count that was given out.
//!
//! A task on its way from the queue to a worker can be seen in neither place, so a look at the pool
//! gives only the least and the most that there can be. But the count falls by removal alone: it is
//! still at least what it was said to be before, unless tasks have been removed since.
//!
//! The word is the count, and above it the number of removals, so that a count from before a
//! removal is not noted after it. It is read before the look, and written after it.

use crate::sync::atomic::{AtomicU64, Ordering};

/// Bits of the count; more tasks than any pool ever runs.
const COUNT_BITS: u32 = 48;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

/// The tally at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noted(u64);

impl Noted {
    fn count(self) -> u64 {
        self.0 & COUNT_MASK
    }

    fn removals(self) -> u64 {
        self.0 >> COUNT_BITS
    }

    fn with_count(self, count: u64) -> Self {
        Self((self.0 & !COUNT_MASK) | (count & COUNT_MASK))
    }
}

impl Tally {
    /// To be called before anything is counted.
    pub(crate) fn last(&self) -> Noted {
        Noted(self.0.load(Ordering::SeqCst))
    }

    /// Gives the count that is known to lie between these, and notes it.
    pub(crate) fn settle(&self, last: Noted, least: u64, most: u64) -> u64 {
        let count = last.count().min(most).max(least);
        let update = |word| {
            let now = Noted(word);
            // A count below the last one shows that tasks were removed by hand.
            let news = now == last || (now.removals() == last.removals() && now.count() < count);
            news.then(|| now.with_count(count).0)
        };
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, update);
        count
    }

    /// Tasks have been removed, and the count may fall.
    pub(crate) fn forget(&self) {
        let forget = |word| {
            let removals = Noted(word).removals().wrapping_add(1);
            Some(removals << COUNT_BITS)
        };
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, forget);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Tally;

    #[test]
    fn the_count_does_not_fall_while_it_cannot_have() {
        let tally = Tally::default();
        assert_eq!(tally.settle(tally.last(), 5, 5), 5);
        assert_eq!(tally.settle(tally.last(), 3, 6), 5);
        assert_eq!(tally.settle(tally.last(), 7, 9), 7);
    }

    #[test]
    fn the_count_falls_when_it_must_have() {
        let tally = Tally::default();
        tally.settle(tally.last(), 5, 5);
        assert_eq!(tally.settle(tally.last(), 3, 4), 4);
        assert_eq!(tally.settle(tally.last(), 3, 9), 4);
    }

    #[test]
    fn a_count_from_before_a_removal_is_not_noted_after_it() {
        let tally = Tally::default();
        let before = tally.last();
        tally.forget();
        assert_eq!(tally.settle(before, 5, 5), 5);
        assert_eq!(tally.settle(tally.last(), 4, 9), 4);
    }

    #[test]
    fn removals_without_end_do_not_reach_the_count() {
        let tally = Tally::default();
        for _ in 0..70_000 {
            tally.forget();
        }
        assert_eq!(tally.settle(tally.last(), 2, 9), 2);
    }
}
