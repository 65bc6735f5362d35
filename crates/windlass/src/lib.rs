#![doc = include_str!("../docs/crate.md")]

mod completion;
pub mod executor;
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

pub use completion::CompletionService;
pub use executor::{Executor, ExecutorService};
pub use forkjoin::ForkJoinPool;
pub use pool::ThreadPoolExecutor;
pub use scheduled::{Schedule, ScheduledExecutorService, ScheduledThreadPoolExecutor};
pub use submit::{InvokeError, Submit};
pub use task::{FutureTask, Task, TaskHandle};

/// A clock that tests can drive.
pub mod clock {
    pub use crate::sync::clock::TestClock;
}

/// All error types, gathered from beside the operations that return them.
pub mod error {
    pub use crate::executor::{RejectedExecution, RejectionReason};
    pub use crate::interrupt::{Interrupted, JoinInterrupted};
    pub use crate::pool::ConfigError;
    pub use crate::queue::{CapacityError, PutError, Unplaced};
    pub use crate::submit::InvokeError;
    pub use crate::task::{Cancellation, ExecutionError, Failure};
}

/// Coming from Java: where to find what, and what differs.
#[doc = include_str!("../docs/java.md")]
pub mod coming_from_java {}
