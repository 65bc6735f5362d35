//! An executor whose tasks run in the context of their submitter.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::rejected::RejectedExecution;
use super::running::RunningTask;
use super::service::{Executor, ExecutorService};
use super::shutdown_cancels::ShutdownCancels;
use crate::interrupt::Interrupted;
use crate::task::{LimitOwner, Propagate, Sources, Task, TaskBuilder};

/// An executor that adds the context of the submitter to the tasks of another executor.
///
/// The pools have this built in, as `propagate` of their builders; this is for executors without one.
///
/// ```
/// use std::cell::Cell;
/// use windlass::context::{self, Propagating};
/// use windlass::executors::ThreadPerTaskExecutor;
/// use windlass::prelude::*;
///
/// thread_local! {
///     static REQUEST: Cell<u64> = const { Cell::new(0) };
/// }
///
/// let threads = Propagating::new(ThreadPerTaskExecutor::new(), context::copied(&REQUEST));
/// REQUEST.set(7);
/// assert_eq!(threads.submit(|| REQUEST.get()).unwrap().join().unwrap(), 7);
/// ```
#[derive(Debug, Clone)]
pub struct Propagating<E> {
    executor: E,
    sources: Sources,
}

impl<E> Propagating<E> {
    /// Wraps the executor with a source of context.
    pub fn new(executor: E, source: impl Propagate + 'static) -> Self {
        let mut sources = Sources::default();
        sources.add(source);
        Self { executor, sources }
    }

    /// Adds a source of context, which is entered inside the former ones.
    #[must_use]
    pub fn propagate(mut self, source: impl Propagate + 'static) -> Self {
        self.sources.add(source);
        self
    }

    /// Returns the executor that runs the tasks.
    pub const fn executor(&self) -> &E {
        &self.executor
    }
}

impl<E: Executor> Executor for Propagating<E> {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.executor.execute_task(task)
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.sources.prepare(self.executor.prepare(task))
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        self.executor.limit_owner()
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.executor.shutdown_cancels()
    }
}

impl<E: ExecutorService> ExecutorService for Propagating<E> {
    fn shutdown(&self) {
        self.executor.shutdown();
    }

    fn shutdown_now(&self) -> Vec<Task> {
        self.executor.shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.executor.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.executor.is_terminated()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.executor.await_termination(timeout)
    }

    fn running_tasks(&self) -> Vec<RunningTask> {
        self.executor.running_tasks()
    }

    fn completed_count(&self) -> Option<u64> {
        self.executor.completed_count()
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        self.executor.cancelled_by_shutdown()
    }

    fn is_terminating(&self) -> bool {
        self.executor.is_terminating()
    }

    fn close(&self) {
        self.executor.close();
    }
}

/// Sources are called with no data of the library borrowed.
impl<E: UnwindSafe> UnwindSafe for Propagating<E> {}
impl<E: RefUnwindSafe> RefUnwindSafe for Propagating<E> {}
