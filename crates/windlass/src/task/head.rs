//! The part of a cell that depends on no type: its state, its header, and the waits for its end.
//!
//! A waiter enlists first and then announces itself in the state word, where the end is published too.
//! So either the thread that completes the task sees the announcement, and then the waiter; or the
//! announcement sees the end, and there is nothing to wait for.
//!
//! Nobody spins for long: who waits for another thread to take its next step parks, so that the other
//! one gets the core, whatever their priorities.

use std::sync::Arc;
use std::task::Waker;

use super::deadlock::TaskName;
use super::error::Cancellation;
use super::header::Header;
use super::state::{Snapshot, State};
use super::token::CancelToken;
use super::transition::{Announced, CancelMode};
use super::waiters::{Callback, Callbacks, WakerKey};
use super::wanted::BatchId;
use crate::interrupt::{Interrupted, ThreadContext, WakeReason};
use crate::sync::{Deadline, SpinLength, Spun, spin_until};
use crate::unwind::ignore_panic;

/// How often a waiting thread reads the state before it parks. Only the runner writes there, once, so
/// the reads hit the cache.
const SPINS: u32 = 48;

/// The part of a cell that depends on no type.
#[repr(C)] // What a run accesses comes last, next to the content: mostly one cache line for both.
pub(crate) struct Head {
    header: Header,
    pub(super) state: State,
}

impl Head {
    /// Creates the head of a cell with this many references to it.
    #[inline]
    pub(super) fn new(refs: u64, header: Header) -> Self {
        Self {
            state: State::new(refs, Cancellation::Dropped),
            header,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> Snapshot {
        self.state.load()
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Sets whether the task is cancelled when its handle is dropped.
    pub(crate) fn set_cancel_on_drop(&self, cancels: bool) {
        self.state.set_cancel_on_drop(cancels);
    }

    /// Waits until the winner of a claim has published its result, so that an attempt to complete or
    /// cancel that came too late returns with the task done.
    pub(super) fn await_claimer(&self) {
        if self.state.load().is_done() {
            return;
        }
        let me = ThreadContext::current();
        self.header.waiters().add_thread(&me);
        if self.state.announce_wait() == Announced::Done {
            return self.header.waiters().remove_thread(&me);
        }
        while !self.state.load().is_done() {
            let _ = me.park_uninterruptibly(Deadline::Never);
        }
    }

    /// Waits until a canceller that is about to interrupt this thread has done so.
    pub(super) fn await_delivery(&self, me: &ThreadContext) {
        while self.state.load().is_interrupting() {
            let _ = me.park_uninterruptibly(Deadline::Never);
        }
    }

    /// Interrupts the runner of a cancelled task with `deliver`, after `cancel` has set `INTERRUPTING`.
    pub(super) fn interrupt_runner(&self, runner: u32, deliver: impl FnOnce(&ThreadContext)) {
        let runner = ThreadContext::by_number(runner);
        if let Some(runner) = &runner {
            ignore_panic(|| deliver(runner));
        }
        self.state.interrupt_delivered();
        // Not before: a runner that wakes up first would find the bit set and sleep again.
        if let Some(runner) = &runner {
            runner.unpark();
        }
    }

    #[inline]
    pub(super) fn wake_if(&self, awaited: bool) -> Callbacks {
        if awaited {
            self.wake()
        } else {
            Callbacks::default()
        }
    }

    /// Wakes all waiters; returns the callbacks for the caller to call.
    pub(super) fn wake(&self) -> Callbacks {
        self.header.waiters().wake_all()
    }

    #[inline]
    pub(super) fn call(&self, callbacks: Callbacks) {
        callbacks.call(self.state.load());
    }

    /// Returns the id and the name of the task.
    pub(crate) fn to_name(&self) -> TaskName {
        TaskName {
            id: self.header.id(),
            name: self.header.attributes().and_then(|a| a.name.clone()),
        }
    }

    /// Returns whether no thread has started the task, and it is not done.
    pub(super) fn is_unstarted(&self) -> bool {
        let state = self.state.load();
        !state.is_running() && !state.is_done()
    }

    /// Spins for a while, since a short task is done before this thread would be asleep; returns whether
    /// the task is done.
    pub(super) fn spin_until_done(&self) -> bool {
        spin_until(SpinLength::Full, SPINS, || self.state.load().is_done()) != Spun::InVain
    }

    /// Makes the end of the task unpark this thread; returns false if the task is done.
    pub(super) fn enlist(&self, me: &Arc<ThreadContext>) -> bool {
        self.header.waiters().add_thread(me);
        let pending = self.state.announce_wait() == Announced::Pending;
        if !pending {
            self.delist(me);
        }
        pending
    }

    /// Ends what [`enlist`](Self::enlist) began, of a thread that gives up.
    pub(super) fn delist(&self, me: &Arc<ThreadContext>) {
        self.header.waiters().remove_thread(me);
    }

    /// Waits until the task is done; returns false if the deadline passes before.
    ///
    /// For a thread without [helpers](super::helped_wait::Helpers).
    pub(crate) fn wait(&self, deadline: Deadline) -> Result<bool, Interrupted> {
        if self.state.load().is_done() {
            return Ok(true);
        }
        let me = ThreadContext::current();
        if me.take_interrupt() {
            return Err(Interrupted);
        }
        if deadline.has_passed() {
            return Ok(false);
        }
        if self.spin_until_done() || !self.enlist(&me) {
            return Ok(true);
        }
        loop {
            let woken = me.park(deadline);
            if self.state.load().is_done() {
                return Ok(true);
            }
            if woken == WakeReason::Unparked {
                continue;
            }
            self.delist(&me);
            if woken == WakeReason::TimedOut {
                return Ok(false);
            }
            me.take_interrupt();
            return Err(Interrupted);
        }
    }

    /// Creates a key under which a waker can be registered.
    pub(super) fn new_key(&self) -> WakerKey {
        self.header.waiters().new_key()
    }

    /// Registers the waker under the key, in place of an older one; returns whether the task is done.
    pub(super) fn poll_done(&self, key: WakerKey, waker: &Waker) -> bool {
        if self.state.load().is_done() {
            return true;
        }
        self.header.waiters().set_waker(key, waker.clone());
        let pending = self.state.announce_wait() == Announced::Pending;
        if !pending {
            self.forget_waker(key);
        }
        !pending
    }

    /// Removes the waker that was registered under the key.
    pub(super) fn forget_waker(&self, key: WakerKey) {
        self.header.waiters().remove_waker(key);
    }

    /// Returns the token of the task, which is cancelled with it.
    pub(crate) fn token(&self) -> CancelToken {
        let (token, is_new) = self.header.waiters().token();
        if is_new {
            let theirs = token.clone();
            self.on_done(Box::new(move |end| {
                if end.is_cancelled() {
                    theirs.cancel_for(CancelMode::Interrupt, Cancellation::Parent);
                }
            }));
        }
        token
    }

    /// Makes the task one of a batch, of which a thread may wait for any.
    pub(crate) fn add_to_batch(&self, batch: BatchId) {
        self.header.waiters().set_batch(batch);
    }

    /// Calls `callback` when the task is done, at once if it is.
    pub(crate) fn on_done(&self, callback: Callback) {
        if self.state.load().is_done() {
            return callback(self.state.load());
        }
        let key = self.header.waiters().add_callback(callback);
        if self.state.announce_wait() == Announced::Pending {
            return;
        }
        // Done meanwhile. If the thread that completed the task has taken the callback, it calls
        // it; if not, this thread does.
        if let Some(callback) = self.header.waiters().take_callback(key) {
            callback(self.state.load());
        }
    }
}
