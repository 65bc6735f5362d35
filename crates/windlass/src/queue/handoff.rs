//! Waiting from hand to hand: a putter with its element, a taker with a slot that is filled.

use std::sync::Arc;

use super::PutError;
use super::lock::QueueLock;
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::sync::{Deadline, Mutex, MutexGuard, mutant};
use crate::waiting::{Wait, WaitQueue, wait};

/// Where a taker receives; filled under the queue's lock before the taker is signalled.
pub(super) type Slot<T> = Arc<Mutex<Option<T>>>;

/// Waits in the list that `takers` finds until somebody has filled this thread's slot.
pub(super) fn receive<S, T>(
    lock: &QueueLock<S>,
    state: MutexGuard<'_, S>,
    takers: impl Fn(&mut S) -> &mut WaitQueue<Slot<T>>,
    deadline: Deadline,
) -> Result<Option<T>, Interrupted> {
    if deadline.has_passed() {
        drop(state);
        return if wait_interrupted() {
            Err(Interrupted)
        } else {
            Ok(None)
        };
    }
    let slot = Slot::default();
    let waited = wait(lock.mutex(), state, takers, Arc::clone(&slot), deadline);
    drop(waited.guard);
    match waited.how {
        // Mutant: an interrupt ends a take that has received.
        Wait::Signalled if mutant!("interrupt_beats_delivery") && wait_interrupted() => {
            Err(Interrupted)
        }
        Wait::Signalled => Ok(slot.lock().take()),
        Wait::TimedOut => Ok(None),
        Wait::Interrupted => Err(Interrupted),
    }
}

/// Waits in the list that `putters` finds until somebody has taken the element.
pub(super) fn hold_out<S, T>(
    lock: &QueueLock<S>,
    state: MutexGuard<'_, S>,
    putters: impl Fn(&mut S) -> &mut WaitQueue<T>,
    item: T,
    deadline: Deadline,
) -> Result<(), PutError<T>> {
    if deadline.has_passed() {
        drop(state);
        return Err(if wait_interrupted() {
            PutError::Interrupted(item)
        } else {
            PutError::TimedOut(item)
        });
    }
    let waited = wait(lock.mutex(), state, putters, item, deadline);
    drop(waited.guard);
    match (waited.how, waited.withdrawn) {
        (Wait::TimedOut, Some(item)) => Err(PutError::TimedOut(item)),
        (Wait::Interrupted, Some(item)) => Err(PutError::Interrupted(item)),
        _ => Ok(()),
    }
}
