//! The scheduled thread pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::handle::ScheduledHandle;
use super::shared::Shared;
use super::stats::QueuedTask;
use crate::executor::{Executor, ExecutorService, RejectedExecution};
use crate::interrupt::Interrupted;
use crate::pool::{PoolStats, ThreadPoolExecutor};
use crate::task::{Cancellation, Task, TaskBuilder};

/// A thread pool that runs tasks after a delay, at a time, or again and again.
///
/// It has a fixed number of core workers and an unbounded queue, so its maximum size has no effect.
/// `execute` and `submit` are schedules without a delay. Due tasks run in the order of their times,
/// equal times in the order of scheduling.
///
/// What has been cancelled stays queued until its time comes, unless
/// [`set_remove_on_cancel`](Self::set_remove_on_cancel). After a shutdown, tasks that wait for their
/// delay are still run, and periodic ones are cancelled; both can be changed.
///
/// When the last handle is dropped the pool is shut down, without waiting.
///
/// ```
/// use std::time::Duration;
/// use windlass::ExecutorService;
/// use windlass::scheduled::{Schedule, ScheduledThreadPoolExecutor};
///
/// let pool = ScheduledThreadPoolExecutor::new(2);
/// let mut report = pool.schedule(Duration::from_millis(10), || "the report").unwrap();
/// assert_eq!(report.get().unwrap(), "the report");
/// pool.close();
/// ```
#[derive(Clone)]
pub struct ScheduledThreadPoolExecutor {
    pool: ThreadPoolExecutor,
    shared: Arc<Shared>,
}

impl ScheduledThreadPoolExecutor {
    pub(super) fn from_parts(pool: ThreadPoolExecutor, shared: Arc<Shared>) -> Self {
        Self { pool, shared }
    }

    pub(super) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Submits a task that is due now or later.
    #[inline]
    pub(super) fn submit_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.shared.submit(self.pool.shared(), task)
    }

    /// The thread pool behind it, with its figures and settings.
    #[must_use]
    pub const fn pool(&self) -> &ThreadPoolExecutor {
        &self.pool
    }

    /// All figures at one moment.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// What is queued, in the order in which it is due.
    #[must_use]
    pub fn queued_tasks(&self) -> Vec<QueuedTask> {
        self.shared.queued_tasks()
    }

    /// Takes a task out of the queue, by its handle; `None` if it is not there.
    pub fn remove<T: Send + 'static>(&self, handle: &ScheduledHandle<T>) -> Option<Task> {
        let removed = self
            .shared
            .remove(self.pool.shared(), handle.id(), handle.timer());
        if let Some(task) = &removed {
            task.set_drop_reason(Cancellation::Removed);
        }
        self.pool.shared().try_terminate();
        removed
    }

    /// Drops the queued tasks that have been cancelled, and says how many there were.
    pub fn purge(&self) -> usize {
        self.pool.purge()
    }

    /// Whether periodic tasks go on after a shutdown; they do not unless set.
    #[must_use]
    pub fn continues_periodic_after_shutdown(&self) -> bool {
        self.shared.settings.continues_periodic()
    }

    /// Changes whether periodic tasks go on after a shutdown; `false` takes effect at once.
    #[doc(alias = "setContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub fn set_continue_periodic_after_shutdown(&self, yes: bool) {
        self.shared.set_continue_periodic(self.pool.shared(), yes);
    }

    /// Whether tasks that wait for their delay still run after a shutdown; they do unless set.
    #[must_use]
    pub fn runs_delayed_after_shutdown(&self) -> bool {
        self.shared.settings.runs_delayed()
    }

    /// Changes whether tasks that wait for their delay still run after a shutdown; `false` takes
    /// effect at once.
    #[doc(alias = "setExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub fn set_run_delayed_after_shutdown(&self, yes: bool) {
        self.shared.set_run_delayed(self.pool.shared(), yes);
    }

    /// Whether a cancelled task leaves the queue at once; it does not unless set.
    #[must_use]
    pub fn removes_on_cancel(&self) -> bool {
        self.shared.settings.removes_on_cancel()
    }

    /// Changes whether a task that is cancelled from now on leaves the queue at once.
    #[doc(alias = "setRemoveOnCancelPolicy")]
    pub fn set_remove_on_cancel(&self, yes: bool) {
        self.shared.settings.set_remove_on_cancel(yes);
    }
}

impl Executor for ScheduledThreadPoolExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.submit_task(task)
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.pool.prepare(task)
    }
}

impl ExecutorService for ScheduledThreadPoolExecutor {
    fn shutdown(&self) {
        self.pool.shutdown();
    }

    fn shutdown_now(&self) -> Vec<Task> {
        self.pool.shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.pool.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.pool.is_terminated()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.pool.await_termination(timeout)
    }
}

impl fmt::Debug for ScheduledThreadPoolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScheduledThreadPoolExecutor")
            .field(&self.pool)
            .finish()
    }
}
