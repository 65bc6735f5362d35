//! Hand-off to one partner, who is chosen when the element comes: the oldest or the newest.
//!
//! Whoever finds a partner waiting serves it under the lock and goes on; whoever does not, waits
//! with what it brought: a putter with its element, a taker with an empty slot. So an element is
//! always in exactly one place, and a partner that gives up takes its place in line with it.

use super::handoff::{Slot, hold_out, receive};
use super::lock::QueueLock;
use super::{Fairness, PutError, Waiting};
use crate::interrupt::Interrupted;
use crate::sync::{Deadline, mutant};
use crate::waiting::{WaitQueue, Wakeup};

/// Where takers and putters meet, one with one.
pub(super) struct Partners<T> {
    lock: QueueLock<State<T>>,
    pub(super) fairness: Fairness,
}

/// Never are there both takers and putters: the second to come serves the first.
struct State<T> {
    takers: WaitQueue<Slot<T>>,
    putters: WaitQueue<T>,
}

impl<T: Send> Partners<T> {
    pub(super) fn new(fairness: Fairness) -> Self {
        let state = State {
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            fairness,
        }
    }

    fn next<P>(&self, partners: &mut WaitQueue<P>) -> Option<(Wakeup, P)> {
        match self.fairness {
            Fairness::Fair => partners.signal_oldest(),
            Fairness::Unfair => partners.signal_newest(),
        }
    }

    /// Hands the element over, at once or, with a deadline, when a taker comes.
    pub(super) fn put_by(&self, item: T, deadline: Option<Deadline>) -> Result<(), PutError<T>> {
        let mut state = self.lock.lock();
        if let Some((wakeup, slot)) = self.next(&mut state.takers) {
            // Mutant: a taker that was signalled may find its slot empty.
            let state = (!mutant!("handoff_fills_the_slot_unlocked")).then_some(state);
            *slot.lock() = Some(item);
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

    /// Receives an element, at once or, with a deadline, when a putter comes.
    pub(super) fn take_by(&self, deadline: Option<Deadline>) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some((wakeup, item)) = self.next(&mut state.putters) {
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        match deadline {
            None => Ok(None),
            Some(deadline) => receive(&self.lock, state, |state| &mut state.takers, deadline),
        }
    }

    pub(super) fn waiting(&self) -> Waiting {
        let state = self.lock.lock();
        Waiting {
            takers: state.takers.len(),
            putters: state.putters.len(),
        }
    }
}
