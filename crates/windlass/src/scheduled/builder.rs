//! The configuration of a scheduled pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::executor::ScheduledThreadPoolExecutor;
use super::forwarding::{Forward, Forwarding};
use super::shared::{Options, Shared};
use crate::pool::{
    self, ConfigError, ConfigWarning, Hooks, NestedWaits, RejectedExecutionHandler,
    ThreadPoolExecutor,
};
use crate::queue::BlockingQueue;
use crate::task::{Failure, Propagate, Task, TaskBuilder, TaskId};
use crate::thread_factory::ThreadFactory;
use crate::times::Times;

/// How long an idle worker beyond core waits for a task before it ends. Not zero: the last worker of
/// a pool without core workers stays while tasks are queued, and would spin until one is due.
const KEEP_ALIVE: Duration = Duration::from_millis(10);

/// The configuration of a [`ScheduledThreadPoolExecutor`].
///
/// By default a pool has one core worker, default thread names, and
/// [`AbortPolicy`](crate::pool::AbortPolicy).
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
#[must_use = "a builder creates nothing until `build`"]
pub struct Builder {
    pool: pool::Builder,
    options: Options,
    forward: Option<Forward>,
}

impl ScheduledThreadPoolExecutor {
    /// Creates a pool with this many core workers; zero is allowed.
    #[must_use]
    pub fn new(core_pool_size: usize) -> Self {
        Self::builder().core_pool_size(core_pool_size).build()
    }

    /// Creates a builder with the default configuration.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    pub(super) fn new() -> Self {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .default_keep_alive(KEEP_ALIVE)
            .reuse_worker_after_panic(true);
        Self {
            pool,
            options: Options::default(),
            forward: None,
        }
    }

    fn map(mut self, change: impl FnOnce(pool::Builder) -> pool::Builder) -> Self {
        self.pool = change(self.pool);
        self
    }

    /// Sets the number of workers that are kept even when idle; zero is allowed, one unless set.
    pub fn core_pool_size(self, size: usize) -> Self {
        self.map(|pool| pool.core_pool_size(size))
    }

    /// Sets how long a worker beyond core waits for a task before it ends; 10 ms unless set.
    ///
    /// In a pool without core workers the last worker stays while tasks are queued, and wakes each
    /// time this has passed; with zero it would spin until the next task is due.
    pub fn keep_alive(self, time: Duration) -> Self {
        self.map(|pool| pool.keep_alive(time))
    }

    /// Sets the name of the pool, and names the threads `NAME-thread-M` instead of `pool-N-thread-M`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.map(|pool| pool.name(name))
    }

    /// Sets what creates the threads; a factory takes precedence over a [`name`](Self::name).
    pub fn thread_factory(self, factory: impl ThreadFactory + 'static) -> Self {
        self.map(|pool| pool.thread_factory(factory))
    }

    /// Sets what happens to a task that is submitted after the shutdown.
    pub fn rejection_handler(self, handler: impl RejectedExecutionHandler + 'static) -> Self {
        self.map(|pool| pool.rejection_handler(handler))
    }

    /// Sets whether tasks are timed. Default: [`Times::Sampled`].
    pub fn times(self, times: Times) -> Self {
        self.map(|pool| pool.times(times))
    }

    /// Sets the hooks, which are called around every run and when the pool terminates.
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        self.map(|pool| pool.hooks(hooks))
    }

    /// Sets what is called with the failure of a task without a handle, or of a hook.
    pub fn uncaught_handler(self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.map(|pool| pool.uncaught_handler(handler))
    }

    /// Sets a function that adds to the builder of each task: a name, a priority, an attachment.
    pub fn prepare_tasks(
        self,
        prepare: impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static,
    ) -> Self {
        self.map(|pool| pool.prepare_tasks(prepare))
    }

    /// Adds a source of context: what it captures where a task is submitted or scheduled is entered
    /// around each of its runs. See [`Propagate`].
    pub fn propagate(self, source: impl Propagate + 'static) -> Self {
        self.map(|pool| pool.propagate(source))
    }

    /// Sets how long each submitted closure that does not repeat may wait to be started after it is due,
    /// unless its submission says otherwise; see
    /// [`Submission::queue_limit`](crate::Submission::queue_limit).
    pub fn queue_limit(self, limit: Duration) -> Self {
        self.map(|pool| pool.queue_limit(limit))
    }

    /// Sets how long a run of each submitted closure may take, unless its submission says otherwise;
    /// see [`Submission::run_limit`](crate::Submission::run_limit).
    pub fn run_limit(self, limit: Duration) -> Self {
        self.map(|pool| pool.run_limit(limit))
    }

    /// Sets what a worker does when it waits, inside a task, for a task of the pool that is still queued;
    /// see [`pool::Builder::nested_waits`]. A task that is not due is run in place when it is due, not
    /// before. Default: [`NestedWaits::Help`].
    pub fn nested_waits(self, waits: NestedWaits) -> Self {
        self.map(|pool| pool.nested_waits(waits))
    }

    /// Sets how many workers beyond core may replace workers that wait for a task inside a task; see
    /// [`pool::Builder::spare_workers`]. Default: none.
    pub fn spare_workers(self, spares: usize) -> Self {
        self.map(|pool| pool.spare_workers(spares))
    }

    /// Sets what is called when a periodic task fails, which ends it; its handle also receives the
    /// failure.
    pub fn on_periodic_failure(
        mut self,
        handler: impl Fn(TaskId, Option<&str>, &Failure) + Send + Sync + 'static,
    ) -> Self {
        self.options.on_periodic_failure = Some(Arc::new(handler));
        self
    }

    /// Wraps every run of a scheduled task: `decorate` receives the run, and must call it once.
    #[doc(alias = "decorateTask")]
    pub fn decorate(mut self, decorate: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        self.options.decorate = Some(Arc::new(decorate));
        self
    }

    /// Sets what takes each task that is due, instead of a run.
    pub(super) fn forward(mut self, forward: impl Fn(Task) + Send + Sync + 'static) -> Self {
        self.forward = Some(Arc::new(forward));
        self
    }

    /// Returns the settings that can have no effect: a keep-alive time, unless there are no core workers.
    #[must_use]
    pub fn warnings(&self) -> Vec<ConfigWarning> {
        let mut warnings = self.pool.warnings();
        // It is for tasks that are submitted after the shutdown.
        warnings.retain(|warning| !matches!(warning, ConfigWarning::RejectionHandlerUnused));
        warnings
    }

    /// Creates the pool as [`build`](Self::build) does, if every setting can have an effect.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NoEffect`] with the first of the [`warnings`](Self::warnings).
    pub fn build_strict(self) -> Result<ScheduledThreadPoolExecutor, ConfigError> {
        match self.warnings().first() {
            Some(&warning) => Err(ConfigError::NoEffect(warning)),
            None => Ok(self.build()),
        }
    }

    /// Creates the pool, without threads. It uses the clock of the current thread.
    #[must_use]
    pub fn build(self) -> ScheduledThreadPoolExecutor {
        let shared = Arc::new(Shared::new(self.options));
        let timers = Arc::clone(&shared.timers);
        let queue: Arc<dyn BlockingQueue<Task>> = match self.forward {
            None => timers,
            Some(forward) => Arc::new(Forwarding::new(timers, forward)),
        };
        let pool = self
            .pool
            .maximum_pool_size(usize::MAX)
            .work_queue(queue)
            .timer_owner(Arc::clone(&shared) as _)
            .build();
        let pool = pool.unwrap_or_else(|error: ConfigError| unreachable!("{error}"));
        shared.timers.set_pool(pool.shared());
        ScheduledThreadPoolExecutor::from_parts(pool, shared)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}
