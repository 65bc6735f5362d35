//! An executor that runs each task on the thread of its submitter.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::rejected::{RejectedExecution, RejectionReason};
use super::service::{Executor, ExecutorService};
use super::shutdown_cancels::ShutdownCancels;
use crate::interrupt::Interrupted;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::{Cancellation, Task};
use crate::termination::Termination;

/// An executor that runs each task on the thread that submits it, before the submission returns.
///
/// Meant for tests, and for code that runs with and without threads. A panic of a task without a handle
/// reaches the submitter.
///
/// ```
/// use windlass::executors::DirectExecutor;
/// use windlass::prelude::*;
///
/// let handle = DirectExecutor::new().submit(|| std::thread::current().id()).unwrap();
/// assert_eq!(handle.join().unwrap(), std::thread::current().id());
/// ```
#[derive(Debug, Default)]
pub struct DirectExecutor {
    /// Twice the number of running tasks, plus one once it is shut down.
    state: AtomicUsize,
    termination: Termination,
    cancels: Arc<ShutdownCancels>,
}

const SHUTDOWN: usize = 1;
const ONE_TASK: usize = 2;

/// Its state is behind atomics and locks that no user code runs under.
impl UnwindSafe for DirectExecutor {}
impl RefUnwindSafe for DirectExecutor {}

impl DirectExecutor {
    /// Creates an executor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Executor for DirectExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        /// A guard that counts the end of the task, also when it panics.
        struct Ended<'a>(&'a DirectExecutor);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                if self.0.state.fetch_sub(ONE_TASK, Ordering::SeqCst) == SHUTDOWN + ONE_TASK {
                    self.0.termination.signal();
                }
            }
        }
        let begun = self
            .state
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |state| {
                (state & SHUTDOWN == 0).then_some(state + ONE_TASK)
            });
        if begun.is_err() {
            return Err(RejectedExecution::new(task, RejectionReason::Shutdown));
        }
        let _ended = Ended(self);
        task.run();
        Ok(())
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        Some(Arc::clone(&self.cancels))
    }
}

impl ExecutorService for DirectExecutor {
    fn shutdown(&self) {
        let was_idle = self.state.fetch_or(SHUTDOWN, Ordering::SeqCst) == 0;
        self.cancels.shut_down(Cancellation::Shutdown);
        if was_idle {
            self.termination.signal();
        }
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        Some(self.cancels.count())
    }

    /// Does the same as [`shutdown`](ExecutorService::shutdown): nothing is ever queued, and what
    /// runs belongs to its submitters. Returns no tasks.
    fn shutdown_now(&self) -> Vec<Task> {
        self.shutdown();
        Vec::new()
    }

    fn is_shutdown(&self) -> bool {
        self.state.load(Ordering::SeqCst) & SHUTDOWN != 0
    }

    fn is_terminated(&self) -> bool {
        self.termination.is_signalled()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.termination.wait(timeout)
    }
}
