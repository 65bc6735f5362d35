//! A queue that holds nothing: each element goes from hand to hand.
//!
//! Whoever finds a partner waiting serves it under the lock and goes on; whoever does not, waits
//! with what it brought: a putter with its element, a taker with an empty slot. So an element is
//! always in exactly one place, and a partner that gives up takes its place in line with it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::blocking::timed;
use super::lock::QueueLock;
use super::{BlockingQueue, Fairness, PutError, Waiting};
use crate::interrupt::{Interrupted, ends_wait};
use crate::sync::{Deadline, Mutex, mutant};
use crate::waiting::{Wait, WaitQueue, Wakeup, wait};

/// A queue without any room: `put` waits for a `take`, `offer` succeeds only if a taker waits.
///
/// As a pool's work queue it makes the pool hand each task to an idle worker or start a new one.
/// With [`Fairness::Fair`] partners are served in order of arrival, otherwise the newest first,
/// which keeps caches warm and lets surplus workers time out.
///
/// A pending interrupt ends a call only if it has to wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, PutError, SynchronousQueue};
///
/// let queue = SynchronousQueue::new();
/// assert_eq!(queue.offer(1), Err(PutError::Full(1)));
/// std::thread::scope(|scope| {
///     let taker = scope.spawn(|| queue.take());
///     queue.put(2).unwrap();
///     assert_eq!(taker.join().unwrap(), Ok(2));
/// });
/// ```
pub struct SynchronousQueue<T: Send> {
    lock: QueueLock<State<T>>,
    fairness: Fairness,
}

/// Where a taker receives; filled under the queue's lock before the taker is signalled.
type Slot<T> = Arc<Mutex<Option<T>>>;

/// Never are there both takers and putters: the second to come serves the first.
struct State<T> {
    takers: WaitQueue<Slot<T>>,
    putters: WaitQueue<T>,
}

impl<T: Send> SynchronousQueue<T> {
    /// Makes a queue that serves the newest partner first.
    #[must_use]
    pub fn new() -> Self {
        Self::with_fairness(Fairness::Unfair)
    }

    /// Makes a queue with this fairness.
    #[must_use]
    pub fn with_fairness(fairness: Fairness) -> Self {
        let state = State {
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            fairness,
        }
    }

    /// The fairness that this queue was made with.
    #[must_use]
    pub const fn fairness(&self) -> Fairness {
        self.fairness
    }

    fn next<P>(&self, partners: &mut WaitQueue<P>) -> Option<(Wakeup, P)> {
        match self.fairness {
            Fairness::Fair => partners.signal_oldest(),
            Fairness::Unfair => partners.signal_newest(),
        }
    }

    fn put_by(&self, item: T, deadline: Option<Deadline>) -> Result<(), PutError<T>> {
        let mut state = self.lock.lock();
        if let Some((wakeup, slot)) = self.next(&mut state.takers) {
            // Mutant: a taker that was signalled may find its slot empty.
            let state = (!mutant!("handoff_fills_the_slot_unlocked")).then_some(state);
            *slot.lock() = Some(item);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        let Some(deadline) = deadline else {
            return Err(PutError::Full(item));
        };
        if deadline.has_passed() {
            drop(state);
            return Err(if ends_wait() {
                PutError::Interrupted(item)
            } else {
                PutError::TimedOut(item)
            });
        }
        let waited = wait(
            self.lock.mutex(),
            state,
            |state| &mut state.putters,
            item,
            deadline,
        );
        drop(waited.guard);
        match (waited.how, waited.withdrawn) {
            (Wait::TimedOut, Some(item)) => Err(PutError::TimedOut(item)),
            (Wait::Interrupted, Some(item)) => Err(PutError::Interrupted(item)),
            _ => Ok(()),
        }
    }

    fn take_by(&self, deadline: Option<Deadline>) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some((wakeup, item)) = self.next(&mut state.putters) {
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        let Some(deadline) = deadline else {
            return Ok(None);
        };
        if deadline.has_passed() {
            drop(state);
            return if ends_wait() {
                Err(Interrupted)
            } else {
                Ok(None)
            };
        }
        let slot = Slot::default();
        let place = Arc::clone(&slot);
        let waited = wait(
            self.lock.mutex(),
            state,
            |state| &mut state.takers,
            place,
            deadline,
        );
        drop(waited.guard);
        match waited.how {
            // Mutant: an interrupt ends a take that has received.
            Wait::Signalled if mutant!("interrupt_beats_delivery") && ends_wait() => {
                Err(Interrupted)
            }
            Wait::Signalled => Ok(slot.lock().take()),
            Wait::TimedOut => Ok(None),
            Wait::Interrupted => Err(Interrupted),
        }
    }
}

impl<T: Send> Default for SynchronousQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> BlockingQueue<T> for SynchronousQueue<T> {
    fn offer(&self, item: T) -> Result<(), PutError<T>> {
        self.put_by(item, None)
    }

    fn offer_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.put_by(item, Some(timed(timeout)))
    }

    fn put(&self, item: T) -> Result<(), PutError<T>> {
        self.put_by(item, Some(Deadline::Never))
    }

    fn poll(&self) -> Option<T> {
        self.take_by(None).unwrap_or(None)
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.take_by(Some(timed(timeout)))
    }

    fn take(&self) -> Result<T, Interrupted> {
        loop {
            if let Some(item) = self.take_by(Some(Deadline::Never))? {
                return Ok(item);
            }
        }
    }

    /// Receives from up to `max` putters that wait.
    fn drain(&self, max: usize) -> Vec<T> {
        let mut wakeups = Vec::new();
        let mut items = Vec::new();
        {
            let mut state = self.lock.lock();
            while items.len() < max {
                let Some((wakeup, item)) = self.next(&mut state.putters) else {
                    break;
                };
                wakeups.push(wakeup);
                items.push(item);
            }
        }
        drop(wakeups);
        items
    }

    fn drain_all(&self) -> Vec<T> {
        self.drain(usize::MAX)
    }

    /// Finds nothing: what a putter holds out is not in the queue.
    fn remove_first(&self, _wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        None
    }

    fn retain(&self, _keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        Vec::new()
    }

    fn visit(&self, _look: &mut dyn FnMut(&T)) {}

    fn peek(&self, _look: &mut dyn FnMut(&T)) {}

    fn len(&self) -> usize {
        0
    }

    fn remaining_capacity(&self) -> Option<usize> {
        Some(0)
    }

    fn waiting(&self) -> Option<Waiting> {
        let state = self.lock.lock();
        Some(Waiting {
            takers: state.takers.len(),
            putters: state.putters.len(),
        })
    }
}

impl<T: Send> fmt::Debug for SynchronousQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SynchronousQueue")
            .field("fairness", &self.fairness)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::SynchronousQueue;
    use crate::interrupt;
    use crate::queue::scenarios::{self, spawn};
    use crate::queue::{BlockingQueue, PutError};
    use crate::sync::model;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_putter_and_a_taker_meet_whoever_comes_first() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(7));
            assert_eq!(queue.take(), Ok(7));
            assert_eq!(putter.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn an_element_is_delivered_or_given_back_never_both() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let other = spawn(move || {
                let taken = theirs.poll();
                me.interrupt();
                taken
            });
            let put = queue.put(7);
            let taken = other.join().unwrap();
            match put {
                Ok(()) => assert_eq!(taken, Some(7)),
                Err(refused) => {
                    assert_eq!(refused, PutError::Interrupted(7));
                    assert_eq!(taken, None);
                }
            }
            let _ = interrupt::interrupted();
        });
    }

    #[test]
    fn one_element_goes_to_one_of_two_takers() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let theirs = Arc::clone(&queue);
            let other = spawn(move || theirs.take().unwrap());
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || {
                theirs.put(1).unwrap();
                theirs.put(2).unwrap();
            });
            let sum = queue.take().unwrap() + other.join().unwrap();
            putter.join().unwrap();
            assert_eq!(sum, 3);
        });
    }

    #[test]
    fn a_taker_that_is_interrupted_leaves_the_element_to_the_next() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || {
                me.interrupt();
                theirs.put(7)
            });
            let mut taken = queue.take();
            while taken.is_err() {
                taken = queue.take();
            }
            assert_eq!(taken, Ok(7));
            assert_eq!(putter.join().unwrap(), Ok(()));
            let _ = interrupt::interrupted();
        });
    }

    #[test]
    fn a_taker_whose_time_is_up_leaves_the_element_to_the_next() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(7));
            let taken = match queue.poll_timeout(HOUR) {
                Ok(Some(item)) => item,
                _ => queue.take().unwrap(),
            };
            assert_eq!((taken, putter.join().unwrap()), (7, Ok(())));
        });
    }

    #[test]
    fn a_putter_whose_time_is_up_has_its_element_back_or_delivered() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::new());
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap());
            if let Err(late) = queue.offer_timeout(7, HOUR) {
                assert_eq!(late, PutError::TimedOut(7));
                queue.put(7).unwrap();
            }
            assert_eq!(taker.join().unwrap(), 7);
            assert_eq!(queue.waiting().unwrap().putters, 0);
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| scenarios::a_taker_sees_what_came_before_the_put(SynchronousQueue::new()));
    }
}
