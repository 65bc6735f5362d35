//! Submits a task that is due now or later, and the next run of a periodic one.

use std::sync::Arc;

use super::shared::{Shared, TimerKind};
use crate::executor::RejectedExecution;
use crate::pool::{self, NotAdmitted};
use crate::task::{Cancellation, Task};

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

    /// Queues the next run of a periodic task; cancels the task if the pool no longer runs it.
    pub(super) fn resubmit(&self, pool: &Arc<pool::Shared>, task: Task) {
        let queued = if self.may_run(pool.ctl.load().state(), TimerKind::Periodic) {
            self.enqueue(pool, task, TimerKind::Periodic)
        } else {
            Err(NotAdmitted::from(task))
        };
        if let Err(not_admitted) = queued {
            let (task, no_thread) = not_admitted.into_parts();
            let reason = if no_thread {
                Cancellation::NoThread
            } else {
                self.shutdown_reason()
            };
            task.cancel(reason);
        }
    }

    #[inline]
    fn enqueue(
        &self,
        pool: &Arc<pool::Shared>,
        task: Task,
        kind: TimerKind,
    ) -> Result<(), NotAdmitted> {
        pool.admit_queued(
            task,
            |task| self.timers.push(task),
            |state| self.may_run(state, kind),
        )
    }
}
