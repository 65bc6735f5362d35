//! The configuration of a pool, in two stages: first the number of threads, then what is optional.

use crate::pool::{OnPoolDropBehavior, ScheduledThreadPool};
use crate::threads::Threads;

/// The first stage, which asks for the number of threads.
///
/// ```
/// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
/// use scheduled_thread_pool::ScheduledThreadPool;
///
/// let pool = ScheduledThreadPool::builder().num_threads(2).build();
/// # drop(pool);
/// ```
#[derive(Debug)]
pub struct NumThreadsStage(pub(crate) ());

impl NumThreadsStage {
    /// Sets the number of threads.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    #[must_use]
    pub fn num_threads<'a>(self, num_threads: usize) -> FinalStage<'a> {
        assert!(num_threads > 0, "num_threads must be positive");
        FinalStage {
            num_threads,
            thread_name_pattern: None,
            on_drop_behavior: OnPoolDropBehavior::CompletePendingScheduled,
        }
    }
}

/// The final stage, with the optional settings.
///
/// ```
/// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
/// use scheduled_thread_pool::{OnPoolDropBehavior, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::builder()
///     .num_threads(2)
///     .thread_name_pattern("timer-{}")
///     .on_drop_behavior(OnPoolDropBehavior::DiscardPendingScheduled)
///     .build();
/// # drop(pool);
/// ```
#[derive(Debug)]
pub struct FinalStage<'a> {
    num_threads: usize,
    thread_name_pattern: Option<&'a str>,
    on_drop_behavior: OnPoolDropBehavior,
}

impl<'a> FinalStage<'a> {
    /// Sets the names of the threads: `{}` in it is replaced by the number of the thread, from 0. Threads
    /// have no name unless set.
    #[must_use]
    pub fn thread_name_pattern(mut self, thread_name_pattern: &'a str) -> Self {
        self.thread_name_pattern = Some(thread_name_pattern);
        self
    }

    /// Sets what happens to pending jobs when the pool is dropped;
    /// [`CompletePendingScheduled`](OnPoolDropBehavior::CompletePendingScheduled) unless set.
    #[must_use]
    pub fn on_drop_behavior(mut self, on_drop_behavior: OnPoolDropBehavior) -> Self {
        self.on_drop_behavior = on_drop_behavior;
        self
    }

    /// Creates the pool and starts its threads.
    ///
    /// # Panics
    ///
    /// Panics if not a single thread can be started.
    #[must_use]
    pub fn build(self) -> ScheduledThreadPool {
        let threads = Threads::new(self.thread_name_pattern);
        ScheduledThreadPool::with_threads(self.num_threads, threads, self.on_drop_behavior)
    }
}
