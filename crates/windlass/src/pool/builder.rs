//! The configuration of a pool, checked once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::codel::Codel;
use super::config_error::ConfigError;
use super::configuration::{Chosen, Configuration};
use super::executor::ThreadPoolExecutor;
use super::limits::LimitCounts;
use super::no_effect::ConfigWarning;
use super::rejection::{self, AbortPolicy, RejectedExecutionHandler};
use super::settings::{Settings, SettingsSnapshot};
use super::shared::{NestedWaits, Options, Shared};
use super::shed_queue::ShedQueue;
use super::work_queue::WorkQueue;
use crate::hooks::Hooks;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::{arc_dyn, available_parallelism};
use crate::task::{Failure, Propagate, Sources, Task, TaskBuilder, TimerOwner, with_limits};
use crate::thread_factory::{self, DefaultThreadFactory, ThreadFactory};
use crate::times::Times;

/// Configuration of a [`ThreadPoolExecutor`].
///
/// By default a pool has as many core workers as the machine runs threads, no more than those, an
/// unbounded queue, and [`AbortPolicy`].
///
/// Options that take a trait also take an `Arc` of it, to share the value.
///
/// ```
/// use std::time::Duration;
/// use windlass::pool::CallerRunsPolicy;
/// use windlass::prelude::*;
/// use windlass::queue::ArrayBlockingQueue;
///
/// let pool = ThreadPoolExecutor::builder()
///     .name("web")
///     .core_pool_size(4)
///     .maximum_pool_size(16)
///     .keep_alive(Duration::from_secs(30))
///     .work_queue(ArrayBlockingQueue::new(1_000).unwrap())
///     .rejection_handler(CallerRunsPolicy)
///     .build()
///     .unwrap();
/// assert_eq!(pool.maximum_pool_size(), 16);
/// ```
#[must_use = "a builder creates nothing until `build`"]
pub struct Builder {
    core: Option<usize>,
    maximum: Option<usize>,
    keep_alive: Duration,
    core_timeout: bool,
    queue: Option<WorkQueue>,
    factory: Option<Arc<dyn ThreadFactory>>,
    handler: Arc<dyn RejectedExecutionHandler>,
    name: Option<String>,
    chosen: Chosen,
    sources: Sources,
    /// The limits of all tasks, if there are any.
    limits: Option<TaskBuilder>,
    codel: Option<Codel>,
    options: Options,
}

impl ThreadPoolExecutor {
    /// Creates a builder with the default configuration.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            core: None,
            maximum: None,
            keep_alive: Duration::from_secs(60),
            core_timeout: false,
            queue: None,
            factory: None,
            handler: Arc::new(AbortPolicy),
            name: None,
            chosen: Chosen::default(),
            sources: Sources::default(),
            limits: None,
            codel: None,
            options: Options::default(),
        }
    }

    /// Sets the name of the pool, which its threads (`NAME-thread-M`), its `Debug` output and its
    /// rejections show. Default: the prefix of the thread factory, `pool-N` without one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how many workers are kept even when idle; zero is allowed.
    ///
    /// Default: as many as the machine runs threads, but no more than the maximum.
    #[doc(alias = "corePoolSize")]
    pub fn core_pool_size(mut self, size: usize) -> Self {
        self.core = Some(size);
        self
    }

    /// Sets the maximum number of workers. Default: as many as core workers, and at least one.
    #[doc(alias = "maximumPoolSize")]
    pub fn maximum_pool_size(mut self, size: usize) -> Self {
        self.maximum = Some(size);
        self.chosen.maximum = true;
        self
    }

    /// Sets how long a worker beyond core waits for a task before it ends. Default: one minute.
    #[doc(alias = "keepAliveTime")]
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self.chosen.keep_alive = true;
        self
    }

    /// Sets the keep-alive time unless the user sets one.
    pub(crate) fn default_keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }

    /// Sets whether core workers end too when they are idle for the keep-alive time.
    #[doc(alias = "allowCoreThreadTimeOut")]
    pub fn allow_core_thread_timeout(mut self, allow: bool) -> Self {
        self.core_timeout = allow;
        self
    }

    /// Sets the queue in which tasks wait for a worker. Default: an unbounded
    /// [`LinkedBlockingQueue`].
    pub fn work_queue(mut self, queue: impl BlockingQueue<Task> + 'static) -> Self {
        self.queue = Some(WorkQueue::new(queue));
        self.chosen.capacity = true;
        self
    }

    /// Sets what creates the threads; it also chooses their names. Default:
    /// [`DefaultThreadFactory`].
    pub fn thread_factory(mut self, factory: impl ThreadFactory + 'static) -> Self {
        self.factory = Some(thread_factory::shared(factory));
        self
    }

    /// Sets what happens to a task that the pool cannot accept. Default: [`AbortPolicy`].
    #[doc(alias = "RejectedExecutionHandler")]
    pub fn rejection_handler(mut self, handler: impl RejectedExecutionHandler + 'static) -> Self {
        self.handler = rejection::shared(handler);
        self.chosen.handler = true;
        self
    }

    /// Sets what is called around every task and at termination.
    #[doc(alias = "beforeExecute")]
    #[doc(alias = "afterExecute")]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.options.takes_times = hooks.wants_times();
        self.options.hooks = Some(arc_dyn(hooks, |hooks| Arc::new(hooks) as Arc<dyn Hooks>));
        self
    }

    /// Sets what is called with a failure that no handle receives: of a task without a handle, of a
    /// hook, or of the thread factory. With an error of the factory it is called if that leaves the pool
    /// without any worker, or if a task is rejected for it; see
    /// [`refused_thread_count`](super::PoolStats::refused_thread_count) for the others.
    ///
    /// The pool terminates after the handler has returned for every failed task.
    ///
    /// # Deadlocks
    ///
    /// If the handler waits for the termination of the pool.
    #[doc(alias = "UncaughtExceptionHandler")]
    pub fn uncaught_handler(mut self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.options.uncaught = Some(Arc::new(handler));
        self
    }

    /// Sets a function that adds to the [`TaskBuilder`] of each submitted closure: a name, a priority,
    /// an attachment.
    #[doc(alias = "newTaskFor")]
    pub fn prepare_tasks(
        mut self,
        prepare: impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static,
    ) -> Self {
        self.options.prepare = Some(Arc::new(prepare));
        self
    }

    /// Adds a source of context: what it captures where a task is submitted is entered around the task.
    ///
    /// Sources add up; what the first has captured is entered first. See
    /// [`Propagate`].
    pub fn propagate(mut self, source: impl Propagate + 'static) -> Self {
        self.sources.add(source);
        self
    }

    /// Sets how long each submitted closure may wait to be started, unless its submission says
    /// otherwise; see [`Submission::queue_limit`](crate::Submission::queue_limit).
    ///
    /// Like [`prepare_tasks`](Self::prepare_tasks), it applies to closures, not to a
    /// [`Task`] that was built before.
    pub fn queue_limit(mut self, limit: Duration) -> Self {
        self.limits = Some(self.limits.unwrap_or_default().queue_limit(limit));
        self
    }

    /// Sets how long a run of each submitted closure may take, unless its submission says otherwise;
    /// see [`Submission::run_limit`](crate::Submission::run_limit).
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.limits = Some(self.limits.unwrap_or_default().run_limit(limit));
        self
    }

    /// Sheds tasks while the queue stays slow: workers drop some of the tasks that they take, by the
    /// rule of [`Codel`]. Their handles report [`Cancellation::Shed`](crate::task::Cancellation::Shed).
    pub fn shed(mut self, codel: Codel) -> Self {
        self.codel = Some(codel);
        self
    }

    /// Sets whether workers are started up to the maximum before tasks are queued, while all
    /// workers are busy.
    ///
    /// By default the pool starts workers beyond core only when the queue is full; with an unbounded
    /// queue that never happens.
    pub fn grow_eagerly(mut self, eager: bool) -> Self {
        self.options.grows_eagerly = eager;
        self
    }

    /// Sets whether a worker is kept, instead of replaced, after a panic of a hook or of a task
    /// without a handle.
    ///
    /// Replacing it, the default and what the JDK does, frees the thread-locals that the task may
    /// have set; keeping it saves a thread start.
    pub fn reuse_worker_after_panic(mut self, reuse: bool) -> Self {
        self.options.reuses_workers = reuse;
        self
    }

    /// Sets whether tasks are timed. Default: [`Times::Sampled`].
    pub fn times(mut self, times: Times) -> Self {
        self.options.times = times;
        self
    }

    /// Sets what a thread of the pool does when it waits, inside a task, for a task of the pool that is
    /// still queued. Default: [`NestedWaits::Help`].
    ///
    /// With `Help` the thread takes that task out of the queue and runs it in place: `get`, `join`, `wait`,
    /// `invoke_all`, `invoke_any`, and `take` of a completion service. So a task can wait for tasks of
    /// its own pool, however few workers that has. The thread runs the awaited task and never another one,
    /// so it may hold a lock meanwhile that the awaited task does not take. The run is counted and
    /// surrounded by the hooks as any other. It is nested: the stack of the thread bounds how deep waits
    /// in waits can be, a thread-local that the waiting task has borrowed stays borrowed, and a wait
    /// with a time limit ends when the task has ended.
    ///
    /// If all workers of another pool wait too, the thread also runs an awaited task that is queued there.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// let inner = pool.clone();
    /// let outer = pool.submit(move || inner.submit(|| 20).unwrap().join().unwrap() + 1).unwrap();
    /// assert_eq!(outer.join().unwrap(), 21);
    /// ```
    pub fn nested_waits(mut self, waits: NestedWaits) -> Self {
        self.options.nested_waits = waits;
        self
    }

    /// Sets how many workers beyond the maximum may replace workers that wait for a task inside a task.
    /// Default: none, so that the maximum holds always.
    ///
    /// A spare worker is started while a worker waits for a task that it cannot run in place, since that
    /// runs elsewhere, and tasks are queued that no idle worker would take. There are never more of
    /// them than workers that wait. When those return, as many workers retire.
    pub fn spare_workers(mut self, spares: usize) -> Self {
        self.options.spare_workers = spares;
        self
    }

    /// Sets how many workers are many for a hand-off: models have few.
    #[cfg(test)]
    pub(crate) fn many_workers(mut self, workers: usize) -> Self {
        self.options.many_workers = Some(workers);
        self
    }

    /// Sets the timer service of the scheduled pool that is built on this one.
    pub(crate) fn timer_owner(mut self, timers: Arc<dyn TimerOwner>) -> Self {
        self.options.timers = Some(timers);
        self
    }

    fn settings(&self) -> SettingsSnapshot {
        let default_core = || available_parallelism().min(self.maximum.unwrap_or(usize::MAX));
        let core = self.core.unwrap_or_else(default_core);
        SettingsSnapshot {
            core,
            maximum: self.maximum.unwrap_or_else(|| core.max(1)),
            keep_alive: self.keep_alive,
            core_timeout: self.core_timeout,
        }
    }

    /// Returns the settings that can have no effect; those that were not chosen are not among them.
    #[must_use]
    pub fn warnings(&self) -> Vec<ConfigWarning> {
        let configuration = Configuration {
            settings: self.settings(),
            capacity: self.queue.as_ref().and_then(WorkQueue::bound),
            has_partial_bounds: self
                .queue
                .as_ref()
                .is_some_and(|queue| queue.has_partial_bounds()),
            grows_eagerly: self.options.grows_eagerly,
            spare_workers: self.options.spare_workers,
            chosen: self.chosen,
        };
        configuration.warnings()
    }

    /// Creates the pool as [`build`](Self::build) does, if every setting can have an effect.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NoEffect`] with the first of the [`warnings`](Self::warnings), or an error of
    /// [`build`](Self::build).
    pub fn build_strict(self) -> Result<ThreadPoolExecutor, ConfigError> {
        match self.warnings().first() {
            Some(&warning) => Err(ConfigError::NoEffect(warning)),
            None => self.build(),
        }
    }

    /// Creates the pool, without threads. It uses the clock of the current thread.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], if the sizes contradict each other, the maximum is zero, or core workers
    /// would time out at once.
    pub fn build(self) -> Result<ThreadPoolExecutor, ConfigError> {
        let settings = Settings::new(self.settings())?;
        let queue = self
            .queue
            .unwrap_or_else(|| WorkQueue::new(LinkedBlockingQueue::new()));
        let factory = self.factory.unwrap_or_else(|| {
            Arc::new(match &self.name {
                Some(name) => DefaultThreadFactory::named(name),
                None => DefaultThreadFactory::new(),
            })
        });
        let mut options = self.options;
        options.limits = Arc::new(LimitCounts::new());
        options.cancels = Arc::default();
        options.prepare = self.sources.after(options.prepare);
        options.queues_every_task = queue.sees_every_element();
        options.has_partial_bounds = queue.has_partial_bounds();
        options.name = match self.name {
            Some(name) => name.into(),
            None => thread_factory::pool_name(&*factory),
        };
        if let Some(limits) = self.limits {
            let limits = limits.limit_owner(Some(Arc::clone(&options.limits) as _));
            options.prepare = Some(with_limits(limits, options.prepare));
        }
        let queue = match self.codel {
            None => queue,
            Some(codel) => WorkQueue::new(ShedQueue::new(queue, codel, &options.limits)),
        };
        let shared = Shared::new(settings, queue, factory, self.handler, options);
        Ok(ThreadPoolExecutor::new(shared))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("core_pool_size", &self.core)
            .field("maximum_pool_size", &self.maximum)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
