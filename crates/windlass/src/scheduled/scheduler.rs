//! A pool, and the tasks that it is to run later.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::timers::Timers;
use crate::executor::RejectedExecution;
use crate::pool::Shared;
use crate::task::{RunCount, Task, TaskId, Timer, TimerService};

/// Takes tasks that are due later, and sees to them on the threads of a pool.
pub struct Scheduler {
    pub(super) pool: Arc<Shared>,
    pub(super) timers: Arc<Timers>,
}

impl Scheduler {
    /// The schedule of a task that runs once.
    #[inline]
    pub(super) fn once(&self, due: Instant) -> Timer {
        Timer::one_shot(due, self.service())
    }

    /// The schedule of a task that runs again and again.
    pub(super) fn periodic(&self, due: Instant, run_count: Arc<RunCount>) -> Timer {
        Timer::periodic(due, run_count, self.service())
    }

    #[inline]
    fn service(&self) -> Weak<dyn TimerService> {
        let pool: Weak<Shared> = Arc::downgrade(&self.pool);
        pool
    }

    /// Queues a task that is due now or later, and makes sure that there is a worker for it.
    #[inline]
    pub(super) fn submit(&self, task: Task) -> Result<(), RejectedExecution> {
        self.timers.submit(&self.pool, task)
    }

    /// Takes a task out of the queue.
    pub(super) fn remove(&self, id: TaskId, timer: &Timer) -> Option<Task> {
        self.timers.remove(&self.pool, id, timer)
    }

    pub(super) fn set_continue_periodic(&self, yes: bool) {
        self.timers.set_continue_periodic(yes);
        self.apply_policies(yes);
    }

    pub(super) fn set_run_delayed(&self, yes: bool) {
        self.timers.set_run_delayed(yes);
        self.apply_policies(yes);
    }

    /// A policy that was switched off after a shutdown takes effect at once.
    fn apply_policies(&self, yes: bool) {
        if !yes && self.pool.is_shutdown() {
            self.timers.cancel_ineligible(&self.pool);
        }
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scheduler").field(&self.timers).finish()
    }
}
