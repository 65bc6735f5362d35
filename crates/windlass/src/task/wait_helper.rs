//! What an executor does for a thread of its own that waits for a task, so that the wait ends.
//!
//! A worker that waits for a task of its own executor can wait for good if only this worker could run
//! the task. So an executor can set a [`WaitHelper`] for its threads. It knows where the task is queued,
//! and may run it in place; while the worker is blocked, it may replace the worker by another.
//!
//! Only a thread that is about to park for a task asks for its helpers; see
//! [`Helpers`](super::helped_wait::Helpers).

use std::time::Instant;

use super::wanted::Wanted;
use crate::sync::Deadline;

/// What came of [`WaitHelper::help`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Helped {
    /// It has run what was wanted, or what that waits for.
    Ran,
    /// What is wanted is queued, and due at this time.
    NotBefore(Instant),
    /// What is wanted is not queued here.
    Nothing,
}

impl Helped {
    /// Returns what came of this, and of what was tried after it.
    pub(super) fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        if self == Self::Ran {
            return self;
        }
        match (self, next()) {
            (Self::NotBefore(at), Self::NotBefore(other)) => Self::NotBefore(at.min(other)),
            (Self::NotBefore(at), Self::Nothing) => Self::NotBefore(at),
            (_, next) => next,
        }
    }
}

/// What a thread does while it waits for a task.
pub(crate) trait WaitHelper: Send + Sync {
    /// Runs whatever is queued here until `is_over` returns true or the deadline has passed: for executors
    /// whose tasks run on the threads that wait for them, and on no other.
    fn run_until(&self, wanted: Wanted, deadline: Deadline, is_over: &dyn Fn() -> bool) {
        let _ = (wanted, deadline, is_over);
    }

    /// Runs what is wanted, if it is queued here. Called before the thread parks, and whenever it is
    /// unparked while the task has not started.
    fn help(&self, wanted: Wanted) -> Helped;

    /// Does the same for a thread of another executor, if no thread of this one would.
    fn help_stranger(&self, wanted: Wanted) -> Helped {
        let _ = wanted;
        Helped::Nothing
    }

    /// Calls `wait`, once; meanwhile the thread does nothing else than to wait and to
    /// [`help`](Self::help).
    fn while_blocked(&self, wait: &mut dyn FnMut());

    /// Called inside [`while_blocked`](Self::while_blocked) before the thread runs a task in place; and
    /// [`block_again`](Self::block_again) after it.
    fn unblock(&self) {}

    /// Ends what [`unblock`](Self::unblock) began.
    fn block_again(&self) {}

    /// Returns the address of the executor.
    fn executor(&self) -> usize;

    /// Returns whether tasks are queued and all threads of the executor are blocked.
    fn is_stalled(&self) -> bool {
        false
    }

    /// Returns whether its threads may run other tasks in place.
    fn allows_help(&self) -> bool {
        true
    }

    /// Returns whether the newest of several tasks is found first.
    fn finds_newest_first(&self) -> bool {
        false
    }
}
