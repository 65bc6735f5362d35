//! A tokio runtime as an executor.

use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::rejected::RejectedExecution;
use super::running::RunningTask;
use super::service::{Executor, ExecutorService};
use super::shutdown_cancels::ShutdownCancels;
use super::thread_per_task::ThreadPerTaskExecutor;
use crate::interrupt::Interrupted;
use crate::task::{Failure, Task};
use crate::thread_factory::{ThreadBody, ThreadFactory};
use crate::unwind::catch;

/// An executor that runs tasks on the blocking threads of a tokio runtime.
///
/// Each task is a `spawn_blocking` of the runtime, which bounds the number of threads and queues what is
/// beyond (`max_blocking_threads`). The lifecycle is that of this executor: its shutdown leaves the runtime
/// alone. [`shutdown_now`](ExecutorService::shutdown_now) returns tasks that the runtime has not started.
/// A task that waits for such a one runs it in place, so one thread suffices.
/// If the runtime shuts down first, such tasks run or are cancelled with
/// [`Cancellation::NoThread`](crate::task::Cancellation::NoThread), and later ones are rejected.
///
/// ```
/// use windlass::executors::TokioExecutor;
/// use windlass::prelude::*;
///
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// let executor = TokioExecutor::new(runtime.handle().clone());
/// let handle = executor.submit(|| 6 * 7).unwrap();
/// assert_eq!(runtime.block_on(handle).unwrap(), 42);
/// executor.close();
/// ```
pub struct TokioExecutor(ThreadPerTaskExecutor);

impl UnwindSafe for TokioExecutor {}
impl RefUnwindSafe for TokioExecutor {}

impl TokioExecutor {
    /// Creates an executor on the runtime of this handle.
    #[must_use]
    pub fn new(runtime: Handle) -> Self {
        Self(ThreadPerTaskExecutor::on_shared_threads(BlockingThreads(
            runtime,
        )))
    }

    /// Creates an executor on the runtime that this is called in; `None` outside of any.
    #[must_use]
    pub fn current() -> Option<Self> {
        Handle::try_current().ok().map(Self::new)
    }

    /// Returns how many tasks run or are queued.
    #[must_use]
    pub fn task_count(&self) -> usize {
        self.0.thread_count()
    }
}

/// The blocking threads of a runtime.
#[derive(Debug)]
struct BlockingThreads(Handle);

impl ThreadFactory for BlockingThreads {
    /// A runtime that has shut down drops the body, and one that gets no thread panics.
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let spawned = catch(|| drop(self.0.spawn_blocking(move || body.run())));
        spawned.map_err(|payload| io::Error::other(Failure::from_panic(payload)))
    }
}

impl Executor for TokioExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.0.execute_task(task)
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.0.shutdown_cancels()
    }
}

impl ExecutorService for TokioExecutor {
    fn shutdown(&self) {
        self.0.shutdown();
    }

    fn shutdown_now(&self) -> Vec<Task> {
        let unstarted = self.0.stop_and_take_unstarted();
        self.0.shutdown();
        unstarted
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

    fn is_shutdown(&self) -> bool {
        self.0.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.0.await_termination(timeout)
    }
}

impl fmt::Debug for TokioExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioExecutor")
            .field("tasks", &self.task_count())
            .finish_non_exhaustive()
    }
}
