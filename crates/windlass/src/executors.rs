//! Factory functions for common executors, named after those of Java's `Executors`.
//!
//! | factory | core | maximum | keep-alive | queue |
//! |---|---|---|---|---|
//! | [`fixed_thread_pool`] | n | n | none needed | linked, unbounded |
//! | [`cached_thread_pool`] | 0 | unlimited | 60 s | hand-off |
//! | [`single_thread_executor`] | 1 | 1 | none needed | linked, unbounded |
//! | [`scheduled_thread_pool`] | n | unlimited | 10 ms | by due time, unbounded |
//!
//! An unbounded queue accepts any number of tasks: for a service under load prefer the
//! [builder](crate::ThreadPoolExecutor::builder) with a bounded queue and a rejection policy.

mod rate_limited;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::rate_limited::{Rate, RateLimited};
#[cfg(feature = "tokio")]
pub use crate::executor::TokioExecutor;
pub use crate::executor::{DirectExecutor, SerialExecutor, ThreadPerTaskExecutor};

use crate::executor::{Executor, ExecutorService, RejectedExecution, RunningTask, ShutdownCancels};
use crate::forkjoin::{ForkJoinPool, ParallelismError};
use crate::interrupt::Interrupted;
use crate::pool::{ConfigError, ThreadPoolExecutor};
use crate::queue::SynchronousQueue;
use crate::scheduled::{ScheduledExecutorService, ScheduledPool, ScheduledThreadPoolExecutor};
use crate::task::{LimitOwner, Task, TaskBuilder};
use crate::thread_factory::{DefaultThreadFactory, ThreadFactory};

/// Creates a pool of `threads` workers with an unbounded queue.
///
/// # Errors
///
/// [`ConfigError::ZeroMaximum`].
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// assert_eq!(pool.submit(|| 1 + 1).unwrap().join().unwrap(), 2);
/// ```
#[doc(alias = "newFixedThreadPool")]
pub fn fixed_thread_pool(threads: usize) -> Result<ThreadPoolExecutor, ConfigError> {
    fixed_thread_pool_with(threads, DefaultThreadFactory::new())
}

/// Creates a [`fixed_thread_pool`] with threads from this factory.
///
/// # Errors
///
/// [`ConfigError::ZeroMaximum`].
pub fn fixed_thread_pool_with(
    threads: usize,
    factory: impl ThreadFactory + 'static,
) -> Result<ThreadPoolExecutor, ConfigError> {
    ThreadPoolExecutor::builder()
        .core_pool_size(threads)
        .maximum_pool_size(threads)
        .keep_alive(Duration::ZERO)
        .thread_factory(factory)
        .build()
}

/// Creates a pool that hands each task to an idle worker, or else starts a new one. Workers end after
/// a minute without a task.
///
/// The number of threads is unbounded. A pool with dozens of workers accepts some tasks ahead of them while
/// tasks are short, instead of starting threads; if no worker returns for some hundred microseconds, threads
/// are started for those tasks.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::cached_thread_pool();
/// assert_eq!(pool.submit(|| "done").unwrap().join().unwrap(), "done");
/// ```
#[doc(alias = "newCachedThreadPool")]
#[must_use]
pub fn cached_thread_pool() -> ThreadPoolExecutor {
    cached_thread_pool_with(DefaultThreadFactory::new())
}

/// Creates a [`cached_thread_pool`] with threads from this factory.
#[must_use]
pub fn cached_thread_pool_with(factory: impl ThreadFactory + 'static) -> ThreadPoolExecutor {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(0)
        .maximum_pool_size(usize::MAX)
        .keep_alive(Duration::from_secs(60))
        .work_queue(SynchronousQueue::lending(DEBT_LIMIT))
        .thread_factory(factory)
        .build();
    pool.expect("these figures are valid")
}

/// How many tasks a cached pool accepts beyond its idle workers, while they return quickly.
const DEBT_LIMIT: u32 = 1024;

/// Creates an executor with one worker: tasks run one at a time, in the order of submission.
///
/// It cannot be reconfigured, so the order is guaranteed. A worker that ended by a panic is replaced.
///
/// ```
/// use windlass::prelude::*;
///
/// let single = executors::single_thread_executor();
/// single.execute(|| println!("first")).unwrap();
/// single.execute(|| println!("second")).unwrap();
/// single.close();
/// ```
///
/// The methods of the pool are hidden:
///
/// ```compile_fail
/// let single = windlass::executors::single_thread_executor();
/// single.set_core_pool_size(2);
/// ```
#[doc(alias = "newSingleThreadExecutor")]
#[must_use]
pub fn single_thread_executor() -> Unconfigurable<ThreadPoolExecutor> {
    single_thread_executor_with(DefaultThreadFactory::new())
}

/// Creates a [`single_thread_executor`] with threads from this factory.
#[must_use]
pub fn single_thread_executor_with(
    factory: impl ThreadFactory + 'static,
) -> Unconfigurable<ThreadPoolExecutor> {
    unconfigurable(fixed_thread_pool_with(1, factory).expect("one thread is a valid figure"))
}

/// Creates a pool of `threads` core workers that runs tasks after a delay, or repeatedly.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let pool = executors::scheduled_thread_pool(1);
/// let late = pool.schedule(Duration::from_millis(1), || "late").unwrap();
/// assert_eq!(late.join().unwrap(), "late");
/// ```
#[doc(alias = "newScheduledThreadPool")]
#[must_use]
pub fn scheduled_thread_pool(threads: usize) -> ScheduledThreadPoolExecutor {
    ScheduledThreadPoolExecutor::new(threads)
}

/// Creates a [`scheduled_thread_pool`] with threads from this factory.
#[must_use]
pub fn scheduled_thread_pool_with(
    threads: usize,
    factory: impl ThreadFactory + 'static,
) -> ScheduledThreadPoolExecutor {
    ScheduledThreadPoolExecutor::builder()
        .core_pool_size(threads)
        .thread_factory(factory)
        .build()
}

/// Creates a scheduled executor with one worker, which cannot be reconfigured: tasks run one at a
/// time, in the order in which they are due.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let single = executors::single_thread_scheduled_executor();
/// let late = single.schedule(Duration::from_millis(1), || 1).unwrap();
/// assert_eq!(late.join().unwrap(), 1);
/// ```
///
/// The methods of the pool are hidden:
///
/// ```compile_fail
/// let single = windlass::executors::single_thread_scheduled_executor();
/// single.set_remove_on_cancel(true);
/// ```
#[doc(alias = "newSingleThreadScheduledExecutor")]
#[must_use]
pub fn single_thread_scheduled_executor() -> Unconfigurable<ScheduledThreadPoolExecutor> {
    unconfigurable(scheduled_thread_pool(1))
}

/// Creates a fork-join pool in async mode, for tasks that are not joined, with the available
/// parallelism of the machine. The order of the tasks is not specified.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::work_stealing_pool();
/// assert_eq!(pool.submit(|| 3).unwrap().join().unwrap(), 3);
/// ```
#[doc(alias = "newWorkStealingPool")]
#[must_use]
pub fn work_stealing_pool() -> ForkJoinPool {
    let pool = ForkJoinPool::builder().async_mode(true).build();
    pool.expect("the machine's own parallelism is valid")
}

/// Creates a [`work_stealing_pool`] with this parallelism.
///
/// # Errors
///
/// [`ParallelismError`].
pub fn work_stealing_pool_of(parallelism: usize) -> Result<ForkJoinPool, ParallelismError> {
    ForkJoinPool::builder()
        .parallelism(parallelism)
        .async_mode(true)
        .build()
}

/// Creates an executor that starts a thread for every task.
///
/// ```
/// use windlass::prelude::*;
///
/// let threads = executors::thread_per_task_executor();
/// assert_eq!(threads.submit(|| 5).unwrap().join().unwrap(), 5);
/// ```
#[doc(alias = "newThreadPerTaskExecutor")]
#[must_use]
pub fn thread_per_task_executor() -> ThreadPerTaskExecutor {
    ThreadPerTaskExecutor::new()
}

/// Wraps an executor service so that it has only the methods of the traits.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::unconfigurable(executors::fixed_thread_pool(2).unwrap());
/// pool.submit(|| ()).unwrap().join().unwrap();
/// pool.close();
/// ```
///
/// The others are hidden:
///
/// ```compile_fail
/// use windlass::prelude::*;
///
/// let pool = executors::unconfigurable(executors::fixed_thread_pool(2).unwrap());
/// pool.set_core_pool_size(1);
/// ```
#[doc(alias = "unconfigurableExecutorService")]
#[must_use]
pub fn unconfigurable<E: ExecutorService>(executor: E) -> Unconfigurable<E> {
    Unconfigurable(executor)
}

/// An executor service that has only the methods of the traits; see [`unconfigurable`].
pub struct Unconfigurable<E>(E);

impl<E> Unconfigurable<E> {
    /// Returns the executor, for those who only read it.
    pub(crate) const fn inner(&self) -> &E {
        &self.0
    }
}

impl<E: ExecutorService> Executor for Unconfigurable<E> {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.0.execute_task(task)
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.0.prepare(task)
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        self.0.limit_owner()
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.0.shutdown_cancels()
    }
}

impl<E: ExecutorService> ExecutorService for Unconfigurable<E> {
    fn shutdown(&self) {
        self.0.shutdown();
    }

    fn shutdown_now(&self) -> Vec<Task> {
        self.0.shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.0.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.0.await_termination(timeout)
    }

    fn running_tasks(&self) -> Vec<RunningTask> {
        self.0.running_tasks()
    }

    fn completed_count(&self) -> Option<u64> {
        self.0.completed_count()
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        self.0.cancelled_by_shutdown()
    }

    fn is_terminating(&self) -> bool {
        self.0.is_terminating()
    }

    fn close(&self) {
        self.0.close();
    }
}

impl<E: ScheduledPool> ScheduledPool for Unconfigurable<E> {
    fn scheduled_pool(&self) -> &ScheduledThreadPoolExecutor {
        self.0.scheduled_pool()
    }
}

impl<E: ScheduledExecutorService> ScheduledExecutorService for Unconfigurable<E> {}

impl<E: Clone> Clone for Unconfigurable<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: fmt::Debug> fmt::Debug for Unconfigurable<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unconfigurable").field(&self.0).finish()
    }
}

/// Returns the number of threads for a target utilisation: `N · U · (1 + W/C)`, and at least one.
///
/// `cores` is the number of processors, `utilisation` their target utilisation (0 to 1), and
/// `wait_to_compute` the ratio of a task's waiting time to its computing time.
///
/// ```
/// use windlass::prelude::*;
///
/// // Eight cores, fully used, by tasks that wait nine tenths of their time.
/// assert_eq!(executors::optimal_pool_size(8, 1.0, 9.0), 80);
/// assert_eq!(executors::optimal_pool_size(8, 0.5, 0.0), 4);
/// ```
#[must_use]
pub fn optimal_pool_size(cores: usize, utilisation: f64, wait_to_compute: f64) -> usize {
    crate::pool::optimal_size(cores, utilisation, wait_to_compute)
}
