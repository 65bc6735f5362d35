//! How threads, wakers and callbacks wait for the end of a task.
//!
//! Whoever waits enlists first and then announces it in the task's word, where the end is
//! published too. So either the end sees the announcement, and then who enlisted; or the
//! announcement sees the end, and there is nothing to wait for.

use std::task::Waker;

use super::Head;
use crate::interrupt::{Interrupted, ThreadContext, WakeReason};
use crate::sync::{Deadline, mutant, spin_until};
use crate::task::state::Announced;
use crate::task::waiters::{Callback, WakerKey};

/// How often a thread that lingers looks: often, since only the runner writes here, and once.
const LOOKS: u32 = 48;

impl Head {
    /// Waits until the task is done; returns false if the deadline passes before.
    pub(in crate::task) fn wait(&self, deadline: Deadline) -> Result<bool, Interrupted> {
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
        // A short task is over before this thread would be asleep.
        spin_until(LOOKS, || self.state.load().is_done());
        // Mutant: the end comes between the two, and nobody sees this thread.
        if mutant!("task_announce_before_enlist") && self.state.announce_wait() == Announced::Done {
            return Ok(true);
        }
        self.header.waiters().add_thread(&me);
        if !mutant!("task_announce_before_enlist") && self.state.announce_wait() == Announced::Done
        {
            self.header.waiters().remove_thread(&me);
            return Ok(true);
        }
        loop {
            let parked = me.park(deadline);
            if self.state.load().is_done() {
                return Ok(true);
            }
            if parked == WakeReason::Unparked {
                continue;
            }
            self.header.waiters().remove_thread(&me);
            if parked == WakeReason::TimedOut {
                return Ok(false);
            }
            me.take_interrupt();
            return Err(Interrupted);
        }
    }

    /// A number under which a waker of its own can be registered.
    pub(in crate::task) fn new_key(&self) -> WakerKey {
        self.header.waiters().new_key()
    }

    /// Registers the waker under the key, in the place of an older one; true if the task is done.
    pub(in crate::task) fn poll_done(&self, key: WakerKey, waker: &Waker) -> bool {
        if self.state.load().is_done() {
            return true;
        }
        self.header.waiters().set_waker(key, waker.clone());
        let pending = self.state.announce_wait() == Announced::Pending;
        // Mutant: the waker stays as long as the task, and may own the future that polls it.
        if !pending && !mutant!("task_keep_late_waker") {
            self.forget_waker(key);
        }
        !pending
    }

    /// Forgets the waker that was registered under the key.
    pub(in crate::task) fn forget_waker(&self, key: WakerKey) {
        self.header.waiters().remove_waker(key);
    }

    /// Calls `callback` when the task is done: at once if it is.
    pub(crate) fn on_done(&self, callback: Callback) {
        if self.state.load().is_done() {
            return callback(self.state.load());
        }
        let key = self.header.waiters().add_callback(callback);
        // Mutant: a callback that meets the end is never called.
        if self.state.announce_wait() == Announced::Pending || mutant!("task_forget_late_callback")
        {
            return;
        }
        // Done meanwhile. Whoever completed the task calls it if he has seen it, and only he
        // calls those of others.
        if let Some(callback) = self.header.waiters().take_callback(key) {
            callback(self.state.load());
        }
    }
}
