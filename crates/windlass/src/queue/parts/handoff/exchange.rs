//! The wait of one thread for another to exchange an element: a putter waits with its element, a
//! taker with an empty slot.

use std::sync::Arc;

use crate::interrupt::Interrupted;
use crate::queue::error::PutError;
use crate::queue::parts::queue_lock::QueueLock;
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::{Mutex, MutexGuard};
use crate::waiting::{WaitOutcome, WaitQueue, wait};

/// The slot in which a taker receives its element. Filled under the queue's lock before the taker
/// is signalled.
pub(crate) type Slot<T> = Arc<Mutex<Option<T>>>;

/// Waits in the wait queue that `takers` returns until a putter has filled this thread's slot, no
/// longer than `limit`.
pub(crate) fn wait_for_item<S, T>(
    lock: &QueueLock<S>,
    state: MutexGuard<'_, S>,
    takers: impl Fn(&mut S) -> &mut WaitQueue<Slot<T>>,
    limit: WaitLimit,
) -> Result<Option<T>, Interrupted> {
    let Some(deadline) = limit.deadline() else {
        return Ok(None);
    };
    let slot = Slot::default();
    let outcome = if deadline.has_passed() {
        drop(state);
        WaitOutcome::expired()
    } else {
        let waited = wait(lock.mutex(), state, takers, Arc::clone(&slot), deadline);
        drop(waited.guard);
        waited.outcome
    };
    match outcome {
        WaitOutcome::Signalled => Ok(slot.lock().take()),
        WaitOutcome::TimedOut => Ok(None),
        WaitOutcome::Interrupted => Err(Interrupted),
    }
}

/// Waits in the wait queue that `putters` returns until a taker has taken the element, no longer than
/// `limit`.
pub(crate) fn wait_for_taker<S, T>(
    lock: &QueueLock<S>,
    state: MutexGuard<'_, S>,
    putters: impl Fn(&mut S) -> &mut WaitQueue<T>,
    item: T,
    limit: WaitLimit,
) -> Result<(), PutError<T>> {
    let Some(deadline) = limit.deadline() else {
        return Err(PutError::Full(item));
    };
    let (outcome, item) = if deadline.has_passed() {
        drop(state);
        (WaitOutcome::expired(), Some(item))
    } else {
        let waited = wait(lock.mutex(), state, putters, item, deadline);
        drop(waited.guard);
        (waited.outcome, waited.payload)
    };
    match (outcome, item) {
        (WaitOutcome::TimedOut, Some(item)) => Err(PutError::TimedOut(item)),
        (WaitOutcome::Interrupted, Some(item)) => Err(PutError::Interrupted(item)),
        _ => Ok(()),
    }
}
