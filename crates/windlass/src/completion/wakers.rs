//! Wakers of streams that wait for a completion.

use std::task::Waker;

use crate::sync::Mutex;
use crate::unwind::{discard, ignore_panic};

/// The wakers of streams that found nothing. A completion wakes all of them, so that none has to pass a
/// wake-up on; there is rarely more than one.
#[derive(Debug, Default)]
pub(super) struct Wakers(Mutex<Vec<Waker>>);

impl Wakers {
    pub(super) fn add(&self, waker: &Waker) {
        let new = waker.clone();
        let surplus = {
            let mut wakers = self.0.lock();
            if wakers.iter().any(|known| known.will_wake(&new)) {
                Some(new)
            } else {
                wakers.push(new);
                None
            }
        };
        discard(surplus);
    }

    pub(super) fn wake_all(&self) {
        let wakers = std::mem::take(&mut *self.0.lock());
        for waker in wakers {
            ignore_panic(|| waker.wake());
        }
    }
}
