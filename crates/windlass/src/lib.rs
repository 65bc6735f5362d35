#![doc = include_str!("../docs/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod completion;
mod executor;
pub mod executors;
mod expiry;
pub mod forkjoin;
mod hooks;
pub mod interrupt;
#[cfg(not(loom))]
#[cfg(test)]
mod models;
pub mod monitor;
pub mod pool;
pub mod queue;
pub mod scheduled;
pub mod shutdown;
mod submit;
mod sync;
pub mod task;
mod termination;
#[cfg(feature = "testing")]
pub mod testing;
pub mod thread_factory;
mod times;
mod unwind;
mod waiting;

#[cfg(feature = "stream")]
pub use completion::CompletionStream;
pub use completion::{CompletionService, Completions};
pub use executor::{
    CloseOnDrop, Executor, ExecutorService, RejectedExecution, RejectionReason, RunningTask,
};
pub use forkjoin::ForkJoinPool;
pub use pool::ThreadPoolExecutor;
pub use scheduled::{Schedule, ScheduledExecutorService, ScheduledThreadPoolExecutor};
pub use submit::{
    InvokeError, RejectedSpawn, Scope, ScopeCounts, ScopedHandle, Submission, Submit, TaskGroup,
};
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

/// Context that travels with tasks: captured where a task is submitted, entered where it runs.
///
/// A pool propagates what its builder's `propagate` was given: the value of a thread-local
/// ([`copied`](context::copied), [`cloned`](context::cloned)), the current span of `tracing`
/// (`TracingSpan`, with the feature `tracing`), or anything else that implements
/// [`Propagate`](context::Propagate).
///
/// | what runs | when its context is captured |
/// |---|---|
/// | submitted tasks, also those of `invoke_all`, scopes and completion services | at the submission |
/// | scheduled and periodic tasks | when they are scheduled; entered for each run |
/// | forks, completer nodes, what a fork-join scope spawns | at the fork or the spawn |
/// | the first closure of a join | when the join begins |
/// | futures | at the spawn; entered for each poll |
///
/// A panic at the capture reaches the submitter, and nothing is queued. A panic on entering is the
/// failure of the task. A panic on leaving is discarded: the outcome of the task stands.
///
/// ```
/// use std::cell::Cell;
/// use windlass::context;
/// use windlass::prelude::*;
///
/// thread_local! {
///     static DEPTH: Cell<u32> = const { Cell::new(0) };
/// }
///
/// let pool = ForkJoinPool::builder().propagate(context::copied(&DEPTH)).build().unwrap();
/// DEPTH.set(3);
/// let seen = pool.join(|| DEPTH.get(), || DEPTH.get());
/// assert_eq!(seen, (3, 3));
/// ```
pub mod context {
    pub use crate::executor::Propagating;
    #[cfg(feature = "tracing")]
    pub use crate::task::TracingSpan;
    pub use crate::task::{Captured, Propagate, cloned, copied};
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
    pub use crate::pool::{ConfigError, ReconfigureError};
    pub use crate::queue::{CapacityError, PutError, Unplaced};
    #[cfg(feature = "cron")]
    pub use crate::scheduled::{CronError, ScheduleCronError};
    pub use crate::submit::{InvokeError, RejectedSpawn};
    pub use crate::task::{Cancellation, Deadlock, ExecutionError, Failure};
}

/// Coming from Java: where to find what, and what differs.
#[doc = include_str!("../docs/java.md")]
pub mod coming_from_java {}
