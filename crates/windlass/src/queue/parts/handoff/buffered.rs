//! Hand-off to any of the takers that wait.
//!
//! An element is accepted only if a taker waits that no other element was accepted for. It is then
//! buffered until a taker removes it: the one that is woken, or one that arrives sooner. In the
//! second case the woken one finds nothing and waits again. So a burst of elements does not cost a
//! wake-up each, and short tasks are run by the few threads that are awake.
//!
//! The invariants while the lock is free:
//! - `accepted.len() <= takers.len() + takers_waking`: nothing is accepted without a taker for it.
//!   A taker that gives up removes an element if its leaving would otherwise break this.
//! - if anything is accepted, a taker is waking for it. A taker that has removed an element applies
//!   the rule of wake-ups to what is left.
//! - if a putter waits, an element has been accepted for every taker.
//! - elements leave in the order in which they were accepted.
//!
//! The newest taker spins before it parks, and is the first to be signalled: so the next of several
//! elements in quick succession wakes nobody.

use std::collections::VecDeque;

use super::exchange::wait_for_taker;
use crate::interrupt::{Interrupted, ThreadContext};
use crate::queue::blocking_queue::Waiting;
use crate::queue::error::PutError;
use crate::queue::parts::queue_lock::QueueLock;
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Deadline, MutexGuard, spin_limit};
use crate::waiting::{WaitOutcome, WaitQueue, Wakeup, wait_with_spin};

/// Hand-off of each element to any taker that waits.
pub(crate) struct BufferedHandoff<T> {
    lock: QueueLock<State<T>>,
    /// Takers that no element has been accepted for, as of the last change under the lock. An offer
    /// that reads zero is rejected without the lock.
    published_free: AtomicUsize,
    /// The number of the newest taker. A taker that spins and reads another number parks.
    newest: AtomicUsize,
}

struct State<T> {
    accepted: VecDeque<T>,
    /// Takers that are parked, or spin before they park.
    takers: WaitQueue,
    /// Takers that were signalled and have not locked the queue since.
    takers_waking: usize,
    putters: WaitQueue<T>,
}

impl<T> Default for BufferedHandoff<T> {
    fn default() -> Self {
        let state = State {
            accepted: VecDeque::new(),
            takers: WaitQueue::default(),
            takers_waking: 0,
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            published_free: AtomicUsize::new(0),
            newest: AtomicUsize::new(0),
        }
    }
}

impl<T> State<T> {
    /// Returns how many takers there are that no element has been accepted for.
    fn free(&self) -> usize {
        (self.takers.len() + self.takers_waking).saturating_sub(self.accepted.len())
    }

    /// Returns whether more is accepted than there are takers for.
    fn is_short_of_takers(&self) -> bool {
        self.accepted.len() > self.takers.len() + self.takers_waking
    }

    /// Signals one more taker if few are waking, in relation to the number of accepted elements.
    fn signal_taker(&mut self) -> Option<Wakeup> {
        let limit = 1 + self.accepted.len().checked_ilog2()? / 2;
        if self.takers_waking >= limit as usize {
            return None;
        }
        let (wakeup, ()) = self.takers.signal_newest()?;
        self.takers_waking += 1;
        Some(wakeup)
    }
}

type Guard<'a, T> = MutexGuard<'a, State<T>>;

impl<T: Send> BufferedHandoff<T> {
    /// Hands the element to the takers, waiting for one no longer than `limit`.
    pub(crate) fn put(&self, item: T, limit: WaitLimit) -> Result<(), PutError<T>> {
        let nobody_waits = || self.published_free.load(Ordering::Acquire) == 0;
        if limit == WaitLimit::NoWait && nobody_waits() {
            return Err(PutError::Full(item));
        }
        let mut state = self.lock.lock();
        if state.free() > 0 {
            state.accepted.push_back(item);
            let wakeup = state.signal_taker();
            self.publish(&state);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        wait_for_taker(&self.lock, state, |state| &mut state.putters, item, limit)
    }

    /// Receives an element from a putter that waits, or from those that are accepted, waiting for
    /// one no longer than `limit`.
    pub(crate) fn take(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some((wakeup, item)) = state.putters.signal_newest() {
            // In exchange for the oldest that is accepted: its putter may be the same, and a
            // consumer sees the elements of one producer in order.
            state.accepted.push_back(item);
            let item = state.accepted.pop_front();
            drop(state);
            drop(wakeup);
            return Ok(item);
        }
        match limit.deadline() {
            None => Ok(None),
            Some(deadline) => self.take_accepted(state, deadline),
        }
    }

    /// Takes an element that is accepted, waiting for one until the deadline.
    fn take_accepted<'a>(
        &'a self,
        mut state: Guard<'a, T>,
        deadline: Deadline,
    ) -> Result<Option<T>, Interrupted> {
        loop {
            if let Some(item) = state.accepted.pop_front() {
                let wakeup = state.signal_taker();
                self.publish(&state);
                drop(state);
                drop(wakeup);
                return Ok(Some(item));
            }
            if deadline.has_passed() {
                self.publish(&state);
                drop(state);
                return without_element(WaitOutcome::expired());
            }
            let (relocked, outcome) = self.wait_as_newest(state, deadline);
            state = relocked;
            let stays = state.is_short_of_takers();
            match outcome {
                WaitOutcome::Signalled => state.takers_waking -= 1,
                outcome if stays => restore_interrupt(outcome),
                outcome => {
                    self.publish(&state);
                    drop(state);
                    return without_element(outcome);
                }
            }
        }
    }

    /// Waits for a signal. Spins before it parks, while this is the newest taker.
    fn wait_as_newest<'a>(
        &'a self,
        state: Guard<'a, T>,
        deadline: Deadline,
    ) -> (Guard<'a, T>, WaitOutcome) {
        self.published_free
            .store(state.free() + 1, Ordering::Release);
        let number = self.newest.load(Ordering::Relaxed).wrapping_add(1);
        self.newest.store(number, Ordering::Relaxed);
        let waited = wait_with_spin(
            (self.lock.mutex(), state),
            |state| &mut state.takers,
            (),
            deadline,
            |me| self.spin_for_signal(me, number),
        );
        (waited.guard, waited.outcome)
    }

    fn spin_for_signal(&self, me: &ThreadContext, number: usize) {
        for _ in 0..spin_limit() {
            if me.is_signalled() || self.newest.load(Ordering::Relaxed) != number {
                break;
            }
            std::hint::spin_loop();
        }
    }

    fn publish(&self, state: &State<T>) {
        self.published_free.store(state.free(), Ordering::Release);
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let state = self.lock.lock();
        Waiting {
            takers: state.free(),
            putters: state.putters.len(),
        }
    }
}

/// Returns what a taker reports that leaves without an element.
fn without_element<T>(outcome: WaitOutcome) -> Result<Option<T>, Interrupted> {
    match outcome {
        WaitOutcome::Interrupted => Err(Interrupted),
        WaitOutcome::TimedOut | WaitOutcome::Signalled => Ok(None),
    }
}

/// Leaves the interrupt that ended a wait pending, since the taker goes on to take an element.
fn restore_interrupt(outcome: WaitOutcome) {
    if outcome == WaitOutcome::Interrupted {
        ThreadContext::with_current(|me| {
            if me.wait_ended_by_interrupt() {
                me.set_interrupted();
            }
        });
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    #[cfg(not(shuttle))]
    use std::time::Duration;

    use crate::interrupt;
    use crate::queue::parts::scenarios::spawn;
    use crate::queue::{BlockingQueue, SynchronousQueue};
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
