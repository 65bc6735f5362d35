//! Lending: more elements are accepted than takers wait, while takers return quickly.
//!
//! A submitter that is ahead of takers with short tasks would sleep for each batch of credits. It is lent a
//! credit instead, up to a limit, and the queue is longer than takers wait: there is a *debt*. Each taker that
//! comes for the next element repays one.
//!
//! An element of the debt must not wait behind takers that do not return. So a credit is lent only while
//! somebody *watches*: a taker that is taken out of those that are parked, with the first element lent.
//! It sleeps by the clock and [looks](BufferedHandoff::inspect) whether takers [return](Watch); if they do
//! not, nothing is lent any more, and it starts threads for the debt. Its duty ends when there is no debt, or no
//! thread can be started: then it takes elements as before, and what is left of the debt is served by takers
//! that return.
//!
//! Without a parked taker nothing is lent.

use super::buffered::{BufferedHandoff, Received, take_item};
use super::watch::{Judgement, Watch};
use crate::interrupt::Interrupted;
use crate::queue::BlockingQueue;
use crate::queue::parts::two_lock::Taker;
use crate::queue::parts::wait_limit::WaitLimit;

/// What who watches does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inspected {
    /// Sleeps, and looks again.
    Watch,
    /// Starts so many threads, and looks again.
    Start(u32),
    /// Nothing: its duty has ended.
    Done,
}

impl<T: Send> BufferedHandoff<T> {
    /// Returns whether credits are lent at all.
    pub(crate) const fn lends(&self) -> bool {
        self.debt_limit > 0
    }

    pub(crate) const fn debt_limit(&self) -> u32 {
        self.debt_limit
    }

    /// Accepts the element without a taker that waits, if takers return quickly and one watches. While the
    /// debt is at its limit, waits for takers to return.
    pub(crate) fn lend(&self, item: T) -> Result<(), T> {
        let mut item = Some(item);
        if self.credits.load().is_lending() {
            if !self.try_lend(&mut item) {
                self.wait_for_returning();
                self.try_lend(&mut item);
            }
        } else if self.is_worthwhile() {
            self.accepted.push_recruiting(
                || self.credits.try_begin_watch(self.debt_limit),
                || take_item(&mut item),
            );
        }
        item.map_or(Ok(()), Err)
    }

    fn try_lend(&self, item: &mut Option<T>) -> bool {
        let borrow = || self.credits.try_borrow(self.debt_limit);
        self.accepted.push_if(borrow, || take_item(item))
    }

    /// Returns whether takers have returned since nobody did, and nobody watches.
    fn is_worthwhile(&self) -> bool {
        let submitters = self.submitters.lock();
        let credits = self.credits.load();
        !credits.is_watched() && submitters.patience.should_wait(credits.additions())
    }

    /// Receives an element, or the duty to watch.
    pub(crate) fn take_or_watch(&self, limit: WaitLimit) -> Result<Received<T>, Interrupted> {
        let taker = if self.lends() {
            Taker::Recruitable
        } else {
            Taker::Ordinary
        };
        self.take_as(taker, limit)
    }

    /// Begins the duty of a taker that has received it.
    pub(crate) fn watch(&self) -> Watch {
        Watch::new(self.credits.load().additions())
    }

    /// Decides what the taker that watches does next.
    pub(crate) fn inspect(&self, watch: &mut Watch) -> Inspected {
        if self.credits.try_end_watch() {
            self.record(watch);
            return Inspected::Done;
        }
        let credits = self.credits.load();
        let parked = self.accepted.waiting().unwrap_or_default();
        let has_parked = parked.takers > 0;
        match watch.judge(credits.additions(), credits.debt(), has_parked) {
            Judgement::Returning => {
                if !credits.is_lending() {
                    self.credits.set_lending(true);
                }
                Inspected::Watch
            }
            Judgement::Stalled => {
                self.suspend_lending();
                Inspected::Watch
            }
            Judgement::Start(threads) => Inspected::Start(threads),
        }
    }

    /// Lends nothing until takers return. Called by the taker that watches.
    pub(crate) fn suspend_lending(&self) {
        self.credits.set_lending(false);
    }

    /// Ends the duty of the taker that watches, though there may be a debt. Nothing is lent until takers
    /// return.
    pub(crate) fn resign(&self, watch: &Watch) {
        self.record(watch);
        self.credits.abandon_watch();
    }

    /// Records whether lending was worthwhile.
    fn record(&self, watch: &Watch) {
        let mut submitters = self.submitters.lock();
        let returns = watch.additions_when_all_came();
        submitters.patience.record(watch.is_returning(), returns);
    }

    /// Returns whether no element is queued.
    pub(crate) fn is_drained(&self) -> bool {
        self.accepted.is_empty()
    }

    /// Removes all elements that are queued, in their order.
    pub(crate) fn drain_accepted(&self) -> Vec<T> {
        let drained = self.accepted.retain(&mut |_| {
            // Under the locks: a taker that gives up relies on its credit.
            let _ = self.credits.add_removed(1);
            false
        });
        self.serve_if_awaited();
        drained
    }

    /// Removes the first element that is queued and satisfies the predicate.
    pub(crate) fn remove_accepted(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        let removed = self.accepted.remove_first(&mut |item| {
            let is_wanted = wanted(item);
            if is_wanted {
                let _ = self.credits.add_removed(1);
            }
            is_wanted
        });
        self.serve_if_awaited();
        removed
    }

    fn serve_if_awaited(&self) {
        let credits = self.credits.load();
        if credits.is_awaited() {
            self.serve_busy(credits);
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{BufferedHandoff, Inspected, Received};
    use crate::interrupt;
    use crate::queue::parts::scenarios::spawn;
    use crate::queue::parts::wait_limit::WaitLimit;
    use crate::sync::{model, thread};

    fn lending() -> Arc<BufferedHandoff<u32>> {
        Arc::new(BufferedHandoff::with_debt_limit(4))
    }

    fn await_parked(handoff: &BufferedHandoff<u32>, takers: usize) {
        while handoff.waiting().takers < takers {
            thread::yield_now();
        }
    }

    /// Receives once, and does its duty; takes elements itself in the place of threads. Returns the sum.
    fn receive(handoff: &BufferedHandoff<u32>) -> u32 {
        match handoff.take_or_watch(WaitLimit::Forever).unwrap() {
            Received::Element(item) => item,
            Received::Nothing => 0,
            Received::Watch => watch(handoff),
        }
    }

    fn watch(handoff: &BufferedHandoff<u32>) -> u32 {
        let (mut watch, mut sum) = (handoff.watch(), 0);
        loop {
            match handoff.inspect(&mut watch) {
                Inspected::Watch => thread::yield_now(),
                Inspected::Done => return sum,
                Inspected::Start(threads) => {
                    watch.record_started(threads);
                    let take = |_| handoff.take(WaitLimit::NoWait).unwrap();
                    sum += (0..threads).filter_map(take).sum::<u32>();
                }
            }
        }
    }

    /// Without takers there is neither a credit nor a debt.
    fn assert_balanced(handoff: &BufferedHandoff<u32>) {
        assert!(handoff.is_drained());
        let credits = handoff.credits.load();
        assert_eq!((credits.count(), credits.debt()), (0, 0));
        assert!(!credits.is_watched() && !credits.is_lending());
    }

    /// The watch ends while the second element is lent: then it is refused, or watched.
    #[test]
    fn nothing_is_lent_that_nobody_watches() {
        model(|| {
            let handoff = lending();
            let theirs = Arc::clone(&handoff);
            let worker = spawn(move || receive(&theirs));
            await_parked(&handoff, 1);
            // In a model a timed wait for takers that return may last forever.
            interrupt::current().interrupt();
            let lent = [1, 2].map(|item| handoff.lend(item).map_or(0, |()| item));
            assert_eq!(lent[0], 1);
            assert!(interrupt::interrupted());
            assert_eq!(worker.join().unwrap(), lent.iter().sum());
            assert_balanced(&handoff);
        });
    }

    /// The other taker was not signalled for the element, since the recruited one was waking.
    #[test]
    fn a_taker_that_is_recruited_leaves_the_element_to_another() {
        model(|| {
            let handoff = lending();
            let takers = [(); 2].map(|()| {
                let handoff = Arc::clone(&handoff);
                spawn(move || handoff.take_or_watch(WaitLimit::Forever).unwrap())
            });
            await_parked(&handoff, 2);
            handoff.lend(1).unwrap();
            let received = takers.map(|taker| taker.join().unwrap());
            assert!(received.contains(&Received::Watch));
            assert!(received.contains(&Received::Element(1)));
            assert!(handoff.credits.try_end_watch());
            assert_balanced(&handoff);
        });
    }

    #[test]
    fn what_is_drained_is_owed_no_longer() {
        model(|| {
            let handoff = lending();
            let theirs = Arc::clone(&handoff);
            let worker = spawn(move || receive(&theirs));
            await_parked(&handoff, 1);
            handoff.lend(1).unwrap();
            let drained: u32 = handoff.drain_accepted().iter().sum();
            assert_eq!(worker.join().unwrap() + drained, 1);
            assert_balanced(&handoff);
        });
    }

    /// The interrupt ends its wait before it begins.
    #[test]
    fn a_taker_that_gives_up_while_its_element_is_removed_takes_its_credit_back() {
        model(|| {
            let handoff = lending();
            let theirs = Arc::clone(&handoff);
            let taker = spawn(move || {
                interrupt::current().interrupt();
                theirs.take(WaitLimit::Forever)
            });
            let put = handoff.put(1, WaitLimit::NoWait).is_ok();
            let removed = handoff.remove_accepted(&mut |_| true);
            let taken = taker.join().unwrap().unwrap_or(None);
            assert_eq!(removed.or(taken), put.then_some(1));
            assert!(removed.is_none() || taken.is_none());
            assert_balanced(&handoff);
        });
    }

    /// An ordinary taker, of somebody else, has no such duty.
    #[test]
    fn only_a_taker_that_can_watch_is_recruited() {
        model(|| {
            let handoff = lending();
            let theirs = Arc::clone(&handoff);
            let taker = spawn(move || theirs.take(WaitLimit::Forever).unwrap());
            await_parked(&handoff, 1);
            assert_eq!(handoff.lend(1), Err(1));
            handoff.put(2, WaitLimit::NoWait).unwrap();
            assert_eq!(taker.join().unwrap(), Some(2));
            assert_balanced(&handoff);
        });
    }
}
