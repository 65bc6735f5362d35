//! The scheduled thread pool.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ScheduledHandle;
use super::scheduler::Scheduler;
use super::service::ScheduledExecutorService;
use super::timers::{Decorate, OnFailure, Timers};
use crate::executor::{Executor, ExecutorService, RejectedExecution};
use crate::interrupt::Interrupted;
use crate::pool::{
    self, ConfigError, Hooks, PoolStats, RejectedExecutionHandler, ThreadPoolExecutor,
};
use crate::queue::BlockingQueue;
use crate::task::{Cancellation, Failure, Task, TaskBuilder, TaskId};
use crate::thread_factory::ThreadFactory;

/// How long an idle worker beyond core waits. Not zero: a pool without core workers would make and
/// end a thread over and over while its one task is not due.
const KEEP_ALIVE: Duration = Duration::from_millis(10);

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
    scheduler: Arc<Scheduler>,
}

impl ScheduledThreadPoolExecutor {
    /// Makes a pool with this many core workers; zero is allowed.
    #[must_use]
    pub fn new(core_pool_size: u32) -> Self {
        Self::builder().core_pool_size(core_pool_size).build()
    }

    /// Sets out to make a pool.
    pub fn builder() -> Builder {
        Builder::new()
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
        let now = self.scheduler.timers.clock.now();
        let mut queued = self.scheduler.timers.queue.with(|state| {
            let entry = |(due, sequence, task): (Instant, u64, &Task)| {
                let delay = due.saturating_duration_since(now);
                (due, sequence, QueuedTask::of(task, delay))
            };
            (state.items.entries().map(entry).collect::<Vec<_>>(), ())
        });
        queued.sort_by_key(|(due, sequence, _)| (*due, *sequence));
        queued.into_iter().map(|(_, _, task)| task).collect()
    }

    /// Takes a task out of the queue, by its handle; `None` if it is not there.
    pub fn remove<T: Send + 'static>(&self, handle: &ScheduledHandle<T>) -> Option<Task> {
        let removed = self.scheduler.remove(handle.id(), handle.timer());
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
        self.scheduler.timers.continues_periodic()
    }

    /// Changes whether periodic tasks go on after a shutdown; `false` takes effect at once.
    #[doc(alias = "setContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub fn set_continue_periodic_after_shutdown(&self, yes: bool) {
        self.scheduler.set_continue_periodic(yes);
    }

    /// Whether tasks that wait for their delay still run after a shutdown; they do unless set.
    #[must_use]
    pub fn runs_delayed_after_shutdown(&self) -> bool {
        self.scheduler.timers.runs_delayed()
    }

    /// Changes whether tasks that wait for their delay still run after a shutdown; `false` takes
    /// effect at once.
    #[doc(alias = "setExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub fn set_run_delayed_after_shutdown(&self, yes: bool) {
        self.scheduler.set_run_delayed(yes);
    }

    /// Whether a cancelled task leaves the queue at once; it does not unless set.
    #[must_use]
    pub fn removes_on_cancel(&self) -> bool {
        self.scheduler.timers.removes_on_cancel()
    }

    /// Changes whether a task that is cancelled from now on leaves the queue at once.
    #[doc(alias = "setRemoveOnCancelPolicy")]
    pub fn set_remove_on_cancel(&self, yes: bool) {
        self.scheduler.timers.set_remove_on_cancel(yes);
    }
}

/// A task in the queue of a scheduled pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedTask {
    /// Identifies the task.
    pub id: TaskId,
    /// The name that it was built with.
    pub name: Option<String>,
    /// How long it is until it is due; zero if it is.
    pub delay: Duration,
    /// Whether it runs again and again.
    pub is_periodic: bool,
    /// Whether it was cancelled, and only waits to be dropped.
    pub is_cancelled: bool,
}

impl QueuedTask {
    fn of(task: &Task, delay: Duration) -> Self {
        Self {
            id: task.id(),
            name: task.name().map(str::to_owned),
            delay,
            is_periodic: task.is_periodic(),
            is_cancelled: task.is_cancelled(),
        }
    }
}

impl Executor for ScheduledThreadPoolExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.scheduler.submit(task)
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

impl ScheduledExecutorService for ScheduledThreadPoolExecutor {
    fn scheduler(&self) -> &Arc<Scheduler> {
        &self.scheduler
    }
}

impl fmt::Debug for ScheduledThreadPoolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScheduledThreadPoolExecutor")
            .field(&self.pool)
            .finish()
    }
}

/// Sets up a [`ScheduledThreadPoolExecutor`].
///
/// ```
/// use windlass::scheduled::ScheduledThreadPoolExecutor;
///
/// let pool = ScheduledThreadPoolExecutor::builder()
///     .name("cron")
///     .core_pool_size(2)
///     .on_periodic_failure(|id, name, failure| eprintln!("{id} {name:?} ended: {failure}"))
///     .build();
/// # drop(pool);
/// ```
#[must_use = "a builder makes nothing until `build`"]
pub struct Builder {
    pool: pool::Builder,
    decorate: Option<Decorate>,
    on_failure: Option<OnFailure>,
}

impl Builder {
    fn new() -> Self {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .reuse_worker_after_panic(true);
        Self {
            pool,
            decorate: None,
            on_failure: None,
        }
    }

    fn map(mut self, change: impl FnOnce(pool::Builder) -> pool::Builder) -> Self {
        self.pool = change(self.pool);
        self
    }

    /// Workers that are kept even when idle; zero is allowed, one unless set.
    pub fn core_pool_size(self, size: u32) -> Self {
        self.map(|pool| pool.core_pool_size(size))
    }

    /// Names the threads `NAME-thread-M` instead of `pool-N-thread-M`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.map(|pool| pool.name(name))
    }

    /// What makes the threads.
    pub fn thread_factory(self, factory: Arc<dyn ThreadFactory>) -> Self {
        self.map(|pool| pool.shared_thread_factory(factory))
    }

    /// What happens to a task that comes after the shutdown.
    pub fn rejection_handler(self, handler: Arc<dyn RejectedExecutionHandler>) -> Self {
        self.map(|pool| pool.shared_rejection_handler(handler))
    }

    /// Called around every run, and at the end.
    pub fn hooks(self, hooks: Arc<dyn Hooks>) -> Self {
        self.map(|pool| pool.shared_hooks(hooks))
    }

    /// Called with the failure of a task without a handle, or of a hook.
    pub fn uncaught_handler(self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.map(|pool| pool.uncaught_handler(handler))
    }

    /// Completes what each task is to carry: a name, a priority, a state.
    pub fn prepare_tasks(
        self,
        prepare: impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static,
    ) -> Self {
        self.map(|pool| pool.prepare_tasks(prepare))
    }

    /// Called when a periodic task fails, which ends it; its handle has the failure too.
    pub fn on_periodic_failure(
        mut self,
        handler: impl Fn(TaskId, Option<&str>, &Failure) + Send + Sync + 'static,
    ) -> Self {
        self.on_failure = Some(Arc::new(handler));
        self
    }

    /// Wraps every run of a scheduled task: `decorate` is given the run, and has to call it once.
    #[doc(alias = "decorateTask")]
    pub fn decorate(mut self, decorate: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        self.decorate = Some(Arc::new(decorate));
        self
    }

    /// Makes the pool. It has no threads yet; it reads the clock of the current thread.
    #[must_use]
    pub fn build(self) -> ScheduledThreadPoolExecutor {
        let timers = Arc::new(Timers::new(self.decorate, self.on_failure));
        let queue: Arc<dyn BlockingQueue<Task>> = Arc::clone(&timers.queue) as _;
        let pool = self
            .pool
            .maximum_pool_size(u32::MAX)
            .keep_alive(KEEP_ALIVE)
            .shared_work_queue(queue)
            .annex(Arc::clone(&timers) as _)
            .build();
        let pool = pool.unwrap_or_else(|error: ConfigError| unreachable!("{error}"));
        let scheduler = Scheduler {
            pool: Arc::clone(pool.shared()),
            timers,
        };
        ScheduledThreadPoolExecutor {
            pool,
            scheduler: Arc::new(scheduler),
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}
