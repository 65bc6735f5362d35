//! The public type of the scheduled pool: figures, settings, queued tasks, shutdown.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::shared::{Shared, TimerKind};
use super::stats::QueuedTask;
use crate::executor::{Executor, ExecutorService, RejectedExecution, RunningTask, ShutdownCancels};
use crate::interrupt::Interrupted;
use crate::pool::{
    ConfigError, Patch, PoolStats, ReconfigureError, Reconfigured, RejectedExecutionHandler,
    ThreadPoolExecutor,
};
use crate::queue::BlockingQueue;
use crate::task::{LimitOwner, Task, TaskBuilder, TaskId, TimedTask};
use crate::thread_factory::ThreadFactory;

/// A thread pool that runs tasks after a delay, at a time, or repeatedly.
///
/// Its queue is unbounded, so it has no more workers than core, or than one if core is zero; its maximum
/// size has no effect.
/// `execute` and `submit` schedule without a delay. Due tasks run in the order of their due times,
/// tasks with equal due times in the order of scheduling.
///
/// A cancelled task stays queued until it is due, unless
/// [`set_remove_on_cancel`](Self::set_remove_on_cancel) is set to true. After a shutdown, delayed tasks still
/// run and periodic ones are cancelled; both can be changed. `shutdown_now` returns the waiting tasks in the
/// order in which they are due.
///
/// Cloning returns another handle to the same pool. **When the last handle is dropped the pool is
/// shut down**, without waiting.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let pool = ScheduledThreadPoolExecutor::new(2);
/// let report = pool.schedule(Duration::from_millis(10), || "the report").unwrap();
/// assert_eq!(report.join().unwrap(), "the report");
/// pool.close();
/// ```
#[derive(Clone)]
pub struct ScheduledThreadPoolExecutor {
    pool: ThreadPoolExecutor,
    shared: Arc<Shared>,
}

/// As [`ThreadPoolExecutor`]: a panic of user code leaves no state of the pool half changed.
impl UnwindSafe for ScheduledThreadPoolExecutor {}
impl RefUnwindSafe for ScheduledThreadPoolExecutor {}

impl ScheduledThreadPoolExecutor {
    pub(super) fn from_parts(pool: ThreadPoolExecutor, shared: Arc<Shared>) -> Self {
        Self { pool, shared }
    }

    #[inline]
    pub(super) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Submits a task that is due now or later.
    #[inline]
    pub(super) fn submit_task(&self, task: Task, kind: TimerKind) -> Result<(), RejectedExecution> {
        self.shared.submit(self.pool.shared(), task, kind)
    }

    /// Submits a task with this id that runs once and is due at this time, for the first time.
    #[inline]
    pub(super) fn submit_timer(
        &self,
        id: TaskId,
        due: u64,
        timer: TimedTask,
    ) -> Result<(), RejectedExecution> {
        let pool = self.pool.shared();
        self.shared.submit_timer(pool, id, due, timer)
    }

    /// Returns the thread pool that runs the tasks, for code that works with any thread pool.
    #[must_use]
    pub const fn pool(&self) -> &ThreadPoolExecutor {
        &self.pool
    }

    /// Returns the queued tasks in the order in which they are due.
    #[must_use]
    pub fn queued_tasks(&self) -> Vec<QueuedTask> {
        self.shared.queued_tasks()
    }

    /// Returns whether periodic tasks continue after a shutdown; `false` unless set.
    #[must_use]
    #[doc(alias = "getContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub fn continues_periodic_after_shutdown(&self) -> bool {
        self.shared.timers.settings.continues_periodic()
    }

    /// Sets whether periodic tasks continue after a shutdown; `false` takes effect at once.
    #[doc(alias = "setContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub fn set_continue_periodic_after_shutdown(&self, yes: bool) {
        self.shared.set_continue_periodic(self.pool.shared(), yes);
    }

    /// Returns whether delayed tasks still run after a shutdown; `true` unless set.
    #[must_use]
    #[doc(alias = "getExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub fn runs_delayed_after_shutdown(&self) -> bool {
        self.shared.timers.settings.runs_delayed()
    }

    /// Sets whether delayed tasks still run after a shutdown; `false` takes effect at once.
    #[doc(alias = "setExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub fn set_run_delayed_after_shutdown(&self, yes: bool) {
        self.shared.set_run_delayed(self.pool.shared(), yes);
    }

    /// Returns whether a cancelled task leaves the queue at once; `false` unless set.
    #[must_use]
    #[doc(alias = "getRemoveOnCancelPolicy")]
    pub fn removes_on_cancel(&self) -> bool {
        self.shared.timers.settings.removes_on_cancel()
    }

    /// Sets whether a task that is cancelled from now on leaves the queue at once.
    #[doc(alias = "setRemoveOnCancelPolicy")]
    pub fn set_remove_on_cancel(&self, yes: bool) {
        self.shared.timers.settings.set_remove_on_cancel(yes);
    }

    /// Removes a task from the queue, by its id or any handle; `None` if it is not queued.
    ///
    /// The task stays pending; dropping it completes its handle as cancelled. This searches the queue in
    /// `O(n)`; to remove many tasks, cancel them with
    /// [`set_remove_on_cancel`](Self::set_remove_on_cancel) set, which does not search.
    pub fn remove(&self, task: impl Into<TaskId>) -> Option<Task> {
        self.pool.remove(task)
    }

    /// Sets the thread factory, for threads that are created from now on.
    pub fn set_thread_factory(&self, factory: impl ThreadFactory + 'static) {
        self.pool.set_thread_factory(factory);
    }

    /// Sets what happens to a task that is submitted after the shutdown.
    #[doc(alias = "setRejectedExecutionHandler")]
    pub fn set_rejection_handler(&self, handler: impl RejectedExecutionHandler + 'static) {
        self.pool.set_rejection_handler(handler);
    }
}

/// Defines methods that call the method of the same name on the thread pool.
macro_rules! delegate {
    ($(
        $(#[$attribute:meta])*
        fn $method:ident(&self $(, $argument:ident: $type:ty)?) $(-> $output:ty)?;
    )*) => {$(
        $(#[$attribute])*
        pub fn $method(&self $(, $argument: $type)?) $(-> $output)? {
            self.pool.$method($($argument)?)
        }
    )*};
}

/// Statistics and settings, as [`ThreadPoolExecutor`] has them.
impl ScheduledThreadPoolExecutor {
    delegate! {
        /// Returns the name of the pool: the one it was built with, else the prefix of its thread
        /// factory, else `pool-N`.
        #[must_use]
        fn name(&self) -> &str;

        /// Returns a consistent snapshot of all figures.
        #[must_use]
        fn stats(&self) -> PoolStats;

        /// Returns the number of workers.
        #[must_use]
        fn pool_size(&self) -> usize;

        /// Returns the number of workers that run a task.
        #[must_use]
        fn active_count(&self) -> usize;

        /// Returns the largest number of workers so far.
        #[must_use]
        fn largest_pool_size(&self) -> usize;

        /// Returns the number of all tasks accepted so far and not removed: completed, active and queued.
        /// Each run of a periodic task counts.
        #[must_use]
        fn task_count(&self) -> u64;

        /// Returns the number of runs that have ended: completed, failed or cancelled.
        #[must_use]
        fn completed_task_count(&self) -> u64;

        /// Returns how often the rejection handler was called.
        #[must_use]
        fn rejected_count(&self) -> u64;

        /// Returns the number of workers that are kept even when idle.
        #[must_use]
        fn core_pool_size(&self) -> usize;

        /// Sets the number of workers that are kept even when idle.
        ///
        /// # Errors
        ///
        /// [`ConfigError::CoreExceedsMaximum`], only if a maximum was set through
        /// [`pool`](Self::pool); nothing is changed.
        fn set_core_pool_size(&self, size: usize) -> Result<(), ConfigError>;

        /// Changes several settings at once: all of them, or none; see
        /// [`ThreadPoolExecutor::reconfigure`]. The queue has no capacity that could be changed, and a
        /// maximum has no effect, which the warnings say.
        ///
        /// # Errors
        ///
        /// [`ReconfigureError`]; nothing is changed.
        fn reconfigure(&self, patch: Patch) -> Result<Reconfigured, ReconfigureError>;

        /// Returns the maximum number of workers, which has no effect.
        #[must_use]
        fn maximum_pool_size(&self) -> usize;

        /// Returns how long a worker beyond core waits for a task before it ends.
        #[must_use]
        fn keep_alive(&self) -> Duration;

        /// Sets how long a worker beyond core waits for a task before it ends.
        ///
        /// # Errors
        ///
        /// [`ConfigError::ZeroKeepAlive`] if the time is zero and core workers may time out; nothing is
        /// changed.
        fn set_keep_alive(&self, time: Duration) -> Result<(), ConfigError>;

        /// Returns whether core workers end too after the keep-alive time.
        #[must_use]
        fn allows_core_thread_timeout(&self) -> bool;

        /// Sets whether core workers end too after the keep-alive time.
        ///
        /// # Errors
        ///
        /// [`ConfigError::ZeroKeepAlive`] if the keep-alive time is zero; nothing is changed.
        #[doc(alias = "allowCoreThreadTimeOut")]
        fn set_allow_core_thread_timeout(&self, allow: bool) -> Result<(), ConfigError>;

        /// Returns the thread factory.
        #[must_use]
        fn thread_factory(&self) -> Arc<dyn ThreadFactory>;

        /// Returns what happens to a task that is submitted after the shutdown.
        #[must_use]
        fn rejection_handler(&self) -> Arc<dyn RejectedExecutionHandler>;

        /// Ends idle workers beyond core now, without waiting for their keep-alive time.
        fn retire_idle(&self);

        /// Starts a core worker that waits for tasks. Returns false if all core workers exist, the pool
        /// is shut down, or no thread can be created.
        ///
        /// # Panics
        ///
        /// If the thread factory panics.
        fn prestart_core_thread(&self) -> bool;

        /// Starts all core workers; returns how many it started.
        ///
        /// # Panics
        ///
        /// If the thread factory panics.
        fn prestart_all_core_threads(&self) -> usize;

        /// Returns the queue, for inspection; [`queued_tasks`](Self::queued_tasks) has its tasks in
        /// order.
        #[must_use]
        #[doc(alias = "getQueue")]
        fn queue(&self) -> &dyn BlockingQueue<Task>;

        /// Drops the queued tasks that were cancelled, and returns how many there were.
        fn purge(&self) -> usize;
    }
}

impl Executor for ScheduledThreadPoolExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let kind = TimerKind::of(&task);
        self.submit_task(task, kind)
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.pool.prepare(task)
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        self.pool.limit_owner()
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.pool.shutdown_cancels()
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

    fn running_tasks(&self) -> Vec<RunningTask> {
        self.pool.running_tasks()
    }

    fn completed_count(&self) -> Option<u64> {
        Some(self.pool.completed_task_count())
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        self.pool.cancelled_by_shutdown()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.pool.await_termination(timeout)
    }
}

impl fmt::Debug for ScheduledThreadPoolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.fmt(f)
    }
}
