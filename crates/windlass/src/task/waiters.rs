//! The waiters of a task: threads, wakers and callbacks.
//!
//! User code does not run under the lock: wakers are cloned before it is acquired, and woken or dropped
//! after it is released.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::task::Waker;

use super::state::Snapshot;
use super::token::CancelToken;
use super::wanted::BatchId;
use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::unwind::{DiscardOnDrop, catch, discard, discard_payload, ignore_panic};

/// The key of a waker among those that wait for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WakerKey(NonZeroU64);

impl WakerKey {
    /// The key of the one waker that the owning handle of a task registers.
    pub(super) const OWNER: Self = Self(NonZeroU64::MIN);
}

/// A callback that is called with the final state when the task is done.
pub(super) type Callback = Box<dyn FnOnce(Snapshot) + Send>;

#[derive(Default)]
pub(super) struct Waiters(Mutex<Lists>);

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Lists {
    waiters: Vec<Waiter>,
    callbacks: Vec<(u64, DiscardOnDrop<Callback>)>,
    /// The number of keys that were created; one is the owner's.
    keys: u64,
    token: Option<CancelToken>,
    /// The batch of tasks of which somebody may wait for any.
    batch: Option<BatchId>,
}

enum Waiter {
    Thread(Arc<ThreadContext>),
    Waker(WakerKey, Waker),
}

impl Lists {
    fn new_key(&mut self) -> u64 {
        self.keys += 1;
        self.keys + WakerKey::OWNER.0.get()
    }

    fn remove(&mut self, same: impl Fn(&Waiter) -> bool) -> Option<Waiter> {
        let at = self.waiters.iter().position(same)?;
        Some(self.waiters.swap_remove(at))
    }

    fn remove_waker(&mut self, key: WakerKey) -> Option<Waiter> {
        self.remove(|waiter| matches!(waiter, Waiter::Waker(k, _) if *k == key))
    }
}

impl Waiters {
    pub(super) fn set_batch(&self, batch: BatchId) {
        self.0.lock().batch = Some(batch);
    }

    pub(super) fn is_of_batch(&self, batch: BatchId) -> bool {
        self.0.lock().batch == Some(batch)
    }

    pub(super) fn add_thread(&self, thread: &Arc<ThreadContext>) {
        let waiter = Waiter::Thread(Arc::clone(thread));
        self.0.lock().waiters.push(waiter);
    }

    pub(super) fn remove_thread(&self, thread: &Arc<ThreadContext>) {
        let same = |waiter: &Waiter| matches!(waiter, Waiter::Thread(t) if Arc::ptr_eq(t, thread));
        self.0.lock().remove(same);
    }

    /// Returns the token of the task, and whether it is new.
    pub(super) fn token(&self) -> (CancelToken, bool) {
        let mut lists = self.0.lock();
        let is_new = lists.token.is_none();
        (lists.token.get_or_insert_default().clone(), is_new)
    }

    /// Creates a key under which a waker can be registered.
    pub(super) fn new_key(&self) -> WakerKey {
        let key = NonZeroU64::new(self.0.lock().new_key());
        WakerKey(key.expect("keys start above the owner's"))
    }

    /// Registers the waker under the key, in place of an older one.
    pub(super) fn set_waker(&self, key: WakerKey, waker: Waker) {
        let former = {
            let mut lists = self.0.lock();
            let former = lists.remove_waker(key);
            lists.waiters.push(Waiter::Waker(key, waker));
            former
        };
        discard(former);
    }

    pub(super) fn remove_waker(&self, key: WakerKey) {
        let former = self.0.lock().remove_waker(key);
        discard(former);
    }

    /// Adds a callback; returns the key with which it can be removed before the task is done.
    pub(super) fn add_callback(&self, callback: Callback) -> u64 {
        let mut lists = self.0.lock();
        let key = lists.new_key();
        lists.callbacks.push((key, DiscardOnDrop::new(callback)));
        key
    }

    /// Removes a callback that [`wake_all`](Self::wake_all) has not taken.
    pub(super) fn take_callback(&self, key: u64) -> Option<Callback> {
        let mut lists = self.0.lock();
        let at = lists.callbacks.iter().position(|(k, _)| *k == key)?;
        lists.callbacks.remove(at).1.take()
    }

    /// Wakes all waiters; returns the callbacks for the caller to call.
    pub(super) fn wake_all(&self) -> Callbacks {
        let (waiters, callbacks) = {
            let mut lists = self.0.lock();
            (
                std::mem::take(&mut lists.waiters),
                std::mem::take(&mut lists.callbacks),
            )
        };
        // Threads first: a waker is user code, and may be slow.
        for waiter in &waiters {
            if let Waiter::Thread(thread) = waiter {
                thread.unpark();
            }
        }
        for waiter in waiters {
            if let Waiter::Waker(_, waker) = waiter {
                ignore_panic(|| waker.wake());
            }
        }
        Callbacks(callbacks)
    }
}

/// The callbacks to call after the waiters have been woken.
#[derive(Default)]
#[must_use = "callbacks that are dropped are not called"]
pub(super) struct Callbacks(Vec<(u64, DiscardOnDrop<Callback>)>);

impl Callbacks {
    /// Calls all of them, then resumes the first panic.
    #[inline]
    pub(super) fn call(self, end: Snapshot) {
        if !self.0.is_empty() {
            self.call_each(end);
        }
    }

    fn call_each(self, end: Snapshot) {
        let mut first = None;
        for (_, mut callback) in self.0 {
            let Some(callback) = callback.take() else {
                continue;
            };
            if let Err(payload) = catch(|| callback(end)) {
                match first {
                    None => first = Some(payload),
                    Some(_) => discard_payload(payload),
                }
            }
        }
        if let Some(payload) = first {
            std::panic::resume_unwind(payload);
        }
    }
}
