#![doc = include_str!("../docs/crate.md")]

mod completion;
mod executor;
pub mod executors;
pub mod forkjoin;
pub mod interrupt;
#[cfg(not(loom))]
#[cfg(test)]
mod models;
pub mod pool;
pub mod queue;
pub mod scheduled;
mod submit;
mod sync;
pub mod task;
mod termination;
#[cfg(feature = "testing")]
pub mod testing;
pub mod thread_factory;
mod unwind;
mod waiting;

pub use completion::{CompletionService, Completions};
pub use executor::{CloseOnDrop, Executor, ExecutorService, RejectedExecution, RejectionReason};
pub use forkjoin::ForkJoinPool;
pub use pool::ThreadPoolExecutor;
pub use scheduled::{Schedule, ScheduledExecutorService, ScheduledThreadPoolExecutor};
pub use submit::{InvokeError, Submission, Submit};
pub use task::{FutureTask, Task, TaskHandle};

/// What most programs use: the pools, the traits whose methods are called on them, and
/// [`executors`].
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let answer = pool.submit(|| 6 * 7).unwrap();
/// pool.close();
/// # drop(answer);
/// ```
pub mod prelude {
    pub use crate::executors;
    pub use crate::queue::{BlockingQueue, BlockingQueueExt};
    pub use crate::{
        CloseOnDrop, Executor, ExecutorService, ForkJoinPool, Schedule, ScheduledExecutorService,
        ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
    };
}

/// A clock that tests can drive.
pub mod clock {
    pub use crate::sync::clock::TestClock;
}

/// All error types of the crate. Each is also found beside the operation that returns it.
pub mod error {
    pub use crate::executor::{RejectedExecution, RejectionReason};
    pub use crate::forkjoin::ParallelismError;
    pub use crate::interrupt::{Interrupted, JoinInterrupted};
    pub use crate::pool::ConfigError;
    pub use crate::queue::{CapacityError, PutError, Unplaced};
    #[cfg(feature = "cron")]
    pub use crate::scheduled::{CronError, ScheduleCronError};
    pub use crate::submit::InvokeError;
    pub use crate::task::{Cancellation, ExecutionError, Failure};
}

/// Coming from Java: where to find what, and what differs.
#[doc = include_str!("../docs/java.md")]
pub mod coming_from_java {}
