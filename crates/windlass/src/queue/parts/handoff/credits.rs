//! The credits of a hand-off: takers that no element has been accepted for, or the debt.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The number of takers that no element has been accepted for, and who waits for one.
///
/// It is one word, so that neither a credit nor a putter is overlooked: a putter announces itself only
/// while there is no credit, and whoever adds a credit is told who waits. The upper half counts how often
/// a taker has added one.
///
/// The number is below zero while more elements are queued than takers wait: that is the *debt*. An element
/// is lent only while the word says that somebody watches and lends, and the watch ends of itself only
/// without a debt. Both are one step on the word, so that no element is lent that nobody watches.
///
/// Adding is a release and taking an acquire, so that what a taker did before it came is seen by whoever
/// accepts an element for it. What an element needs is ordered by the locks of the queue.
#[derive(Debug)]
pub(super) struct Credits(AtomicU64);

/// The flag of putters that wait for a credit.
const PUTTERS: u64 = 1;
/// The flag of submitters that wait for some time for credits.
const SUBMITTERS: u64 = 1 << 1;
/// The flag of a taker that watches the debt.
const WATCHED: u64 = 1 << 2;
/// The flag that elements are lent.
const LENDING: u64 = 1 << 3;
const CREDIT: u64 = 1 << 4;
const ADDITION: u64 = 1 << 32;

/// What is added to the number, so that it stays above zero in the word: more than there are elements or
/// threads.
const BIAS: i32 = 1 << 27;

/// A snapshot of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CreditsSnapshot(u64);

impl CreditsSnapshot {
    /// Returns how many takers there are that no element has been accepted for.
    pub(super) const fn count(self) -> u32 {
        match self.balance() {
            balance @ 0.. => balance.unsigned_abs(),
            _ => 0,
        }
    }

    /// Returns how many more elements are queued than takers wait.
    pub(super) const fn debt(self) -> u32 {
        match self.balance() {
            0.. => 0,
            balance => balance.unsigned_abs(),
        }
    }

    const fn balance(self) -> i32 {
        (self.0 % ADDITION / CREDIT) as i32 - BIAS
    }

    /// Returns how often a taker has added a credit, modulo 2^32.
    pub(super) const fn additions(self) -> u32 {
        (self.0 / ADDITION) as u32
    }

    pub(super) const fn has_putters(self) -> bool {
        self.0 & PUTTERS != 0
    }

    pub(super) const fn has_submitters(self) -> bool {
        self.0 & SUBMITTERS != 0
    }

    pub(super) const fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    pub(super) const fn is_lending(self) -> bool {
        self.0 & LENDING != 0
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

    const fn borrow(self, limit: u32) -> Option<u64> {
        if self.count() > 0 || (self.is_lending() && self.debt() < limit) {
            Some(self.0 - CREDIT)
        } else {
            None
        }
    }

    const fn begin_watch(self, limit: u32) -> Option<u64> {
        if self.is_watched() {
            return None;
        }
        Self(self.0 | WATCHED | LENDING).borrow(limit)
    }

    const fn end_watch(self) -> Option<u64> {
        match self.debt() {
            0 => Some(self.0 & !(WATCHED | LENDING)),
            _ => None,
        }
    }
}

impl Default for Credits {
    fn default() -> Self {
        Self(AtomicU64::new(BIAS as u64 * CREDIT))
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

    /// Takes a credit, or borrows one if elements are lent and the debt is below the limit.
    #[inline]
    #[must_use]
    pub(super) fn try_borrow(&self, limit: u32) -> bool {
        let borrow = |word| CreditsSnapshot(word).borrow(limit);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, borrow)
            .is_ok()
    }

    /// Takes back the credit of a taker that leaves though elements are queued, to watch.
    pub(super) fn withdraw_taker(&self) {
        self.0.fetch_sub(CREDIT, Ordering::AcqRel);
    }

    /// Adds credits for elements that were removed without a taker; returns the word with them.
    pub(super) fn add_removed(&self, elements: usize) -> CreditsSnapshot {
        let added = elements as u64 * CREDIT;
        CreditsSnapshot(self.0.fetch_add(added, Ordering::AcqRel) + added)
    }

    /// Begins a watch, with lending, and borrows a credit; false if there is a watch, or the debt has reached
    /// the limit.
    #[must_use]
    pub(super) fn try_begin_watch(&self, limit: u32) -> bool {
        let begin = |word| CreditsSnapshot(word).begin_watch(limit);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, begin)
            .is_ok()
    }

    /// Ends the watch and the lending, unless there is a debt.
    #[must_use]
    pub(super) fn try_end_watch(&self) -> bool {
        let end = |word| CreditsSnapshot(word).end_watch();
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, end)
            .is_ok()
    }

    /// Ends the watch and the lending; a debt stays.
    pub(super) fn abandon_watch(&self) {
        self.0.fetch_and(!(WATCHED | LENDING), Ordering::AcqRel);
    }

    /// Lends from now on, or no longer. Called by who watches.
    pub(super) fn set_lending(&self, lends: bool) {
        if lends {
            self.0.fetch_or(LENDING, Ordering::AcqRel);
        } else {
            self.0.fetch_and(!LENDING, Ordering::AcqRel);
        }
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
        let credits = Credits::default();
        credits
            .0
            .fetch_add(u64::from(u32::MAX) << 32, super::Ordering::Relaxed);
        assert_eq!((credits.add().count(), credits.load().additions()), (1, 0));
        assert!(!credits.load().is_awaited());
    }

    #[test]
    fn nothing_is_lent_that_nobody_watches() {
        let credits = Credits::default();
        assert!(!credits.try_borrow(2));
        assert!(credits.try_begin_watch(2) && !credits.try_begin_watch(2));
        assert!(credits.try_borrow(2));
        assert!(!credits.try_borrow(2) && !credits.try_take());
        assert_eq!((credits.load().count(), credits.load().debt()), (0, 2));
        assert!(!credits.try_end_watch());
        credits.set_lending(false);
        let _ = credits.add();
        assert!(!credits.try_borrow(2));
        let _ = credits.add_removed(1);
        assert!(credits.try_end_watch() && !credits.load().is_watched());
        assert!(!credits.try_borrow(2));
    }

    #[test]
    fn a_debt_is_repaid_before_there_is_a_credit() {
        let credits = Credits::default();
        assert!(credits.try_begin_watch(1) && !credits.try_borrow(1));
        assert!(credits.announce_putter());
        assert_eq!((credits.add().count(), credits.load().debt()), (0, 0));
        assert!(!credits.try_take());
        assert_eq!(credits.add().count(), 1);
        assert!(credits.try_take());
        credits.withdraw_taker();
        assert_eq!(credits.load().debt(), 1);
        credits.abandon_watch();
        assert!(!credits.load().is_lending() && credits.load().debt() == 1);
    }
}
