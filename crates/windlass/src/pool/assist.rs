//! Waits inside tasks: a thread of the pool runs the task that it waits for in place, if that is queued;
//! otherwise a spare worker may replace it while it waits.
//!
//! A thread runs that task and no other: it may hold a lock that another task needs. It runs it as a worker
//! would, between the hooks, and counted; and an interrupt for one of the two tasks does not reach the
//! other. A worker cannot end in the middle of the task that waits, so the panic of a hook is reported
//! and the worker stays.
//!
//! The protocol with submitters: a thread that waits sets the bit in the control word and then searches the
//! queue; a submitter queues the task and then reads the bit. So the thread finds the task, or the
//! submitter [wakes](task::wake_waiters) it to search again.

use std::sync::Arc;

use super::shared::{NestedWaits, Shared};
use super::waits::Membership;
use super::worker;
use crate::task::{self, Helped, Task, WaitHelper, Wanted, with_wait_helper};
use crate::unwind::catch;

/// What a thread is for the pool while it runs a task of it.
pub(crate) struct Member {
    pool: Arc<Shared>,
    membership: Membership,
    /// Replaces a worker that waits. A function pointer, so that this file does not depend on `spawn`.
    replace: Option<fn(&Arc<Shared>)>,
}

impl Member {
    /// Creates the helper of a worker; `replace` is called when it waits.
    pub(crate) fn worker(pool: &Arc<Shared>, replace: fn(&Arc<Shared>)) -> Arc<Self> {
        Arc::new(Self {
            pool: Arc::clone(pool),
            membership: Membership::Worker,
            replace: Some(replace),
        })
    }

    /// Creates the helper of a thread that is no worker.
    fn guest(pool: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            pool: Arc::clone(pool),
            membership: Membership::Guest,
            replace: None,
        })
    }
}

impl WaitHelper for Member {
    fn help(&self, wanted: Wanted) -> Helped {
        match self.membership {
            Membership::Worker => self.pool.run_wanted(wanted, Membership::Worker),
            Membership::Guest => self.pool.run_wanted_as_guest(wanted),
        }
    }

    fn help_stranger(&self, wanted: Wanted) -> Helped {
        if self.pool.is_stalled() {
            self.pool.run_wanted_as_guest(wanted)
        } else {
            Helped::Nothing
        }
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        struct Blocked<'a>(&'a Member);
        impl Drop for Blocked<'_> {
            fn drop(&mut self) {
                self.0.unblock();
            }
        }
        self.block_again();
        let _blocked = Blocked(self);
        wait();
    }

    fn unblock(&self) {
        self.pool.waits.end(self.membership, &self.pool.ctl);
        if self.pool.has_surplus_spares() {
            self.pool.roster.nudge_all();
        }
    }

    fn block_again(&self) {
        self.pool.waits.begin(self.membership, &self.pool.ctl);
        if let Some(replace) = self.replace {
            replace(&self.pool);
        }
    }

    fn executor(&self) -> usize {
        Arc::as_ptr(&self.pool).addr()
    }

    fn is_stalled(&self) -> bool {
        self.pool.is_stalled()
    }

    fn allows_help(&self) -> bool {
        self.pool.options.nested_waits == NestedWaits::Help
    }
}

impl Shared {
    /// Returns whether tasks are queued and all workers wait.
    fn is_stalled(&self) -> bool {
        let workers = self.ctl.load().workers();
        workers > 0 && self.waits.blocked() >= workers && !self.queue.is_drained()
    }

    /// Runs `f`, which runs a task of the pool on a thread that is no worker of it.
    pub(crate) fn as_guest<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        with_wait_helper(Member::guest(self), f)
    }

    /// Takes what is wanted out of the queue, if it is there and due.
    fn take_wanted(&self, wanted: Wanted) -> Result<Task, Helped> {
        let may_help = self.options.nested_waits == NestedWaits::Help;
        if !may_help || self.ctl.load().is_stopped() || self.queue.is_drained() {
            return Err(Helped::Nothing);
        }
        let mut otherwise = Helped::Nothing;
        let mut is_wanted = |task: &Task| {
            if !task.is_wanted(wanted) {
                return false;
            }
            match task.timer() {
                Some(timer) if !timer.delay().is_zero() => {
                    otherwise = Helped::NotBefore(timer.due());
                    false
                }
                _ => true,
            }
        };
        // A comparison of the user's may panic; then nothing was removed.
        let take = || catch(|| self.queue.remove_left(&mut is_wanted)).unwrap_or(None);
        let taken = self.roster.in_place.begin(take);
        taken.ok_or(otherwise)
    }

    /// Runs what is wanted on a thread that waits for it.
    fn run_wanted(&self, wanted: Wanted, membership: Membership) -> Helped {
        match self.take_wanted(wanted) {
            Ok(task) => {
                // The task has left a place.
                if self.room.is_awaited() {
                    self.room.serve();
                }
                task::run_in_place(Some(task.to_name()), || {
                    worker::run_in_place(self, task, membership);
                });
                Helped::Ran
            }
            Err(otherwise) => otherwise,
        }
    }

    /// Does the same on a thread that is no worker; the pool does not terminate before its end.
    fn run_wanted_as_guest(self: &Arc<Self>, wanted: Wanted) -> Helped {
        self.begin_report();
        let helped = self.as_guest(|| self.run_wanted(wanted, Membership::Guest));
        self.end_report();
        self.report_panic(catch(|| self.try_terminate()));
        match helped {
            // A time on another clock says nothing to this thread.
            Helped::NotBefore(_) if !self.clock().is_current() => Helped::Nothing,
            helped => helped,
        }
    }

    /// Returns whether there are more workers than those that wait now allow.
    fn has_surplus_spares(&self) -> bool {
        self.options.spare_workers > 0 && self.ctl.load().workers() > self.size_with_spares()
    }
}
