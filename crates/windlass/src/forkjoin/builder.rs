//! Configuration of a fork-join pool, checked once.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::executor::ForkJoinPool;
use super::shared::{Config, MAX_WORKERS, Shared, Uncaught};
use crate::task::Failure;
use crate::thread_factory::{DefaultThreadFactory, ThreadFactory};

/// Threads that may stand in for blocked workers.
const SPARES: usize = 256;

/// A parallelism that a pool cannot have: from 1 to 32767 is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelismError(usize);

impl fmt::Display for ParallelismError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a parallelism of {} is not between 1 and {MAX_WORKERS}",
            self.0
        )
    }
}

impl Error for ParallelismError {}

pub(super) fn check(parallelism: usize) -> Result<usize, ParallelismError> {
    if (1..=MAX_WORKERS).contains(&parallelism) {
        Ok(parallelism)
    } else {
        Err(ParallelismError(parallelism))
    }
}

pub(super) fn available_parallelism() -> usize {
    crate::sync::available_parallelism().min(MAX_WORKERS)
}

/// Sets up a [`ForkJoinPool`].
///
/// ```
/// use windlass::forkjoin::ForkJoinPool;
///
/// let pool = ForkJoinPool::builder().parallelism(4).async_mode(true).build().unwrap();
/// assert!(pool.is_async_mode());
/// ```
#[must_use = "a builder makes nothing until `build`"]
pub struct Builder {
    parallelism: usize,
    order: LocalOrder,
    keep_alive: Duration,
    factory: Option<Arc<dyn ThreadFactory>>,
    uncaught: Option<Uncaught>,
    spares: usize,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            parallelism: available_parallelism(),
            order: LocalOrder::Lifo,
            keep_alive: Duration::from_secs(60),
            factory: None,
            uncaught: None,
            spares: SPARES,
        }
    }

    /// How many workers are to run at a time; as many as the machine runs threads, unless set.
    pub fn parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Whether workers take what they have forked themselves oldest first: for tasks that are never
    /// joined.
    pub fn async_mode(mut self, fifo: bool) -> Self {
        self.order = if fifo {
            LocalOrder::Fifo
        } else {
            LocalOrder::Lifo
        };
        self
    }

    /// How long a worker waits for work before it ends; a minute unless set.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }

    /// What makes the threads.
    pub fn thread_factory(mut self, factory: Arc<dyn ThreadFactory>) -> Self {
        self.factory = Some(factory);
        self
    }

    /// Called with the failure of a task that has no handle.
    pub fn uncaught_handler(mut self, handler: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.uncaught = Some(Arc::new(handler));
        self
    }

    /// How many threads beyond the parallelism may stand in for workers that wait; 256 unless set.
    #[doc(alias = "maximumSpares")]
    pub fn maximum_spares(mut self, spares: usize) -> Self {
        self.spares = spares;
        self
    }

    /// Makes the pool. It has no threads yet; it reads the clock of the current thread.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`].
    pub fn build(self) -> Result<ForkJoinPool, ParallelismError> {
        check(self.parallelism)?;
        Ok(self.build_unchecked())
    }

    /// Makes the pool, perhaps one without any workers.
    pub(super) fn build_unchecked(self) -> ForkJoinPool {
        let factory = self
            .factory
            .unwrap_or_else(|| Arc::new(DefaultThreadFactory::fork_join()));
        let config = Config {
            order: self.order,
            keep_alive: self.keep_alive,
            spares: self.spares,
            factory,
            uncaught: self.uncaught,
        };
        ForkJoinPool::over(Shared::new(config, self.parallelism))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("parallelism", &self.parallelism)
            .finish_non_exhaustive()
    }
}
