//! The end of a job that lies on somebody's stack.
//!
//! Whoever sets the latch must not touch it afterwards: the owner may see it set, return, and take
//! the stack with it. So a setter that has to wake the owner first gets hold of the owner's context,
//! then sets, then wakes.

#![expect(
    unsafe_code,
    reason = "the owner's context is handed over through a cell"
)]

use std::sync::Arc;

use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{UnsafeCell, mutant};

const OPEN: u8 = 0;
/// The owner sleeps, or is about to; its context is in `owner`.
const AWAITED: u8 = 1;
const SET: u8 = 2;

/// Set once, awaited by the one thread that owns it.
///
/// `owner` is written by the owning thread before it publishes `AWAITED`, and read by the setter
/// after it has seen that; the owner does not touch it again before `SET`.
pub(super) struct Latch {
    state: AtomicU8,
    owner: UnsafeCell<Option<Arc<ThreadContext>>>,
}

// SAFETY: `owner` is handed over by `AWAITED`, as said above.
unsafe impl Sync for Latch {}

impl Latch {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU8::new(OPEN),
            owner: UnsafeCell::new(None),
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Announces that the owner is going to sleep; false if the latch is set already.
    pub(super) fn announce(&self, owner: &Arc<ThreadContext>) -> bool {
        match self.state.load(Ordering::Acquire) {
            SET => false,
            AWAITED => true,
            _ => {
                self.owner.with_mut(|place| {
                    // SAFETY: only the owner gets here, and nobody reads before `AWAITED`.
                    unsafe { *place = Some(Arc::clone(owner)) };
                });
                let announced =
                    self.state
                        .compare_exchange(OPEN, AWAITED, Ordering::AcqRel, Ordering::Acquire);
                announced.is_ok()
            }
        }
    }

    /// Sets the latch and wakes the owner.
    ///
    /// # Safety
    ///
    /// `latch` is alive when this is called. It may be gone when this returns.
    pub(super) unsafe fn set(latch: *const Self) {
        // SAFETY: alive by the contract, and until one of the two stores below is seen.
        let this = unsafe { &*latch };
        let first = this
            .state
            .compare_exchange(OPEN, SET, Ordering::AcqRel, Ordering::Acquire);
        if first.is_ok() {
            return;
        }
        let owner = this.owner.with(|owner| {
            // SAFETY: `AWAITED` was seen, so the owner has written it and waits for `SET`.
            unsafe { (*owner).clone() }
        });
        // Mutant: what was done before is not seen by the owner.
        let order = mutant!("latch_set_is_relaxed", Ordering::Relaxed, Ordering::Release);
        this.state.store(SET, order);
        if let Some(owner) = owner {
            owner.unpark();
        }
    }
}
