//! The configuration of a fork-join pool, checked once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::executor::ForkJoinPool;
use super::parallelism::{ParallelismError, available_parallelism, check};
use super::shared::{Config, PoolHooks, Shared, UncaughtHandler};
use super::worker;
use crate::hooks::Hooks;
use crate::sync::arc_dyn;
use crate::task::{Failure, Prepare, Propagate, Sources, TaskBuilder, with_limits};
use crate::thread_factory::{self, DefaultThreadFactory, ThreadFactory};
use crate::times::Times;

/// How many threads may replace blocked workers, unless set.
const DEFAULT_SPARES: usize = 256;

/// A builder of a [`ForkJoinPool`].
///
/// ```
/// use windlass::forkjoin::ForkJoinPool;
///
/// let pool = ForkJoinPool::builder()
///     .name("render")
///     .parallelism(4)
///     .async_mode(true)
///     .build()
///     .unwrap();
/// assert!(pool.is_async_mode());
/// assert_eq!(pool.name(), "render");
/// ```
#[must_use = "a builder creates nothing until `build`"]
pub struct Builder {
    name: Option<String>,
    parallelism: usize,
    order: LocalOrder,
    keep_alive: Duration,
    factory: Option<Arc<dyn ThreadFactory>>,
    uncaught: Option<UncaughtHandler>,
    prepare: Option<Prepare>,
    hooks: Option<PoolHooks>,
    sources: Sources,
    spares: usize,
    times: Times,
    /// The limits of all tasks, if there are any.
    limits: Option<TaskBuilder>,
}

impl Builder {
    fn new() -> Self {
        Self {
            name: None,
            parallelism: available_parallelism(),
            order: LocalOrder::Lifo,
            keep_alive: Duration::from_secs(60),
            factory: None,
            uncaught: None,
            prepare: None,
            hooks: None,
            sources: Sources::default(),
            spares: DEFAULT_SPARES,
            times: Times::default(),
            limits: None,
        }
    }

    /// Sets the name of the pool, which its threads (`NAME-worker-M`), its `Debug` output and its
    /// rejections show. Default: `ForkJoinPool-N`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how many workers run at a time; unless set, as many as the machine runs threads.
    pub fn parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Sets whether workers run their own forks oldest first: for tasks that are never joined.
    pub fn async_mode(mut self, fifo: bool) -> Self {
        self.order = if fifo {
            LocalOrder::Fifo
        } else {
            LocalOrder::Lifo
        };
        self
    }

    /// Sets how long an idle worker waits for work before it retires; a minute unless set.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }

    /// Sets what creates the threads; it also chooses their names. Default:
    /// [`DefaultThreadFactory`].
    pub fn thread_factory(mut self, factory: impl ThreadFactory + 'static) -> Self {
        self.factory = Some(thread_factory::shared(factory));
        self
    }

    /// Sets what is called with the failure of a task that has no handle.
    #[doc(alias = "UncaughtExceptionHandler")]
    pub fn uncaught_handler(mut self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.uncaught = Some(Arc::new(handler));
        self
    }

    /// Sets a function that adds to the [`TaskBuilder`] of each submitted closure: a name, a priority,
    /// an attachment.
    #[doc(alias = "newTaskFor")]
    pub fn prepare_tasks(
        mut self,
        prepare: impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static,
    ) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }

    /// Adds a source of context: what it captures where a task is submitted or forked, a closure is spawned
    /// or a join begins, is entered around what another thread runs of it.
    ///
    /// Sources add up; what the first has captured is entered first. See
    /// [`Propagate`].
    pub fn propagate(mut self, source: impl Propagate + 'static) -> Self {
        self.sources.add(source);
        self
    }

    /// Sets how long each submitted closure may wait to be started, unless its submission says
    /// otherwise; see [`Submission::queue_limit`](crate::Submission::queue_limit). It does not apply to forked tasks,
    /// nor to the closures of `join` and `scope`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::prelude::*;
    ///
    /// let pool = ForkJoinPool::builder().queue_limit(Duration::from_secs(60)).build().unwrap();
    /// assert_eq!(pool.submit(|| "in time").unwrap().join().unwrap(), "in time");
    /// assert_eq!(pool.stats().expired_task_count, 0);
    /// ```
    pub fn queue_limit(mut self, limit: Duration) -> Self {
        self.limits = Some(self.limits.unwrap_or_default().queue_limit(limit));
        self
    }

    /// Sets how long a run of each submitted closure may take, unless its submission says otherwise;
    /// see [`Submission::run_limit`](crate::Submission::run_limit). It does not apply to forked tasks.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.limits = Some(self.limits.unwrap_or_default().run_limit(limit));
        self
    }

    /// Sets the hooks, which are called around every task that was submitted or forked, and when the pool
    /// terminates. The closures of `join` and `scope` are no tasks.
    ///
    /// A panic of a hook is passed to the uncaught handler; the worker goes on.
    ///
    /// ```
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::pool::{Hooks, Outcome, TaskInfo};
    /// use windlass::prelude::*;
    ///
    /// struct Log;
    ///
    /// impl Hooks for Log {
    ///     fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
    ///         println!("{} ended as {outcome:?}", task.id());
    ///     }
    /// }
    ///
    /// let pool = ForkJoinPool::builder().parallelism(2).hooks(Log).build().unwrap();
    /// pool.submit(|| ()).unwrap().join().unwrap();
    /// ```
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        let takes_times = hooks.wants_times();
        let hooks = arc_dyn(hooks, |hooks| Arc::new(hooks) as Arc<dyn Hooks>);
        self.hooks = Some(PoolHooks { hooks, takes_times });
        self
    }

    /// Sets how many threads beyond the parallelism may replace blocked workers; 256 unless set.
    #[doc(alias = "maximumSpares")]
    pub fn maximum_spares(mut self, spares: usize) -> Self {
        self.spares = spares;
        self
    }

    /// Sets whether the pool times its tasks; see [`ForkJoinStats::wait_times`](super::ForkJoinStats::wait_times). Default:
    /// [`Times::Sampled`]. The closures of `join` and `scope` are no tasks and are never timed.
    ///
    /// ```
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::pool::Times;
    /// use windlass::prelude::*;
    ///
    /// let pool = ForkJoinPool::builder().parallelism(2).times(Times::Every).build().unwrap();
    /// let report = pool.task().name("report").submit(|| ());
    /// pool.close();
    /// let stats = pool.stats();
    /// assert_eq!((stats.wait_times.count(), stats.run_times.count()), (1, 1));
    /// println!("{}", stats.task_times[0]); // report: waited 1 tasks: p50 18.4µs, …; ran 1 tasks: …
    /// # drop(report);
    /// ```
    pub fn times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Creates the pool, without threads. It uses the clock of the current thread.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`] if the parallelism is not between 1 and 32767.
    pub fn build(self) -> Result<ForkJoinPool, ParallelismError> {
        check(self.parallelism)?;
        Ok(self.build_unchecked())
    }

    /// Creates the pool, without checking the parallelism, which may be zero.
    pub(super) fn build_unchecked(self) -> ForkJoinPool {
        let factory = self.factory.unwrap_or_else(|| {
            Arc::new(match &self.name {
                Some(name) => DefaultThreadFactory::fork_join_named(name),
                None => DefaultThreadFactory::fork_join(),
            })
        });
        let name = match self.name {
            Some(name) => name.into(),
            None => thread_factory::pool_name(&*factory),
        };
        let mut prepare = self.sources.after(self.prepare);
        if let Some(limits) = self.limits {
            prepare = Some(with_limits(limits, prepare));
        }
        let config = Config {
            name,
            order: self.order,
            keep_alive: self.keep_alive,
            max_spares: self.spares,
            factory,
            uncaught: self.uncaught,
            hooks: self.hooks,
            prepare,
            sources: self.sources,
            times: self.times,
            run_worker: worker::run,
        };
        ForkJoinPool::over(Shared::new(config, self.parallelism))
    }
}

impl ForkJoinPool {
    /// Creates a pool with this parallelism.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`] if it is not between 1 and 32767.
    pub fn new(parallelism: usize) -> Result<Self, ParallelismError> {
        Self::builder().parallelism(parallelism).build()
    }

    /// Creates a builder.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("parallelism", &self.parallelism)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
