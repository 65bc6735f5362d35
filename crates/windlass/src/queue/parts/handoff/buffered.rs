//! Hand-off to any of the takers that wait.
//!
//! An element is accepted only if a taker waits that no other element was accepted for. It is then
//! queued until a taker removes it: the one that is woken, or one that arrives sooner. In the
//! second case the woken one finds nothing and waits again. So a burst of elements does not cost a
//! wake-up each, and short tasks are run by the few threads that are awake.
//!
//! The invariant: [`Credits`] are the takers that wait, less the elements that are queued. A credit is
//! taken with the push of an element, under the tail lock, and added before a taker waits. A taker that
//! removes an element and leaves changes nothing. One that removes an element without having waited adds
//! a credit: the taker that the element was accepted for is free again. One that gives up takes an
//! element or, if none is queued, its credit back, under both locks: there is one.
//!
//! Who is woken when, and who spins or yields before, is decided by the [queue](TwoLockQueue). Elements
//! leave in the order in which they were accepted.
//!
//! # Submitters
//!
//! A submitter that could start a thread for its element may be [lent](super::lending) a credit.
//!
//! Without that it may [wait](BufferedHandoff::put_for_returning) for takers that are about to return, for
//! about as long as starting a thread would take. It is
//! woken when elements enough for a batch have been removed, or a taker finds nothing to do. Nobody
//! relies on that wake-up, since the wait is short.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::credits::{Credits, CreditsSnapshot};
use super::patience::Patience;
use crate::interrupt::{Interrupted, ThreadContext};
use crate::queue::BlockingQueue;
use crate::queue::blocking_queue::Waiting;
use crate::queue::error::PutError;
use crate::queue::parts::block_list::BlockList;
use crate::queue::parts::queue_lock::QueueLock;
use crate::queue::parts::two_lock::{Taker, TwoLockQueue};
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::clock::Clock;
use crate::sync::{AdaptiveSpin, Deadline, SpinLength, spin_until};
use crate::waiting::{WaitOutcome, WaitQueue, Wakeup, wait};

/// Hand-off of each element to any taker that waits.
pub(crate) struct BufferedHandoff<T: Send> {
    pub(super) credits: CachePadded<Credits>,
    pub(super) accepted: TwoLockQueue<BlockList<T>>,
    /// Putters that wait for a credit; none while there is one.
    putters: QueueLock<WaitQueue<T>>,
    pub(super) submitters: QueueLock<Submitters>,
    /// The largest debt; zero if nothing is lent.
    pub(super) debt_limit: u32,
}

/// Submitters that wait for takers to return, and whether that pays.
#[derive(Debug, Default)]
pub(super) struct Submitters {
    waiting: WaitQueue,
    spin: AdaptiveSpin,
    pub(super) patience: Patience,
}

/// What a taker has received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received<T> {
    Element(T),
    /// Nothing in its time.
    Nothing,
    /// The duty to watch the debt.
    Watch,
}

/// How long a submitter waits for a taker that is about to return: about as long as it takes to
/// start a thread.
const GRACE: Duration = Duration::from_micros(50);

/// How often that time is given while elements are queued that were accepted before: with all cores
/// busy their takers wake late, and so would a new thread run.
const MAX_GRACES: usize = 16;

/// The same while elements are lent: the wait ends when the debt is half of what it may be.
const LENDING_GRACE: Duration = Duration::from_micros(200);

/// Credits for which a submitter that waits is woken. Each wake-up should be worth a batch.
const BATCH: u32 = 36;

/// Checks of a submitter that spins for a batch of credits.
const CHECKS: u32 = 8;

impl<T: Send> Default for BufferedHandoff<T> {
    fn default() -> Self {
        Self {
            credits: CachePadded::default(),
            accepted: TwoLockQueue::for_handoff(Default::default()),
            putters: QueueLock::default(),
            submitters: QueueLock::default(),
            debt_limit: 0,
        }
    }
}

impl<T: Send> BufferedHandoff<T> {
    /// Creates a hand-off that lends up to so many credits.
    pub(crate) fn with_debt_limit(debt_limit: u32) -> Self {
        Self {
            debt_limit,
            ..Self::default()
        }
    }

    /// Hands the element to the takers, waiting for one no longer than `limit`.
    pub(crate) fn put(&self, item: T, limit: WaitLimit) -> Result<(), PutError<T>> {
        let mut item = match self.try_put(item) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        let Some(deadline) = limit.deadline() else {
            return Err(PutError::Full(item));
        };
        if let Some(expired) = WaitOutcome::if_expired(deadline) {
            return put_outcome(expired, Some(item));
        }
        let mut putters = self.putters.lock();
        while !self.credits.announce_putter() {
            drop(putters);
            item = match self.try_put(item) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            putters = self.putters.lock();
        }
        let mutex = self.putters.mutex();
        let waited = wait(mutex, putters, |putters| putters, item, deadline);
        if waited.guard.is_empty() {
            self.credits.withdraw_putters();
        }
        drop(waited.guard);
        put_outcome(waited.outcome, waited.payload)
    }

    /// Hands the element to a taker that waits; returns it if there is none.
    pub(super) fn try_put(&self, item: T) -> Result<(), T> {
        if self.credits.load().count() == 0 {
            return Err(item);
        }
        let mut item = Some(item);
        self.accepted
            .push_if(|| self.credits.try_take(), || take_item(&mut item));
        item.map_or(Ok(()), Err)
    }

    /// Hands the element to a taker that is about to return, waiting for it no longer than it takes to
    /// start a thread, and not at all while none returns.
    pub(crate) fn put_for_returning(&self, item: T) -> Result<(), T> {
        self.wait_for_returning();
        self.try_put(item)
    }

    /// Waits for a batch of credits, or for room in the debt while elements are lent.
    pub(super) fn wait_for_returning(&self) {
        let mut submitters = self.submitters.lock();
        let before = self.credits.load();
        let lends = before.is_lending();
        if before.count() > 0 || !(lends || submitters.patience.should_wait(before.additions())) {
            return;
        }
        if submitters.spin.should_spin() {
            drop(submitters);
            spin_until(SpinLength::Full, CHECKS, || self.has_batch());
            submitters = self.submitters.lock();
            submitters.spin.record(self.has_batch());
            if self.has_batch() {
                return;
            }
        }
        // A test's clock stands still: nobody is given time on it.
        if !Clock::is_system() {
            return;
        }
        let mut interrupted = false;
        for _ in 0..MAX_GRACES {
            if self.is_batch(self.credits.announce_submitter()) {
                break;
            }
            let grace = if lends { LENDING_GRACE } else { GRACE };
            let (mutex, until) = (self.submitters.mutex(), Deadline::after(grace));
            let waited = wait(mutex, submitters, |all| &mut all.waiting, (), until);
            submitters = waited.guard;
            interrupted |= waited.outcome == WaitOutcome::Interrupted;
            let credits = self.credits.load();
            let goes_on = if lends || credits.is_watched() {
                // Whether that pays is up to who watches.
                credits.is_lending()
            } else {
                // While elements are queued, takers are still waking for them.
                !self.accepted.is_empty() && !self.has_returned_since(before)
            };
            if interrupted || !goes_on {
                break;
            }
        }
        if submitters.waiting.is_empty() {
            self.credits.withdraw_submitters();
        }
        if !lends {
            let returned = self.has_returned_since(before);
            let returns = self.credits.load().additions();
            submitters.patience.record(returned, returns);
        }
        drop(submitters);
        if interrupted {
            restore_interrupt();
        }
    }

    fn has_returned_since(&self, before: CreditsSnapshot) -> bool {
        self.credits.load().additions() != before.additions()
    }

    fn has_batch(&self) -> bool {
        self.is_batch(self.credits.load())
    }

    /// Returns whether a submitter that waits is woken for these credits.
    fn is_batch(&self, credits: CreditsSnapshot) -> bool {
        credits.count() >= BATCH || (credits.is_lending() && credits.debt() <= self.debt_limit / 2)
    }

    /// Receives an element that is accepted, or from a putter that waits, waiting for one no longer
    /// than `limit`.
    pub(crate) fn take(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        self.take_as(Taker::Ordinary, limit)
            .map(|received| match received {
                Received::Element(item) => Some(item),
                Received::Nothing | Received::Watch => None,
            })
    }

    /// Receives an element, or the duty to watch if this taker is recruited.
    pub(super) fn take_as(
        &self,
        taker: Taker,
        limit: WaitLimit,
    ) -> Result<Received<T>, Interrupted> {
        let mut credits = None;
        let add = || credits = Some(self.credits.add());
        if let Some(item) = self.accepted.poll_with(add, || ()) {
            if let Some(credits) = credits.filter(|credits| credits.is_awaited()) {
                self.serve_busy(credits);
            }
            return Ok(Received::Element(item));
        }
        let Some(deadline) = limit.deadline() else {
            let taken = self.take_from_putter();
            return Ok(taken.map_or(Received::Nothing, Received::Element));
        };
        self.add_idle();
        let mut is_recruited = false;
        let on_recruit = || {
            is_recruited = true;
            self.credits.withdraw_taker();
        };
        let outcome = match self.accepted.take_as(taker, deadline, on_recruit) {
            Ok(Some(item)) => return Ok(Received::Element(item)),
            Ok(None) if is_recruited => return Ok(Received::Watch),
            Ok(None) => WaitOutcome::TimedOut,
            Err(Interrupted) => WaitOutcome::Interrupted,
        };
        match (self.leave(), outcome) {
            (None, WaitOutcome::Interrupted) => Err(Interrupted),
            (None, _) => Ok(Received::Nothing),
            (Some(item), WaitOutcome::Interrupted) => {
                restore_interrupt();
                Ok(Received::Element(item))
            }
            (Some(item), _) => Ok(Received::Element(item)),
        }
    }

    fn take_from_putter(&self) -> Option<T> {
        if !self.credits.load().has_putters() {
            return None;
        }
        self.add_idle();
        self.leave()
    }

    /// Takes back the credit of this taker, or returns the element that was accepted for it.
    fn leave(&self) -> Option<T> {
        let take_back = || {
            let taken = self.credits.try_take();
            debug_assert!(taken, "a taker waits, and no element is queued");
        };
        self.accepted.poll_with(|| (), take_back)
    }

    /// Adds the credit of a taker that has nothing to do.
    fn add_idle(&self) {
        let credits = self.credits.add();
        if credits.has_putters() {
            self.serve_putters();
        }
        if credits.has_submitters() {
            self.wake_submitter();
        }
    }

    /// Serves those who wait for a credit, after a taker has added one that goes on to run an
    /// element.
    #[cold]
    pub(super) fn serve_busy(&self, credits: CreditsSnapshot) {
        if credits.has_putters() {
            self.serve_putters();
        }
        if credits.has_submitters() && self.is_batch(credits) {
            self.wake_submitter();
        }
    }

    /// Accepts the elements of putters that wait, as long as there are credits.
    #[cold]
    fn serve_putters(&self) {
        while let Some(wakeup) = self.serve_putter() {
            drop(wakeup);
        }
    }

    fn serve_putter(&self) -> Option<Wakeup> {
        let mut putters = self.putters.lock();
        if putters.is_empty() {
            return None;
        }
        let mut wakeup = None;
        let first = || {
            let (waking, item) = putters.signal_newest().expect("a putter waits");
            wakeup = Some(waking);
            item
        };
        self.accepted.push_if(|| self.credits.try_take(), first);
        if putters.is_empty() {
            self.credits.withdraw_putters();
        }
        wakeup
    }

    #[cold]
    fn wake_submitter(&self) {
        let mut submitters = self.submitters.lock();
        let wakeup = submitters.waiting.signal_one();
        if submitters.waiting.is_empty() {
            self.credits.withdraw_submitters();
        }
        drop(submitters);
        drop(wakeup);
    }

    /// Returns how many threads wait; a taker that still spins is not counted yet.
    pub(crate) fn waiting(&self) -> Waiting {
        let putters = self.putters.lock().len();
        let parked = self.accepted.waiting().unwrap_or_default().takers;
        Waiting {
            takers: parked.min(self.credits.load().count() as usize),
            putters,
        }
    }
}

pub(super) fn take_item<T>(item: &mut Option<T>) -> T {
    item.take().expect("called once")
}

/// Returns what a putter reports after its wait; `item` is its element, unless it was accepted.
fn put_outcome<T>(outcome: WaitOutcome, item: Option<T>) -> Result<(), PutError<T>> {
    match (outcome, item) {
        (WaitOutcome::TimedOut, Some(item)) => Err(PutError::TimedOut(item)),
        (WaitOutcome::Interrupted, Some(item)) => Err(PutError::Interrupted(item)),
        _ => Ok(()),
    }
}

/// Leaves the interrupt that ended a wait pending, since this thread goes on.
fn restore_interrupt() {
    ThreadContext::with_current(|me| {
        if me.wait_ended_by_interrupt() {
            me.set_interrupted();
        }
    });
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    #[cfg(not(shuttle))]
    use std::time::Duration;

    use crate::interrupt;
    use crate::queue::parts::scenarios::spawn;
    use crate::queue::{BlockingQueue, PutError, SynchronousQueue};
    use crate::sync::model;

    #[cfg(not(shuttle))]
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_burst_reaches_as_many_takers_though_it_wakes_one() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let takers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.take().unwrap())
            });
            queue.put(1).unwrap();
            queue.put(2).unwrap();
            let sum: u32 = takers.map(|taker| taker.join().unwrap()).iter().sum();
            assert_eq!(sum, 3);
        });
    }

    #[test]
    fn a_taker_sees_the_elements_of_one_putter_in_order() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let theirs = Arc::clone(&queue);
            let other = spawn(move || theirs.take().unwrap());
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || (1..=3).for_each(|item| theirs.put(item).unwrap()));
            let first = queue.take().unwrap();
            let second = queue.take().unwrap();
            assert!(first < second);
            assert_eq!(first + second + other.join().unwrap(), 6);
            putter.join().unwrap();
        });
    }

    #[test]
    fn a_taker_whose_element_another_has_taken_waits_for_the_next() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap());
            queue.put(1).unwrap();
            if queue.poll().is_some() {
                queue.put(2).unwrap();
            }
            assert!(taker.join().unwrap() > 0);
            assert_eq!(queue.offer(3), Err(PutError::Full(3)));
        });
    }

    /// Not under shuttle, where a timed wait may last forever: nobody has to end this one.
    #[cfg(not(shuttle))]
    #[test]
    fn a_submitter_that_waits_for_a_returning_taker_hands_over_or_keeps_its_element() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap() + theirs.take().unwrap());
            queue.put(1).unwrap();
            if let Err(kept) = queue.offer_for_returning(2) {
                queue.put(kept).unwrap();
            }
            assert_eq!(taker.join().unwrap(), 3);
        });
    }

    #[test]
    fn no_more_is_accepted_than_takers_wait() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap());
            let accepted = [1, 2].map(|item| queue.offer(item).is_ok());
            assert_ne!(accepted, [true, true]);
            if accepted == [false, false] {
                queue.put(3).unwrap();
            }
            assert!(taker.join().unwrap() > 0);
            assert_eq!(queue.waiting().unwrap().takers, 0);
        });
    }

    /// Not under shuttle, where a timed wait may last forever: the timed offer at the end would
    /// then wait for takers that have left by themselves.
    #[cfg(not(shuttle))]
    #[test]
    fn a_taker_whose_time_is_up_takes_what_was_accepted_for_it() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let takers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.poll_timeout(HOUR).unwrap().unwrap_or(0))
            });
            let accepted = [1, 2].map(|item| queue.offer(item).map_or(0, |()| item));
            // Outside of a model no time-out elapses: release the takers that have got nothing.
            for _ in accepted.iter().filter(|item| **item == 0) {
                let _ = queue.offer_timeout(0, HOUR);
            }
            let taken = takers.map(|taker| taker.join().unwrap());
            assert_eq!(taken.iter().sum::<u32>(), accepted.iter().sum());
        });
    }

    #[test]
    fn an_interrupted_taker_that_takes_an_element_keeps_its_interrupt() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let other = spawn(move || theirs.take().unwrap());
            let theirs = Arc::clone(&queue);
            let giver = spawn(move || {
                theirs.put(1).unwrap();
                theirs.put(2).unwrap();
                me.interrupt();
            });
            let first = queue.take();
            let mine = first.or_else(|_| queue.take()).unwrap();
            giver.join().unwrap();
            assert_eq!(interrupt::interrupted(), first.is_ok());
            assert_eq!(mine + other.join().unwrap(), 3);
        });
    }
}
