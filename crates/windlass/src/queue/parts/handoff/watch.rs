//! The judgement of a watch over a debt: whether takers return, or threads have to be started.

/// The judgement of who watches a debt, from how many takers have returned since the last look.
///
/// As long as takers return at least as fast as threads could be started, the queued elements are served
/// sooner by them. Otherwise threads are started for the debt: none at the first look, since all cores may
/// have been busy elsewhere, then one, and twice as many at each further look without returns. A thread
/// that was started adds a credit when it comes, as one that returns does: so those that have not come
/// yet are not counted as returns. One that does not come for long may never do, since a thread can be
/// lost, or retire at once: then another is started.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The additions at the last look.
    additions: u32,
    /// Threads that were started and have not come yet.
    outstanding: u32,
    /// Looks in a row without returns.
    stalled: u32,
    /// Those of them at which threads were to be started.
    starts: u32,
    /// Looks in a row at which nobody came, though a thread was started for each element.
    vain: u32,
}

/// The next step of who watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Takers return.
    Returning,
    /// None does; perhaps they are about to.
    Stalled,
    /// None does: so many threads are to be started.
    Start(u32),
}

impl Watch {
    /// Begins a watch when takers have added so many credits, modulo 2^32.
    pub(super) const fn new(additions: u32) -> Self {
        Self {
            additions,
            outstanding: 0,
            stalled: 0,
            starts: 0,
            vain: 0,
        }
    }

    /// Decides what to do about this debt, when takers have added so many credits. `has_parked` tells
    /// whether takers are parked, which are woken for what is queued one after the other.
    pub(super) fn judge(&mut self, additions: u32, debt: u32, has_parked: bool) -> Judgement {
        let came = additions.wrapping_sub(self.additions);
        self.additions = additions;
        if came >= self.outstanding + MIN_RETURNS {
            self.outstanding = 0;
            (self.stalled, self.starts, self.vain) = (0, 0, 0);
            return Judgement::Returning;
        }
        self.outstanding = self.outstanding.saturating_sub(came);
        self.stalled += 1;
        let patience = if has_parked {
            LOOKS_WHILE_WAKING
        } else {
            LOOKS_IN_VAIN
        };
        if self.stalled <= patience {
            return Judgement::Stalled;
        }
        let uncovered = debt.saturating_sub(self.outstanding);
        if uncovered == 0 {
            self.await_started(came);
            return Judgement::Stalled;
        }
        let most = 1 << self.starts.min(MAX_START_EXPONENT);
        self.starts += 1;
        Judgement::Start(uncovered.min(most))
    }

    /// Gives up threads that were started, if none of them comes for long.
    const fn await_started(&mut self, came: u32) {
        self.vain = if came > 0 { 0 } else { self.vain + 1 };
        if self.vain > LOOKS_FOR_STARTED {
            (self.outstanding, self.vain) = (0, 0);
        }
    }

    /// Returns whether no thread had to be started since takers last returned.
    pub(super) const fn is_returning(&self) -> bool {
        self.starts == 0
    }

    /// Records that so many threads were started.
    pub(crate) const fn record_started(&mut self, threads: u32) {
        self.outstanding += threads;
    }

    /// Returns the additions when all threads that were started will have come.
    pub(super) const fn additions_when_all_came(&self) -> u32 {
        self.additions.wrapping_add(self.outstanding)
    }
}

/// Returns between two looks that make lending worthwhile: in that time so many threads could be started.
const MIN_RETURNS: u32 = 2;

/// Looks without returns before a thread is started.
const LOOKS_IN_VAIN: u32 = 1;

/// The same while takers are parked: with all cores busy they wake late, and so would a new thread run.
const LOOKS_WHILE_WAKING: u32 = 16;

/// Looks without anybody who comes, after which threads that were started are given up.
const LOOKS_FOR_STARTED: u32 = 64;

/// At most `2^MAX_START_EXPONENT` threads are started at one look.
const MAX_START_EXPONENT: u32 = 10;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Judgement, LOOKS_FOR_STARTED, LOOKS_WHILE_WAKING, MIN_RETURNS, Watch};

    /// Returns what is decided in so many looks, without returns; threads that are started come at once.
    fn starts(debt: u32, looks: usize) -> Vec<u32> {
        let (mut watch, mut additions, mut debt) = (Watch::new(0), 0, debt);
        let mut started = Vec::new();
        for _ in 0..looks {
            if let Judgement::Start(threads) = watch.judge(additions, debt, false) {
                watch.record_started(threads);
                started.push(threads);
                additions += threads;
                debt -= threads;
            }
        }
        started
    }

    #[test]
    fn without_returns_a_debt_gets_a_thread_each_twice_as_many_at_a_time() {
        assert_eq!(starts(20, 1), []);
        assert_eq!(starts(20, 2), [1]);
        assert_eq!(starts(20, 9), [1, 2, 4, 8, 5]);
    }

    #[test]
    fn while_takers_return_no_thread_is_started() {
        let mut watch = Watch::new(u32::MAX);
        for look in 1..100 {
            let additions = u32::MAX.wrapping_add(look * MIN_RETURNS);
            assert_eq!(watch.judge(additions, 9, false), Judgement::Returning);
        }
    }

    #[test]
    fn threads_that_come_are_no_returns() {
        let mut watch = Watch::new(0);
        assert_eq!(watch.judge(0, 9, false), Judgement::Stalled);
        assert_eq!(watch.judge(0, 9, false), Judgement::Start(1));
        watch.record_started(1);
        assert_eq!(watch.judge(1, 8, false), Judgement::Start(2));
        watch.record_started(2);
        assert_eq!(watch.judge(3 + MIN_RETURNS, 4, false), Judgement::Returning);
    }

    #[test]
    fn no_more_threads_are_started_than_elements_are_owed() {
        let mut watch = Watch::new(0);
        assert_eq!(watch.judge(0, 2, false), Judgement::Stalled);
        assert_eq!(watch.judge(0, 2, false), Judgement::Start(1));
        watch.record_started(1);
        assert_eq!(watch.judge(0, 2, false), Judgement::Start(1));
        watch.record_started(1);
        assert_eq!(watch.judge(0, 2, false), Judgement::Stalled);
        assert_eq!(watch.additions_when_all_came(), 2);
    }

    #[test]
    fn a_thread_that_never_comes_is_replaced() {
        let mut watch = Watch::new(0);
        assert_eq!(watch.judge(0, 1, false), Judgement::Stalled);
        assert_eq!(watch.judge(0, 1, false), Judgement::Start(1));
        watch.record_started(1);
        for _ in 0..=LOOKS_FOR_STARTED {
            assert_eq!(watch.judge(0, 1, false), Judgement::Stalled);
        }
        assert_eq!(watch.judge(0, 1, false), Judgement::Start(1));
    }

    #[test]
    fn takers_that_are_parked_get_time_to_wake() {
        let mut watch = Watch::new(0);
        for _ in 0..LOOKS_WHILE_WAKING {
            assert_eq!(watch.judge(0, 2, true), Judgement::Stalled);
        }
        assert_eq!(watch.judge(0, 2, true), Judgement::Start(1));
    }

    #[test]
    fn after_the_time_for_parked_takers_threads_are_started_one_by_one_too() {
        let mut watch = Watch::new(0);
        for _ in 0..LOOKS_WHILE_WAKING {
            assert_eq!(watch.judge(0, 9, true), Judgement::Stalled);
        }
        assert_eq!(watch.judge(0, 9, false), Judgement::Start(1));
    }
}
