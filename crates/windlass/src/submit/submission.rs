//! The options of one submission.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::rejected_spawn::RejectedSpawn;
use super::scope::Scope;
use super::scoped_handle::ScopedHandle;
#[cfg(feature = "async")]
use super::spawn_async;
use crate::executor::{Executor, RejectedExecution};
use crate::task::{CancelToken, Failure, Task, TaskBuilder, TaskHandle, TaskId};

/// A submission to an executor with options for its task: a name, a priority, an attachment, time
/// limits.
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

    /// Sets until when the task may start; then its handle reports
    /// [`Cancellation::Expired`](crate::task::Cancellation::Expired), at once, and it never runs.
    ///
    /// A thread pool [counts](crate::pool::PoolStats::expired_task_count) such tasks, and drops them
    /// when its queue is full. [`TaskBuilder::deadline`] says more.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use windlass::prelude::*;
    /// use windlass::task::Cancellation;
    /// # use windlass::testing::Gate;
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// # let gate = Gate::new();
    /// # let waits = gate.clone();
    /// # let long_computation = move || waits.pass();
    /// let busy = pool.submit(long_computation).unwrap();
    /// let soon = Instant::now() + Duration::from_millis(1);
    /// let mut answer = pool.task().deadline(soon).submit(|| 42).unwrap();
    /// let late = answer.get().unwrap_err();       // though the only worker is busy
    /// assert_eq!(late.cancellation(), Some(Cancellation::Expired));
    /// # gate.open();
    /// # drop(busy);
    /// ```
    pub fn deadline(self, deadline: Instant) -> Self {
        self.map(|task| task.deadline(deadline))
    }

    /// Sets how long the task may wait to be started, from now on, a scheduled task from when it is
    /// due; then it has expired, as at its [`deadline`](Self::deadline).
    pub fn queue_limit(self, limit: Duration) -> Self {
        self.map(|task| task.queue_limit(limit))
    }

    /// Sets how long a run of the task may take. One that takes longer is
    /// [interrupted](crate::interrupt), and its handle reports
    /// [`Cancellation::TimedOut`](crate::task::Cancellation::TimedOut), at once. A thread pool
    /// [counts](crate::pool::PoolStats::timed_out_task_count) such tasks.
    ///
    /// A task that ignores the interrupt keeps running, and keeps its worker.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::prelude::*;
    /// use windlass::{interrupt, task::Cancellation};
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// let slow = || interrupt::sleep(Duration::from_secs(3600)).is_err();
    /// let slow = pool.task().run_limit(Duration::from_millis(1)).submit(slow).unwrap();
    /// let late = slow.join().unwrap_err();
    /// assert_eq!(late.cancellation(), Some(Cancellation::TimedOut));
    /// ```
    pub fn run_limit(self, limit: Duration) -> Self {
        self.map(|task| task.run_limit(limit))
    }

    /// Lets the token cancel the task, in addition to others that were set before.
    ///
    /// A task with a handle is cancelled at once, as through its handle. One that is submitted with
    /// [`execute`](Self::execute) has none: it does not start, and one that has started is not disturbed.
    pub fn cancelled_by(self, token: &CancelToken) -> Self {
        self.map(|task| task.cancelled_by(token))
    }

    /// Lets the task that this code is part of, if there is one, cancel the new task with it, as
    /// [`Parent`](crate::task::Cancellation::Parent), and interrupt it if it runs.
    ///
    /// If that task ends in another way, the new one goes on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use windlass::prelude::*;
    /// use windlass::task::CancelToken;
    ///
    /// let pool = Arc::new(executors::fixed_thread_pool(2).unwrap());
    /// let (inner, waits) = (Arc::clone(&pool), CancelToken::new());
    /// let parent = pool.submit(move || {
    ///     let child = inner.task().as_child().submit(move || waits.wait()).unwrap();
    ///     child.join()
    /// });
    /// let parent = parent.unwrap();
    /// parent.cancel(); // the child is cancelled with it: no thread of the pool waits any more
    /// pool.close();
    /// ```
    pub fn as_child(self) -> Self {
        self.map(TaskBuilder::as_child)
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
        if self.task.has_options() {
            return self.execute_with_options(body);
        }
        let task = TaskBuilder::build_plain(body);
        let id = task.id();
        self.executor.execute_task(task).map(|()| id)
    }

    // With a call of its own to the executor: where both ways meet, a task is in memory, and the words that
    // the closure has just been stored in are loaded in pairs, which stalls.
    #[cold]
    #[inline(never)]
    fn execute_with_options(
        self,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<TaskId, RejectedExecution> {
        let (executor, task) = self.into_parts();
        let task = task.build(body);
        let id = task.id();
        executor.execute_task(task).map(|()| id)
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
        let (executor, task) = self.into_parts();
        let task = task.build_with_input(input, body);
        let id = task.id();
        executor.execute_task(task).map(|()| id)
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

    /// Submits the closure, which may borrow, in a scope, and returns the handle to its value; an error that
    /// the closure returns is the failure of the task, as a panic is. The scope may be of another executor.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let rows = ["1", "two"];
    /// let sum = pool.group().fail_fast().scope(|s| {
    ///     let parse = |row: &'static str| move || row.parse::<u32>();
    ///     let tasks = rows.map(|row| pool.task().name(row).spawn_fallible(s, parse(row)).unwrap());
    ///     s.join_all(tasks)
    /// });
    /// assert!(sum.unwrap_err().is_failed());
    /// ```
    ///
    /// # Errors
    ///
    /// [`RejectedSpawn`], with the closure.
    pub fn spawn_fallible<'scope, F, T, X>(
        self,
        scope: &'scope Scope<'scope, '_>,
        body: F,
    ) -> Result<ScopedHandle<'scope, T>, RejectedSpawn<F>>
    where
        F: FnOnce() -> Result<T, X> + Send + 'scope,
        T: Send + 'scope,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let call = |body: F| body().map_err(Failure::from_error);
        scope.spawn_on(executor, task, body, call)
    }

    /// Runs the future on the executor, and returns the handle to its value; see
    /// [`Submit::spawn_async`](crate::Submit::spawn_async).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task of the first poll and the handle.
    #[cfg(feature = "async")]
    pub fn spawn_async<F>(
        self,
        future: F,
    ) -> Result<TaskHandle<F::Output>, RejectedExecution<TaskHandle<F::Output>>>
    where
        E: Clone + 'static,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (executor, task) = self.into_parts();
        spawn_async::spawn(executor, task, async move { Ok(future.await) })
    }

    /// Runs the future on the executor, and returns the handle to its value; an error is the failure of the
    /// task. See [`Submit::spawn_async`](crate::Submit::spawn_async).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task of the first poll and the handle.
    #[cfg(feature = "async")]
    pub fn spawn_async_fallible<T, X, F>(
        self,
        future: F,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        E: Clone + 'static,
        F: Future<Output = Result<T, X>> + Send + 'static,
        T: Send + 'static,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let future = async move { future.await.map_err(Failure::from_error) };
        spawn_async::spawn(executor, task, future)
    }

    /// Returns the executor, and the builder of the task with all options.
    #[inline]
    pub(crate) fn into_parts(self) -> (&'a E, TaskBuilder) {
        let Self { executor, task } = self;
        if task.has_limits() {
            return (executor, task.limit_owner(executor.limit_owner()));
        }
        (executor, task)
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
