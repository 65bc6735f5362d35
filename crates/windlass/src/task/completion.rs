//! The outcome of a task that was completed from outside, of any type.
//!
//! It lies in the part of a task that most tasks never allocate, which does not know the type of the
//! result. The task's [`State`](super::state::State) decides which thread may access it: the winner
//! of `claim` writes it before it publishes `DONE` with `CLAIMED`; afterwards it is read in place,
//! or taken by the one owner of the value.

#![expect(
    unsafe_code,
    reason = "the state word of the task takes the place of a lock"
)]

use std::any::Any;

use crate::sync::UnsafeCell;
use crate::unwind::DiscardOnDrop;

/// A place for an outcome.
#[derive(Debug)]
pub(super) struct Completion(UnsafeCell<DiscardOnDrop<Box<dyn Any + Send>>>);

impl Default for Completion {
    fn default() -> Self {
        Self(UnsafeCell::new(DiscardOnDrop::empty()))
    }
}

// SAFETY: it is reached by one thread at a time, or read only and then `Sync`, as the contracts of its
// methods say.
unsafe impl Sync for Completion {}

impl Completion {
    /// Stores the outcome.
    ///
    /// # Safety
    ///
    /// The caller has won the claim of the task, and has not published the result.
    pub(super) unsafe fn put(&self, outcome: Box<dyn Any + Send>) {
        self.0.with_mut(|place| {
            // SAFETY: the claim is won once, and nobody reads before `DONE` is published with `CLAIMED`.
            unsafe { (*place).put(outcome) }
        });
    }

    /// Moves the outcome out.
    ///
    /// # Safety
    ///
    /// The caller has seen `DONE` with `CLAIMED`, and is the only reader.
    pub(super) unsafe fn take(&self) -> Option<Box<dyn Any + Send>> {
        // SAFETY: the writer is done, and by the contract of this function there is no other reader.
        self.0.with_mut(|place| unsafe { (*place).take() })
    }

    /// Returns the outcome in place.
    ///
    /// # Safety
    ///
    /// The caller has seen `DONE` with `CLAIMED`, and nobody takes the outcome while the reference
    /// lives. If other threads read too, the outcome is `Sync`.
    pub(super) unsafe fn get(&self) -> Option<&(dyn Any + Send)> {
        // SAFETY: the writer is done, and by the contract of this function nobody takes the outcome.
        let place = self.0.with(|place| unsafe { &*place });
        place.get().map(|outcome| &**outcome)
    }
}
