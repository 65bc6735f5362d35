//! Cancellation as a value: it is passed on, and reaches tasks, groups and other tokens.
//!
//! A token is cancelled once. Whether it is, and who has to be told, is decided under one lock: a listener
//! that is registered before is called by the thread that cancels, one that comes later is called by the
//! thread that registers it. No listener is called under the lock.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::error::{Cancellation, ExecutionError};
use super::transition::CancelMode;
use crate::interrupt::Interrupted;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{Deadline, Mutex};
use crate::unwind::{DiscardOnDrop, catch, discard_payload};
use crate::waiting::{WaitOutcome, WaitQueue, wait};

/// A token that cancels what was connected to it: tasks
/// ([`Submission::cancelled_by`](crate::Submission::cancelled_by)), groups
/// ([`TaskGroup::cancelled_by`](crate::TaskGroup::cancelled_by)), child tokens and callbacks.
///
/// Clones are the same token. Every task has one, see [`TaskControl::token`](super::TaskControl::token).
/// Code that runs reads it or waits for it; it need not be inside a task.
///
/// ```
/// use windlass::prelude::*;
/// use windlass::task::{CancelToken, Cancellation};
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// let request = CancelToken::new();
/// let theirs = request.child();
/// let search = pool.task().cancelled_by(&request).submit(move || {
///     let mut steps = 0_u64;
///     while !theirs.is_cancelled() {
///         steps += 1;
///     }
///     steps
/// });
/// request.cancel();
/// let error = search.unwrap().join().unwrap_err();
/// assert_eq!(error.cancellation(), Some(Cancellation::Token));
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Node>);

#[derive(Default)]
struct Node {
    /// Zero, or how it was cancelled, as a [`Signal`]. Written under the lock.
    signal: AtomicU8,
    links: Mutex<Links>,
}

#[derive(Default)]
struct Links {
    next: u64,
    /// In order of registration.
    listeners: BTreeMap<u64, Listener>,
    waiters: WaitQueue,
    /// The parent, and the key of this token among its listeners.
    parent: Option<(CancelToken, u64)>,
}

type Call = Box<dyn FnOnce(Signal) + Send>;

enum Listener {
    Call(DiscardOnDrop<Call>),
    /// Not called through a closure, so that a long chain of tokens takes no stack.
    Child(Weak<Node>),
}

/// How and why a token was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) mode: CancelMode,
    pub(crate) reason: Cancellation,
}

impl Signal {
    /// Returns a number above zero.
    fn code(self) -> u8 {
        let reason = u8::try_from(self.reason.code()).expect("five bits");
        let interrupts = u8::from(self.mode == CancelMode::Interrupt);
        1 + 2 * reason + interrupts
    }

    fn from_code(code: u8) -> Option<Self> {
        let code = code.checked_sub(1)?;
        let mode = if code % 2 == 1 {
            CancelMode::Interrupt
        } else {
            CancelMode::LetRun
        };
        let reason = Cancellation::from_code(u64::from(code / 2));
        Some(Self { mode, reason })
    }
}

/// A listener of a token. It is removed when this is dropped.
#[must_use = "the listener is removed when this is dropped"]
pub(crate) struct Registration {
    token: CancelToken,
    key: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.token.remove(self.key);
    }
}

/// Leaves the parent. Not by the drop of a field: a long chain of tokens takes no stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parent = self.links.lock().parent.take();
        while let Some((token, key)) = parent {
            token.remove(key);
            parent = Arc::into_inner(token.0).and_then(|node| node.links.lock().parent.take());
        }
    }
}

impl CancelToken {
    /// Creates a token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        let listener = Listener::Child(Arc::downgrade(&child.0));
        match self.insert(listener) {
            Ok(key) => child.0.links.lock().parent = Some((self.clone(), key)),
            Err((_, signal)) => {
                child.signal(signal);
            }
        }
        child
    }

    /// Cancels what is connected to the token; threads that run a connected task are not interrupted.
    /// Returns false if it was cancelled before.
    ///
    /// # Panics
    ///
    /// If a callback panics, after all have been called.
    pub fn cancel(&self) -> bool {
        self.cancel_for(CancelMode::LetRun, Cancellation::Token)
    }

    /// Cancels what is connected to the token; threads that run a connected task are interrupted. Returns
    /// false if it was cancelled before.
    ///
    /// # Panics
    ///
    /// If a callback panics, after all have been called.
    pub fn cancel_now(&self) -> bool {
        self.cancel_for(CancelMode::Interrupt, Cancellation::Token)
    }

    /// Returns whether it was cancelled.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.signal.load(Ordering::Acquire) != 0
    }

    /// Returns why it was cancelled, if it was.
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.cancelled_with().map(|signal| signal.reason)
    }

    /// Returns an error if it was cancelled, for `?` between two steps of a task.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Cancelled`], with the reason.
    pub fn check(&self) -> Result<(), ExecutionError> {
        let reason = self.cancellation();
        reason.map_or(Ok(()), |reason| Err(ExecutionError::Cancelled(reason)))
    }

    /// Calls `callback` when the token is cancelled, at once if it is.
    ///
    /// It runs on the thread that cancels. The token keeps it until then: for one that is to be forgotten
    /// earlier, register it with a [`child`](Self::child) and drop that.
    ///
    /// # Panics
    ///
    /// If the token is cancelled already and `callback` panics.
    pub fn on_cancel(&self, callback: impl FnOnce() + Send + 'static) {
        self.listen(Box::new(move |_| callback()));
    }

    /// Waits until the token is cancelled.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread was interrupted while it had to wait.
    pub fn wait(&self) -> Result<(), Interrupted> {
        self.wait_by(Deadline::Never).map(drop)
    }

    /// Waits until the token is cancelled, no longer than `timeout`; returns whether it is.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread was interrupted while it had to wait.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.wait_by(Deadline::after(timeout))
    }

    fn wait_by(&self, deadline: Deadline) -> Result<bool, Interrupted> {
        let mut links = self.0.links.lock();
        while !self.is_cancelled() {
            let waited = wait(
                &self.0.links,
                links,
                |links| &mut links.waiters,
                (),
                deadline,
            );
            links = waited.guard;
            match waited.outcome {
                WaitOutcome::Signalled => {}
                WaitOutcome::TimedOut => return Ok(self.is_cancelled()),
                WaitOutcome::Interrupted => return Err(Interrupted),
            }
        }
        Ok(true)
    }

    fn cancelled_with(&self) -> Option<Signal> {
        Signal::from_code(self.0.signal.load(Ordering::Acquire))
    }

    /// Cancels the token and its children.
    pub(crate) fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.signal(Signal { mode, reason })
    }

    /// Calls `listener` when the token is cancelled; at once, and without a registration, if it is.
    pub(crate) fn register(
        &self,
        listener: impl FnOnce(Signal) + Send + 'static,
    ) -> Option<Registration> {
        let key = self.listen(Box::new(listener))?;
        let token = self.clone();
        Some(Registration { token, key })
    }

    /// Calls `call` when the token is cancelled, at once if it is; returns its key if it is not.
    fn listen(&self, call: Call) -> Option<u64> {
        match self.insert(Listener::Call(DiscardOnDrop::new(call))) {
            Ok(key) => Some(key),
            Err((listener, signal)) => {
                let call = match listener {
                    Listener::Call(mut call) => call.take(),
                    Listener::Child(_) => None,
                };
                if let Some(call) = call {
                    call(signal);
                }
                None
            }
        }
    }

    /// Adds a listener; returns it if the token is cancelled.
    fn insert(&self, listener: Listener) -> Result<u64, (Listener, Signal)> {
        let mut links = self.0.links.lock();
        // Under the lock: whoever cancels takes the listeners under it too.
        if let Some(signal) = self.cancelled_with() {
            return Err((listener, signal));
        }
        links.next += 1;
        let key = links.next;
        links.listeners.insert(key, listener);
        Ok(key)
    }

    fn remove(&self, key: u64) {
        let removed = self.0.links.lock().listeners.remove(&key);
        drop(removed);
    }

    /// Cancels the token and its children, and calls all listeners; then resumes the first panic.
    fn signal(&self, signal: Signal) -> bool {
        let Some(mut listeners) = self.0.begin(signal) else {
            return false;
        };
        let mut panic = None;
        // The newest first: a worker whose task is interrupted takes the next one at once, and that one
        // must already be cancelled.
        while let Some(listener) = listeners.pop() {
            match listener {
                Listener::Child(child) => {
                    let inner = child.upgrade().and_then(|child| child.begin(signal));
                    listeners.extend(inner.into_iter().flatten());
                }
                Listener::Call(mut call) => {
                    let called = call.take().map(|call| catch(|| call(signal)));
                    if let Some(Err(payload)) = called {
                        match panic {
                            None => panic = Some(payload),
                            Some(_) => discard_payload(payload),
                        }
                    }
                }
            }
        }
        if let Some(payload) = panic {
            std::panic::resume_unwind(payload);
        }
        true
    }
}

impl Node {
    /// Marks the token as cancelled and wakes who waits for it; returns the listeners, oldest first, for
    /// the caller to call. `None` if it was cancelled before.
    fn begin(&self, signal: Signal) -> Option<Vec<Listener>> {
        let (listeners, wakeups) = {
            let mut links = self.links.lock();
            if self.signal.load(Ordering::Relaxed) != 0 {
                return None;
            }
            self.signal.store(signal.code(), Ordering::Release);
            let listeners = std::mem::take(&mut links.listeners);
            (listeners, links.waiters.signal(usize::MAX))
        };
        drop(wakeups);
        Some(listeners.into_values().collect())
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancellation", &self.cancellation())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(&self.token).finish()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::CancelToken;
    use crate::sync::atomic::{AtomicU32, Ordering};
    use crate::sync::{model, thread};
    use crate::task::{Cancellation, Task};

    fn spawn_canceller(token: &CancelToken) -> thread::JoinHandle<bool> {
        let token = token.clone();
        thread::Builder::new()
            .spawn(move || token.cancel())
            .unwrap()
    }

    /// WL-140
    #[test]
    fn a_callback_that_races_with_the_cancellation_is_called_once() {
        model(|| {
            let (token, calls) = (CancelToken::new(), Arc::new(AtomicU32::new(0)));
            let canceller = spawn_canceller(&token);
            let theirs = Arc::clone(&calls);
            token.on_cancel(move || {
                theirs.fetch_add(1, Ordering::Relaxed);
            });
            canceller.join().unwrap();
            assert_eq!(calls.load(Ordering::Relaxed), 1);
        });
    }

    /// WL-141
    #[test]
    fn a_child_that_is_created_while_its_parent_is_cancelled_is_cancelled() {
        model(|| {
            let token = CancelToken::new();
            let canceller = spawn_canceller(&token);
            let child = token.child();
            canceller.join().unwrap();
            assert_eq!(child.cancellation(), Some(Cancellation::Token));
        });
    }

    /// WL-140
    #[test]
    fn a_wait_ends_with_the_cancellation() {
        model(|| {
            let token = CancelToken::new();
            let canceller = spawn_canceller(&token);
            token.wait().unwrap();
            assert!(canceller.join().unwrap());
        });
    }

    /// WL-142
    #[test]
    fn the_token_of_a_task_is_cancelled_with_it_whoever_is_first() {
        model(|| {
            let (task, handle) = Task::with_handle(|| ());
            let control = handle.control();
            let canceller = thread::Builder::new().spawn(move || control.cancel());
            let token = handle.token();
            canceller.unwrap().join().unwrap();
            assert_eq!(token.cancellation(), Some(Cancellation::Parent));
            drop(task);
        });
    }
}
