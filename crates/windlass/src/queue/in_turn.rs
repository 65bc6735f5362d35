//! Hand-off in order of arrival: the first to come is the first to be served.
//!
//! Whoever finds a partner waiting serves it under the lock and goes on; whoever does not, waits
//! with what it brought: a putter with its element, a taker with an empty slot. So an element is
//! always in exactly one place, and a partner that gives up takes its place in line with it.

use super::handoff::{Slot, hold_out, receive};
use super::lock::QueueLock;
use super::{PutError, Waiting};
use crate::interrupt::Interrupted;
use crate::sync::{Deadline, mutant};
use crate::waiting::WaitQueue;

/// Where takers and putters meet, each in its turn.
pub(super) struct InTurn<T>(QueueLock<State<T>>);

/// Never are there both takers and putters: the second to come serves the first.
struct State<T> {
    takers: WaitQueue<Slot<T>>,
    putters: WaitQueue<T>,
}

impl<T> Default for InTurn<T> {
    fn default() -> Self {
        Self(QueueLock::new(State {
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        }))
    }
}

impl<T: Send> InTurn<T> {
    /// Hands the element over, at once or, with a deadline, when a taker comes.
    pub(super) fn put_by(&self, item: T, deadline: Option<Deadline>) -> Result<(), PutError<T>> {
        let mut state = self.0.lock();
        if let Some((wakeup, slot)) = state.takers.signal_oldest() {
            // Mutant: a taker that was signalled may find its slot empty.
            let state = (!mutant!("handoff_fills_the_slot_unlocked")).then_some(state);
            *slot.lock() = Some(item);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        match deadline {
            None => Err(PutError::Full(item)),
            Some(deadline) => hold_out(&self.0, state, |state| &mut state.putters, item, deadline),
        }
    }

    /// Receives an element, at once or, with a deadline, when a putter comes.
    pub(super) fn take_by(&self, deadline: Option<Deadline>) -> Result<Option<T>, Interrupted> {
        let mut state = self.0.lock();
        if let Some((wakeup, item)) = state.putters.signal_oldest() {
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        match deadline {
            None => Ok(None),
            Some(deadline) => receive(&self.0, state, |state| &mut state.takers, deadline),
        }
    }

    pub(super) fn waiting(&self) -> Waiting {
        let state = self.0.lock();
        Waiting {
            takers: state.takers.len(),
            putters: state.putters.len(),
        }
    }
}
