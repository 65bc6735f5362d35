//! A latch: set once by the thread that runs a job, awaited by the thread that owns the job.
//!
//! The setter must not touch the latch after setting it: the owner may see it set, return, and free
//! the stack frame that holds it. A setter that has to wake the owner therefore clones the owner's
//! thread context first, then sets, then unparks.

#![expect(
    unsafe_code,
    reason = "the owner's context is handed over through a cell"
)]

use std::sync::Arc;

use crate::interrupt::ThreadContext;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
/// The owner sleeps, or is about to; its context is in `owner`.
const AWAITED: u8 = 1;
const SET: u8 = 2;
/// As `AWAITED`, by an owner whom nothing but `SET` concerns.
const AWAITED_ONLY: u8 = 3;

/// A latch that is set once and awaited by the one thread that owns it.
///
/// `owner` is written by the owning thread before it publishes `AWAITED`, and read by the setter
/// after it has read `AWAITED`; the owner does not touch it again before `SET`.
pub(super) struct Latch {
    state: AtomicU8,
    owner: UnsafeCell<Option<Arc<ThreadContext>>>,
}

// SAFETY: the store of `AWAITED`, and the load that reads it, order the accesses to `owner`.
unsafe impl Sync for Latch {}

/// The outcome of [`Latch::register`].
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registered {
    /// The setter will unpark the owner.
    Awaited,
    AlreadySet,
}

impl Latch {
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU8::new(OPEN),
            owner: UnsafeCell::new(None),
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Registers the owner, which is about to park, to be unparked by the setter.
    pub(super) fn register(&self, owner: &Arc<ThreadContext>) -> Registered {
        self.register_as(AWAITED, owner)
    }

    /// Does the same for an owner that is not to be [woken early](Self::wake_early).
    pub(super) fn register_only(&self, owner: &Arc<ThreadContext>) -> Registered {
        self.register_as(AWAITED_ONLY, owner)
    }

    fn register_as(&self, awaited: u8, owner: &Arc<ThreadContext>) -> Registered {
        match self.state.load(Ordering::Acquire) {
            SET => return Registered::AlreadySet,
            AWAITED | AWAITED_ONLY => return Registered::Awaited,
            _ => {}
        }
        self.owner.with_mut(|place| {
            // SAFETY: only the owner gets here, and the setter does not read before `AWAITED`.
            unsafe { *place = Some(Arc::clone(owner)) };
        });
        let registered =
            self.state
                .compare_exchange(OPEN, awaited, Ordering::AcqRel, Ordering::Acquire);
        match registered {
            Ok(_) => Registered::Awaited,
            Err(_) => Registered::AlreadySet,
        }
    }

    /// Parks the owner until the latch is set; interrupts stay pending.
    #[cfg(test)]
    pub(super) fn wait(&self, owner: &Arc<ThreadContext>) {
        if self.register(owner) == Registered::Awaited {
            while !self.is_set() {
                let _ = owner.park_uninterruptibly(crate::sync::Deadline::Never);
            }
        }
    }

    /// Unparks the owner if it waits; the latch stays open. Only the thread that sets the latch later
    /// calls this.
    pub(super) fn wake_early(&self) {
        if self.state.load(Ordering::Acquire) != AWAITED {
            return;
        }
        self.owner.with(|owner| {
            // SAFETY: the state is `AWAITED`, so the owner has written it and waits for `SET`, which
            // this thread sets later.
            let owner = unsafe { &*owner };
            if let Some(owner) = owner {
                owner.unpark();
            }
        });
    }

    /// Sets the latch and unparks the owner.
    ///
    /// # Safety
    ///
    /// `latch` is alive when this is called. It may be gone when this returns.
    pub(super) unsafe fn set(latch: *const Self) {
        // SAFETY: alive by the contract, and until one of the two writes of `SET` below is seen.
        let this = unsafe { &*latch };
        let first = this
            .state
            .compare_exchange(OPEN, SET, Ordering::AcqRel, Ordering::Acquire);
        if first.is_ok() {
            return;
        }
        let owner = this.owner.with(|owner| {
            // SAFETY: the owner is registered, so it has written it and waits for `SET`.
            unsafe { (*owner).clone() }
        });
        // Release: the owner sees the outcome of the job.
        this.state.store(SET, Ordering::Release);
        if let Some(owner) = owner {
            owner.unpark();
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Latch, Registered};
    use crate::interrupt::ThreadContext;
    use crate::sync::{Deadline, ParkResult};

    /// Registers the current thread with `register`, wakes it early, and returns how its park ends.
    fn woken_early(register: fn(&Latch, &Arc<ThreadContext>) -> Registered) -> ParkResult {
        let (latch, me) = (Latch::new(), ThreadContext::current());
        assert_eq!(register(&latch, &me), Registered::Awaited);
        assert_eq!(register(&latch, &me), Registered::Awaited);
        latch.wake_early();
        assert!(!latch.is_set());
        me.park_uninterruptibly(Deadline::after(Duration::ZERO))
    }

    #[test]
    fn an_owner_is_woken_early_unless_only_the_end_concerns_it() {
        assert_eq!(woken_early(Latch::register), ParkResult::Unparked);
        assert_eq!(woken_early(Latch::register_only), ParkResult::TimedOut);
    }
}
