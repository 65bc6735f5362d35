//! A pool, and the tasks that it is to run later.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::timers::Timers;
use crate::executor::RejectedExecution;
use crate::pool::Shared;
use crate::task::{Home, Runs, Schedule, Task, TaskId};

/// Takes tasks that are due later, and sees to them on the threads of a pool.
pub struct Scheduler {
    pub(super) pool: Arc<Shared>,
    pub(super) timers: Arc<Timers>,
}

impl Scheduler {
    /// The schedule of a task that runs once.
    #[inline]
    pub(super) fn once(&self, due: Instant) -> Schedule {
        Schedule::once(due, self.home())
    }

    /// The schedule of a task that runs again and again.
    pub(super) fn periodic(&self, due: Instant, runs: Arc<Runs>) -> Schedule {
        Schedule::periodic(due, runs, self.home())
    }

    #[inline]
    fn home(&self) -> Weak<dyn Home> {
        let pool: Weak<Shared> = Arc::downgrade(&self.pool);
        pool
    }

    /// Queues a task that is due now or later, and makes sure that there is a worker for it.
    #[inline]
    pub(super) fn take(&self, task: Task) -> Result<(), RejectedExecution> {
        self.timers.take(&self.pool, task)
    }

    /// Takes a task out of the queue.
    pub(super) fn remove(&self, id: TaskId, schedule: &Schedule) -> Option<Task> {
        self.timers.remove(&self.pool, id, schedule)
    }

    pub(super) fn set_continue_periodic(&self, yes: bool) {
        self.timers.set_continue_periodic(yes);
        self.look_at_policies(yes);
    }

    pub(super) fn set_run_delayed(&self, yes: bool) {
        self.timers.set_run_delayed(yes);
        self.look_at_policies(yes);
    }

    /// A policy that was switched off after a shutdown takes effect at once.
    fn look_at_policies(&self, yes: bool) {
        if !yes && self.pool.is_shutdown() {
            self.timers.throw_out(&self.pool);
        }
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scheduler").field(&self.timers).finish()
    }
}
