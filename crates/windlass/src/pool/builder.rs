//! The configuration of a pool, checked once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::executor::ThreadPoolExecutor;
use super::hooks::Hooks;
use super::rejection::{self, AbortPolicy, RejectedExecutionHandler};
use super::settings::{ConfigError, Settings, SettingsSnapshot};
use super::shared::{Options, Shared};
use super::work_queue::WorkQueue;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::{arc_dyn, available_parallelism};
use crate::task::{Failure, Task, TaskBuilder, TimerService};
use crate::thread_factory::{self, DefaultThreadFactory, ThreadFactory};

/// Sets up a [`ThreadPoolExecutor`].
///
/// Without any setting: as many core workers as the machine runs threads, no more than those, an
/// unbounded queue, default thread names, refused tasks handed back.
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
#[must_use = "a builder makes nothing until `build`"]
pub struct Builder {
    core: Option<usize>,
    maximum: Option<usize>,
    keep_alive: Duration,
    core_timeout: bool,
    queue: Option<WorkQueue>,
    factory: Option<Arc<dyn ThreadFactory>>,
    handler: Arc<dyn RejectedExecutionHandler>,
    name: Option<String>,
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
            options: Options::default(),
        }
    }

    /// Workers that are kept even when idle; zero is allowed.
    pub fn core_pool_size(mut self, size: usize) -> Self {
        self.core = Some(size);
        self
    }

    /// The most workers there may be; unless set, as many as core workers, and at least one.
    pub fn maximum_pool_size(mut self, size: usize) -> Self {
        self.maximum = Some(size);
        self
    }

    /// How long a worker beyond core waits for a task before it ends; a minute unless set.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }

    /// Lets core workers end too when they have waited for as long as keep-alive.
    pub fn allow_core_thread_timeout(mut self, allow: bool) -> Self {
        self.core_timeout = allow;
        self
    }

    /// The queue in which tasks wait for a worker.
    pub fn work_queue(mut self, queue: impl BlockingQueue<Task> + 'static) -> Self {
        self.queue = Some(WorkQueue::new(queue));
        self
    }

    /// What makes the threads; a factory takes precedence over a [`name`](Self::name).
    pub fn thread_factory(mut self, factory: impl ThreadFactory + 'static) -> Self {
        self.factory = Some(thread_factory::shared(factory));
        self
    }

    /// What happens to a task that cannot be taken.
    pub fn rejection_handler(mut self, handler: impl RejectedExecutionHandler + 'static) -> Self {
        self.handler = rejection::shared(handler);
        self
    }

    /// Called around every task, and at the end.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.options.takes_times = hooks.wants_times();
        self.options.hooks = Some(arc_dyn(hooks, |hooks| Arc::new(hooks) as Arc<dyn Hooks>));
        self
    }

    /// Called with a failure that cost a worker its life: of a task without a handle, of a hook.
    pub fn uncaught_handler(mut self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.options.uncaught = Some(Arc::new(handler));
        self
    }

    /// Completes what each submitted closure's task is to carry: a name, a priority, a state.
    #[doc(alias = "newTaskFor")]
    pub fn prepare_tasks(
        mut self,
        prepare: impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static,
    ) -> Self {
        self.options.prepare = Some(Arc::new(prepare));
        self
    }

    /// Starts workers up to the maximum before tasks are queued, as long as all are busy.
    ///
    /// Without it a queue has to be full before there are more workers than core; with an unbounded
    /// queue that is never.
    pub fn grow_eagerly(mut self, eager: bool) -> Self {
        self.options.grows_eagerly = eager;
        self
    }

    /// Keeps a worker whose task without a handle has panicked, instead of replacing it.
    ///
    /// Replacing, the default and the JDK's way, frees the thread-locals that the task may have
    /// left behind; keeping saves a thread start.
    pub fn reuse_worker_after_panic(mut self, reuse: bool) -> Self {
        self.options.reuses_workers = reuse;
        self
    }

    /// Sets the scheduled pool that is built on this one.
    pub(crate) fn timer_service(mut self, timers: Arc<dyn TimerService>) -> Self {
        self.options.timers = Some(timers);
        self
    }

    /// Names the threads `NAME-thread-M` instead of `pool-N-thread-M`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes the pool. It has no threads yet; it reads the clock of the current thread.
    ///
    /// # Errors
    ///
    /// [`ConfigError`].
    pub fn build(self) -> Result<ThreadPoolExecutor, ConfigError> {
        let core = self.core.unwrap_or_else(available_parallelism);
        let settings = Settings::new(SettingsSnapshot {
            core,
            maximum: self.maximum.unwrap_or_else(|| core.max(1)),
            keep_alive: self.keep_alive,
            core_timeout: self.core_timeout,
        })?;
        let queue = self
            .queue
            .unwrap_or_else(|| WorkQueue::new(LinkedBlockingQueue::new()));
        let factory = self.factory.unwrap_or_else(|| {
            Arc::new(match &self.name {
                Some(name) => DefaultThreadFactory::named(name),
                None => DefaultThreadFactory::new(),
            })
        });
        let shared = Shared::new(settings, queue, factory, self.handler, self.options);
        Ok(ThreadPoolExecutor::new(shared))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("core_pool_size", &self.core)
            .field("maximum_pool_size", &self.maximum)
            .field("keep_alive", &self.keep_alive)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
