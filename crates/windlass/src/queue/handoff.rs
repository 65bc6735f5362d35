//! Receiving from hand to hand: a taker waits with an empty slot, and the giver fills it.

use std::sync::Arc;

use super::lock::QueueLock;
use crate::interrupt::{Interrupted, ends_wait};
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
        return if ends_wait() {
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
        Wait::Signalled if mutant!("interrupt_beats_delivery") && ends_wait() => Err(Interrupted),
        Wait::Signalled => Ok(slot.lock().take()),
        Wait::TimedOut => Ok(None),
        Wait::Interrupted => Err(Interrupted),
    }
}
