//! The credits of a hand-off: takers that no element has been accepted for.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The number of takers that no element has been accepted for, and who waits for one.
///
/// It is one word, so that neither a credit nor a putter is overlooked: a putter announces itself only
/// while there is no credit, and whoever adds a credit is told who waits. The upper half counts how often
/// a credit was added.
///
/// Adding is a release and taking an acquire, so that what a taker did before it came is seen by whoever
/// accepts an element for it. What an element needs is ordered by the locks of the queue.
#[derive(Debug, Default)]
pub(super) struct Credits(AtomicU64);

/// The flag of putters that wait for a credit.
const PUTTERS: u64 = 1;
/// The flag of submitters that wait for some time for credits.
const SUBMITTERS: u64 = 1 << 1;
const CREDIT: u64 = 1 << 2;
const ADDITION: u64 = 1 << 32;

/// A snapshot of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CreditsSnapshot(u64);

impl CreditsSnapshot {
    /// Returns how many takers there are that no element has been accepted for.
    pub(super) const fn count(self) -> u32 {
        (self.0 % ADDITION / CREDIT) as u32
    }

    /// Returns how often a credit was added, modulo 2^32.
    pub(super) const fn additions(self) -> u32 {
        (self.0 / ADDITION) as u32
    }

    pub(super) const fn has_putters(self) -> bool {
        self.0 & PUTTERS != 0
    }

    pub(super) const fn has_submitters(self) -> bool {
        self.0 & SUBMITTERS != 0
    }

    /// Returns whether anybody waits for credits.
    #[inline]
    pub(super) const fn is_awaited(self) -> bool {
        self.0 & (PUTTERS | SUBMITTERS) != 0
    }

    const fn take(self) -> Option<u64> {
        match self.count() {
            0 => None,
            _ => Some(self.0 - CREDIT),
        }
    }
}

impl Credits {
    #[inline]
    pub(super) fn load(&self) -> CreditsSnapshot {
        CreditsSnapshot(self.0.load(Ordering::Acquire))
    }

    /// Adds a credit; returns the word with it.
    #[inline]
    pub(super) fn add(&self) -> CreditsSnapshot {
        let added = ADDITION + CREDIT;
        let former = self.0.fetch_add(added, Ordering::AcqRel);
        CreditsSnapshot(former.wrapping_add(added))
    }

    /// Takes a credit, if there is one.
    #[inline]
    #[must_use]
    pub(super) fn try_take(&self) -> bool {
        let take = |word| CreditsSnapshot(word).take();
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, take)
            .is_ok()
    }

    /// Announces that a putter waits, unless there is a credit. Called under the lock of the putters.
    #[must_use]
    pub(super) fn announce_putter(&self) -> bool {
        let announce = |word| (CreditsSnapshot(word).count() == 0).then_some(word | PUTTERS);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, announce)
            .is_ok()
    }

    /// Records that no putter waits any more. Called under the lock of the putters.
    pub(super) fn withdraw_putters(&self) {
        self.0.fetch_and(!PUTTERS, Ordering::Relaxed);
    }

    /// Announces that a submitter waits; returns the word with that. Called under the lock of the
    /// submitters.
    pub(super) fn announce_submitter(&self) -> CreditsSnapshot {
        CreditsSnapshot(self.0.fetch_or(SUBMITTERS, Ordering::AcqRel) | SUBMITTERS)
    }

    /// Records that no submitter waits any more. Called under the lock of the submitters.
    pub(super) fn withdraw_submitters(&self) {
        self.0.fetch_and(!SUBMITTERS, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Credits;

    #[test]
    fn what_is_added_can_be_taken_once() {
        let credits = Credits::default();
        assert!(!credits.try_take());
        assert_eq!((credits.add().count(), credits.add().count()), (1, 2));
        assert!(credits.try_take() && credits.try_take());
        assert!(!credits.try_take());
        assert_eq!(credits.load().additions(), 2);
    }

    #[test]
    fn a_putter_is_announced_only_without_a_credit() {
        let credits = Credits::default();
        let _ = credits.add();
        assert!(!credits.announce_putter());
        assert!(!credits.load().is_awaited());
        assert!(credits.try_take() && credits.announce_putter());
        assert!(credits.add().has_putters());
        credits.withdraw_putters();
        assert_eq!(
            (credits.load().is_awaited(), credits.load().count()),
            (false, 1)
        );
    }

    #[test]
    fn additions_without_end_do_not_reach_the_credits() {
        let credits = Credits(super::AtomicU64::new(u64::from(u32::MAX) << 32));
        assert_eq!((credits.add().count(), credits.load().additions()), (1, 0));
        assert!(!credits.load().is_awaited());
    }
}
