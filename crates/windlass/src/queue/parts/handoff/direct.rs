//! Hand-off to a particular taker: the oldest or the newest that waits.
//!
//! A thread that finds one of the other kind waiting serves it under the lock and proceeds.
//! Otherwise it waits: a putter with its element, a taker with an empty slot. So an element is
//! always in exactly one place, and a putter that gives up gets its element back.

use super::exchange::{Slot, wait_for_item, wait_for_taker};
use crate::interrupt::Interrupted;
use crate::queue::blocking_queue::Waiting;
use crate::queue::error::PutError;
use crate::queue::fairness::Fairness;
use crate::queue::parts::queue_lock::QueueLock;
use crate::queue::parts::wait_limit::WaitLimit;
use crate::waiting::{WaitQueue, Wakeup};

/// Hand-off of each element to the oldest or the newest taker.
pub(crate) struct DirectHandoff<T> {
    lock: QueueLock<State<T>>,
    pub(crate) fairness: Fairness,
}

/// The waiting threads. There are never both takers and putters: the second to arrive serves the
/// first.
struct State<T> {
    takers: WaitQueue<Slot<T>>,
    putters: WaitQueue<T>,
}

impl<T: Send> DirectHandoff<T> {
    pub(crate) fn new(fairness: Fairness) -> Self {
        let state = State {
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            fairness,
        }
    }

    fn signal_next<P>(&self, waiting: &mut WaitQueue<P>) -> Option<(Wakeup, P)> {
        match self.fairness {
            Fairness::Fair => waiting.signal_oldest(),
            Fairness::Unfair => waiting.signal_newest(),
        }
    }

    /// Hands the element to a taker, waiting for one no longer than `limit`.
    pub(crate) fn put(&self, item: T, limit: WaitLimit) -> Result<(), PutError<T>> {
        let mut state = self.lock.lock();
        if let Some((wakeup, slot)) = self.signal_next(&mut state.takers) {
            *slot.lock() = Some(item);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        wait_for_taker(&self.lock, state, |state| &mut state.putters, item, limit)
    }

    /// Receives an element from a putter, waiting for one no longer than `limit`.
    pub(crate) fn take(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some((wakeup, item)) = self.signal_next(&mut state.putters) {
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        wait_for_item(&self.lock, state, |state| &mut state.takers, limit)
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let state = self.lock.lock();
        Waiting {
            takers: state.takers.len(),
            putters: state.putters.len(),
        }
    }
}
