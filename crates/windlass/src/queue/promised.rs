//! Hand-off to whichever of the waiting takers comes first.
//!
//! An element is accepted only if a taker waits that no other element was accepted for. It is then
//! *promised*, and lies here until a taker comes for it: the one that is woken, or one that happens
//! to come by sooner, and in whose stead the woken one waits on. So a burst of elements does not
//! cost a wake-up each, and short tasks are run by the few threads that are awake.
//!
//! What holds whenever the lock is free:
//! - `promised.len() <= takers.len() + coming`: nothing is accepted that nobody is there for. A
//!   taker that gives up takes an element along if it would otherwise break this.
//! - if anything is promised, a taker is coming for it. Whoever has taken one applies the rule of
//!   wake-ups again to what is left.
//! - if a putter waits, every taker has been promised an element.
//! - elements leave in the order in which they were accepted.
//!
//! The newest taker looks out for a while before it goes to sleep. It is the first to be signalled:
//! so the next of several elements in quick succession wakes nobody.

use std::collections::VecDeque;

use super::handoff::hold_out;
use super::lock::QueueLock;
use super::{PutError, Waiting};
use crate::interrupt::{Interrupted, ThreadContext, wait_interrupted};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Deadline, mutant, spin_limit};
use crate::waiting::{Wait, WaitQueue, Wakeup, wait_with_spin};

/// Where interchangeable takers and putters meet.
pub(super) struct Promised<T> {
    lock: QueueLock<State<T>>,
    /// Takers that nothing has been promised to, as last left under the lock: an offer to nobody
    /// disturbs nobody.
    shown_free: AtomicUsize,
    /// The number of the newest taker; one that looks out and sees another's goes to sleep.
    newest: AtomicUsize,
}

struct State<T> {
    promised: VecDeque<T>,
    /// Takers that sleep.
    takers: WaitQueue,
    /// Takers that have been signalled and are not here yet.
    coming: usize,
    putters: WaitQueue<T>,
}

impl<T> Default for Promised<T> {
    fn default() -> Self {
        let state = State {
            promised: VecDeque::new(),
            takers: WaitQueue::default(),
            coming: 0,
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            shown_free: AtomicUsize::new(0),
            newest: AtomicUsize::new(0),
        }
    }
}

impl<T> State<T> {
    /// How many takers there are that nothing has been promised to.
    fn free(&self) -> usize {
        (self.takers.len() + self.coming).saturating_sub(self.promised.len())
    }

    /// Whether more is promised than takers are left to come for it.
    fn is_short_of_takers(&self) -> bool {
        self.promised.len() > self.takers.len() + self.coming
    }

    /// Signals one more taker if few are coming, measured by how much is promised.
    fn signal_taker(&mut self) -> Option<Wakeup> {
        let limit = 1 + self.promised.len().checked_ilog2()? / 2;
        if self.coming >= limit as usize {
            return None;
        }
        let (wakeup, ()) = self.takers.signal_newest()?;
        self.coming += 1;
        Some(wakeup)
    }
}

impl<T: Send> Promised<T> {
    /// Promises the element to a taker, at once or, with a deadline, when one comes.
    pub(super) fn put_by(&self, item: T, deadline: Option<Deadline>) -> Result<(), PutError<T>> {
        if deadline.is_none() && self.shown_free.load(Ordering::Acquire) == 0 {
            return Err(PutError::Full(item));
        }
        let mut state = self.lock.lock();
        if state.free() > 0 {
            state.promised.push_back(item);
            // Mutant: the takers sleep on.
            let wakes = !mutant!("promise_wakes_nobody");
            let wakeup = wakes.then(|| state.signal_taker()).flatten();
            self.show(&state);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        match deadline {
            None => Err(PutError::Full(item)),
            Some(deadline) => hold_out(
                &self.lock,
                state,
                |state| &mut state.putters,
                item,
                deadline,
            ),
        }
    }

    /// Takes an element, at once from a putter or, with a deadline, when one is promised.
    pub(super) fn take_by(&self, deadline: Option<Deadline>) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some((wakeup, item)) = state.putters.signal_newest() {
            // In exchange for the oldest that is promised: its putter may be the same, and a
            // consumer sees the elements of one producer in order.
            state.promised.push_back(item);
            // Mutant: a producer's element overtakes its last one.
            let item = if mutant!("putter_overtakes_its_promise") {
                state.promised.pop_back()
            } else {
                state.promised.pop_front()
            };
            drop(state);
            drop(wakeup);
            return Ok(item);
        }
        let Some(deadline) = deadline else {
            return Ok(None);
        };
        loop {
            if let Some(item) = state.promised.pop_front() {
                // Mutant: what is left is fetched by nobody.
                let wakes = !mutant!("promise_is_not_passed_on");
                let wakeup = wakes.then(|| state.signal_taker()).flatten();
                self.show(&state);
                drop(state);
                drop(wakeup);
                return Ok(Some(item));
            }
            if deadline.has_passed() {
                self.show(&state);
                drop(state);
                return ended(wait_interrupted());
            }
            self.shown_free.store(state.free() + 1, Ordering::Release);
            let number = self.newest.load(Ordering::Relaxed).wrapping_add(1);
            self.newest.store(number, Ordering::Relaxed);
            let waited = wait_with_spin(
                (self.lock.mutex(), state),
                |state| &mut state.takers,
                (),
                deadline,
                |me| self.look_out(me, number),
            );
            state = waited.guard;
            // Mutant: a taker that gives up leaves what it was promised to nobody.
            let stays = !mutant!("taker_breaks_its_promise") && state.is_short_of_takers();
            match waited.how {
                Wait::Signalled => state.coming -= 1,
                how if stays => keep_interrupt(how),
                how => {
                    self.show(&state);
                    drop(state);
                    return ended(how == Wait::Interrupted);
                }
            }
        }
    }

    /// Looks out for a signal for a short while, as long as no newer taker does.
    fn look_out(&self, me: &ThreadContext, number: usize) {
        for _ in 0..spin_limit() {
            if me.is_signalled() || self.newest.load(Ordering::Relaxed) != number {
                break;
            }
            std::hint::spin_loop();
        }
    }

    fn show(&self, state: &State<T>) {
        self.shown_free.store(state.free(), Ordering::Release);
    }

    pub(super) fn waiting(&self) -> Waiting {
        let state = self.lock.lock();
        Waiting {
            takers: state.free(),
            putters: state.putters.len(),
        }
    }
}

/// What a taker has to say that waited in vain.
fn ended<T>(is_interrupted: bool) -> Result<Option<T>, Interrupted> {
    if is_interrupted {
        Err(Interrupted)
    } else {
        Ok(None)
    }
}

/// Leaves the interrupt that ended a wait to the next one, since this one has not been in vain.
fn keep_interrupt(how: Wait) {
    // Mutant: the interrupt is lost.
    if how == Wait::Interrupted && !mutant!("kept_promise_loses_the_interrupt") {
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
    use crate::queue::scenarios::spawn;
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

    /// Not under shuttle, where a timed wait may be one without end: then who lets the takers go waits
    /// for them for ever, if they have gone by themselves.
    #[cfg(not(shuttle))]
    #[test]
    fn a_taker_whose_time_is_up_keeps_its_promise() {
        model(|| {
            let queue = Arc::new(SynchronousQueue::with_interchangeable_takers());
            let takers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.poll_timeout(HOUR).unwrap().unwrap_or(0))
            });
            let accepted = [1, 2].map(|item| queue.offer(item).map_or(0, |()| item));
            // Outside of a model nobody's time is ever up: let go who has got nothing.
            for _ in accepted.iter().filter(|item| **item == 0) {
                let _ = queue.offer_timeout(0, HOUR);
            }
            let taken = takers.map(|taker| taker.join().unwrap());
            assert_eq!(taken.iter().sum::<u32>(), accepted.iter().sum());
        });
    }

    #[test]
    fn a_taker_that_keeps_its_promise_keeps_its_interrupt() {
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
