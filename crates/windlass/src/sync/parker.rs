//! One thread waits, anyone wakes it, with or without a deadline.
//!
//! A token, not a counter: any number of [`Parker::unpark`] before a [`Parker::park`] release it
//! once. The token can be left over from an earlier wait, so a caller always checks what it
//! waits for again after waking.
//!
//! Built on a mutex and a condition variable instead of `std::thread::park`, for two reasons: a
//! task may use `thread::park` for itself, and would lose its token to the library; and loom's
//! condition variable and its `park` do not work on one thread together.

use std::time::Instant;

use super::atomic::{AtomicU32, Ordering};
use super::{Condvar, Mutex};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// The reason why a park ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum ParkResult {
    /// [`Parker::unpark`] was called.
    Unparked,
    /// The deadline passed first.
    TimedOut,
}

/// The outcome of [`Parker::announce_sleep`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum Announced {
    /// The thread may sleep: an `unpark` from now on wakes it.
    Parked,
    /// The thread must not sleep: there was a token, which is taken.
    TokenTaken,
}

/// A place where one thread parks.
///
/// `state` holds the token; the lock is taken only to sleep and to wake a sleeper.
/// The swap in `unpark` is the release that the swap or exchange in `park` acquires, so what was
/// written before waking is seen after it.
#[derive(Debug)]
pub(crate) struct Parker {
    state: AtomicU32,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Parks until there is a token, and takes it.
    pub(crate) fn park(&self) {
        if self.take_token() {
            return;
        }
        let mut guard = self.lock.lock();
        if self.announce_sleep() == Announced::TokenTaken {
            return;
        }
        while !self.take_token() {
            guard = self.wake.wait(guard);
        }
    }

    /// Parks until there is a token, and takes it, or until the deadline.
    pub(crate) fn park_until(&self, deadline: Instant) -> ParkResult {
        if self.take_token() {
            return ParkResult::Unparked;
        }
        let mut guard = self.lock.lock();
        if self.announce_sleep() == Announced::TokenTaken {
            return ParkResult::Unparked;
        }
        loop {
            let (relocked, late) = self.wake.wait_until(guard, deadline);
            guard = relocked;
            if self.take_token() {
                return ParkResult::Unparked;
            }
            if late {
                // A token that came since must not be lost with the announcement.
                return match self.state.swap(EMPTY, Ordering::Acquire) {
                    NOTIFIED => ParkResult::Unparked,
                    _ => ParkResult::TimedOut,
                };
            }
        }
    }

    /// Leaves a token, and wakes the thread if it sleeps.
    pub(crate) fn unpark(&self) {
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            // The sleeper announced itself under the lock and releases the lock only by waiting:
            // taking the lock makes sure that it waits by now.
            drop(self.lock.lock());
            self.wake.notify_one();
        }
    }

    fn take_token(&self) -> bool {
        self.state
            .compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Announces that this thread is about to sleep, unless a token came first.
    fn announce_sleep(&self) -> Announced {
        match self
            .state
            .compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => Announced::Parked,
            Err(_) => {
                self.state.swap(EMPTY, Ordering::Acquire);
                Announced::TokenTaken
            }
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Parker;
    use crate::sync::atomic::{AtomicU32, Ordering};
    use crate::sync::{UnsafeCell, model, thread};

    #[test]
    fn a_wake_up_before_or_during_the_sleep_is_never_lost() {
        model(|| {
            let parker = Arc::new(Parker::new());
            let waker = Arc::clone(&parker);
            let other = thread::Builder::new()
                .spawn(move || waker.unpark())
                .unwrap();
            parker.park();
            other.join().unwrap();
        });
    }

    #[test]
    fn what_was_written_before_unpark_is_seen_after_park() {
        struct Shared {
            parker: Parker,
            data: UnsafeCell<u32>,
        }
        #[expect(unsafe_code, reason = "the model watches one unsynchronised cell")]
        // SAFETY: `data` is written before `unpark` and read after `park`: that is the claim.
        unsafe impl Sync for Shared {}
        #[expect(unsafe_code, reason = "the model watches one unsynchronised cell")]
        model(|| {
            let shared = Arc::new(Shared {
                parker: Parker::new(),
                data: UnsafeCell::new(0),
            });
            let writer = Arc::clone(&shared);
            let other = thread::Builder::new()
                .spawn(move || {
                    // SAFETY: the reader waits for the `unpark` that follows.
                    writer.data.with_mut(|data| unsafe { *data = 7 });
                    writer.parker.unpark();
                })
                .unwrap();
            shared.parker.park();
            // SAFETY: `park` has seen the token that was left after the write.
            assert_eq!(shared.data.with(|data| unsafe { *data }), 7);
            other.join().unwrap();
        });
    }

    #[test]
    fn two_wake_ups_release_two_waits_for_a_state() {
        model(|| {
            let parker = Arc::new(Parker::new());
            let count = Arc::new(AtomicU32::new(0));
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let (parker, count) = (Arc::clone(&parker), Arc::clone(&count));
                    thread::Builder::new()
                        .spawn(move || {
                            count.fetch_add(1, Ordering::Relaxed);
                            parker.unpark();
                        })
                        .unwrap()
                })
                .collect();
            while count.load(Ordering::Relaxed) < 2 {
                parker.park();
            }
            for other in others {
                other.join().unwrap();
            }
        });
    }
}
