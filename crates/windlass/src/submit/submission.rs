//! The options of one submission.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::rejected_spawn::RejectedSpawn;
use super::scope::Scope;
use super::scoped_handle::ScopedHandle;
use crate::executor::{Executor, RejectedExecution};
use crate::task::{Failure, Task, TaskBuilder, TaskHandle, TaskId};

/// A submission to an executor with options for its task: a name, a priority, an attachment.
///
/// [`Submit::task`](crate::Submit::task) creates it. The options take precedence over what
/// [`Executor::prepare`] sets.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let report = pool.task().name("report").priority(-1).submit(|| 6 * 7).unwrap();
/// assert_eq!(report.name(), Some("report"));
/// assert_eq!(report.join().unwrap(), 42);
/// ```
#[must_use = "nothing is submitted until `execute` or `submit`"]
pub struct Submission<'a, E: ?Sized> {
    executor: &'a E,
    task: TaskBuilder,
}

impl<'a, E: Executor + ?Sized> Submission<'a, E> {
    #[inline]
    pub(super) fn new(executor: &'a E) -> Self {
        Self {
            executor,
            task: executor.prepare(TaskBuilder::new()),
        }
    }

    /// Sets the name of the task, which hooks, logs and `Debug` output show.
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        self.map(|task| task.name(name))
    }

    /// Sets the priority of the task: less is more urgent, the default is zero.
    ///
    /// It orders a [`PriorityBlockingQueue`](crate::queue::PriorityBlockingQueue).
    pub fn priority(self, priority: i32) -> Self {
        self.map(|task| task.priority(priority))
    }

    /// Attaches a value to the task. Its handle, hooks and the task itself have a method to read it.
    pub fn attach(self, value: impl Any + Send + Sync) -> Self {
        self.map(|task| task.attach(value))
    }

    fn map(mut self, change: impl FnOnce(TaskBuilder) -> TaskBuilder) -> Self {
        self.task = change(self.task);
        self
    }

    /// Submits the closure, and returns the id of its task.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    #[inline]
    pub fn execute(
        self,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<TaskId, RejectedExecution> {
        let task = self.task.build(body);
        let id = task.id();
        self.executor.execute_task(task).map(|()| id)
    }

    /// Submits the closure, and returns the handle to its value.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    #[inline]
    pub fn submit<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        let (executor, task) = self.into_parts();
        execute_with_handle(executor, task.build_with_handle(body))
    }

    /// Submits the closure with this input, and returns the id of its task.
    ///
    /// From a rejected task the input can be taken back, with [`RejectedExecution::into_input`], and
    /// from one that `shutdown_now` returns, with [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn execute_with<I: Send + 'static>(
        self,
        input: I,
        body: impl FnOnce(I) + Send + 'static,
    ) -> Result<TaskId, RejectedExecution> {
        let task = self.task.build_with_input(input, body);
        let id = task.id();
        self.executor.execute_task(task).map(|()| id)
    }

    /// Submits the closure with this input, and returns the handle to its value.
    ///
    /// From a rejected task the input can be taken back, with [`RejectedExecution::into_input`], and
    /// from one that `shutdown_now` returns, with [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn submit_with<I: Send + 'static, T: Send + 'static>(
        self,
        input: I,
        body: impl FnOnce(I) -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        let (executor, task) = self.into_parts();
        execute_with_handle(executor, task.build_with_input_and_handle(input, body))
    }

    /// Submits the closure, and returns the handle to its value; an error that the closure returns
    /// is the failure of the task, as a panic is.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn submit_fallible<T, X>(
        self,
        body: impl FnOnce() -> Result<T, X> + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        T: Send + 'static,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        execute_with_handle(executor, build_fallible(task, body))
    }

    /// Submits the closure, which may borrow, in a scope, and returns the handle to its value. The scope
    /// may be of another executor.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let rows = vec!["a", "b"];
    /// let count = pool.scope(|s| {
    ///     let count = pool.task().name("count").spawn(s, || rows.len()).unwrap();
    ///     assert_eq!(count.name(), Some("count"));
    ///     count.join().unwrap()
    /// });
    /// assert_eq!(count, 2);
    /// ```
    ///
    /// # Errors
    ///
    /// [`RejectedSpawn`], with the closure.
    pub fn spawn<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        body: F,
    ) -> Result<ScopedHandle<'scope, T>, RejectedSpawn<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (executor, task) = self.into_parts();
        scope.spawn_on(executor, task, body, |body| Ok(body()))
    }

    /// Returns the executor, and the builder of the task with all options.
    pub(crate) fn into_parts(self) -> (&'a E, TaskBuilder) {
        (self.executor, self.task)
    }
}

impl<E: ?Sized> fmt::Debug for Submission<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// Submits the task, and returns its handle, also inside a rejection.
#[inline]
fn execute_with_handle<E: Executor + ?Sized, T>(
    executor: &E,
    (task, handle): (Task, TaskHandle<T>),
) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
    match executor.execute_task(task) {
        Ok(()) => Ok(handle),
        Err(rejected) => Err(rejected.with_handle(handle)),
    }
}

/// Creates a task that fails with the error that its closure returns.
pub(super) fn build_fallible<T, X>(
    task: TaskBuilder,
    body: impl FnOnce() -> Result<T, X> + Send + 'static,
) -> (Task, TaskHandle<T>)
where
    T: Send + 'static,
    X: Into<Box<dyn Error + Send + Sync>>,
{
    task.build_fallible(move || body().map_err(Failure::from_error))
}
