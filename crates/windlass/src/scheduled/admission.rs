//! Submits a task that is due now or later, and the next run of a periodic one.

use std::sync::Arc;

use super::shared::{Shared, TimerKind, is_internal};
use crate::executor::RejectedExecution;
use crate::pool::{self, NotAdmitted};
use crate::task::{Cancellation, Task, TaskId, TimedTask};

impl Shared {
    /// Queues a task and starts a worker for it if needed, or rejects it by the pool's policy.
    pub(super) fn submit(
        &self,
        pool: &Arc<pool::Shared>,
        task: Task,
        kind: TimerKind,
    ) -> Result<(), RejectedExecution> {
        if pool.is_shutdown() {
            return pool.reject(task);
        }
        self.enqueue(pool, task, kind)
            .or_else(|not_admitted| pool.reject(not_admitted))
    }

    /// Submits a task that runs once and was never queued, as [`submit`](Self::submit) does.
    ///
    /// In two words, which are passed in registers: five are stored one by one and loaded in pairs, which
    /// stalls.
    pub(super) fn submit_timer(
        &self,
        pool: &Arc<pool::Shared>,
        id: TaskId,
        due: u64,
        timer: TimedTask,
    ) -> Result<(), RejectedExecution> {
        let kind = TimerKind::OneShot { due };
        if pool.is_shutdown() || pool.takes_times() {
            return self.submit(pool, timer.into_task(), kind);
        }
        let push = || self.timers.push_new(due, timer);
        pool.admit_queued(id, push, |state| self.may_run(state, kind))
            .or_else(|not_admitted| pool.reject(not_admitted))
    }

    /// Queues the next run of a periodic task; cancels the task if the pool no longer runs it.
    pub(super) fn resubmit(&self, pool: &Arc<pool::Shared>, task: Task) {
        let queued = if self.may_run(pool.ctl.load().state(), TimerKind::Periodic) {
            self.enqueue(pool, task, TimerKind::Periodic)
        } else {
            Err(NotAdmitted::from(task))
        };
        if let Err(not_admitted) = queued {
            let (task, no_thread) = not_admitted.into_parts();
            if no_thread {
                task.cancel(Cancellation::NoThread);
            } else {
                self.cancel_for_shutdown(pool, &task);
            }
        }
    }

    /// Cancels a task that does not run after the shutdown, and counts it.
    pub(super) fn cancel_for_shutdown(&self, pool: &pool::Shared, task: &Task) {
        let is_accepted = !is_internal(task);
        let cancelled = task.cancel(self.shutdown_reason());
        pool.options.cancels.add_if(cancelled && is_accepted);
    }

    fn enqueue(
        &self,
        pool: &Arc<pool::Shared>,
        mut task: Task,
        kind: TimerKind,
    ) -> Result<(), NotAdmitted> {
        let id = task.id();
        // Samples of times are taken of tasks without a timer only, since others wait from when they are due.
        if kind != TimerKind::Immediate && !pool.takes_times() {
            match TimedTask::new(task) {
                Ok(timer) => {
                    let push = || self.timers.push_timer(timer);
                    return pool.admit_queued(id, push, |state| self.may_run(state, kind));
                }
                Err(without_timer) => task = without_timer,
            }
        }
        let push = || self.timers.push(pool.record_submission_time(task));
        pool.admit_queued(id, push, |state| self.may_run(state, kind))
    }
}
