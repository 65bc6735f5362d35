//! The extension trait of every executor.

use std::error::Error;
use std::time::Duration;

use super::group::TaskGroup;
use super::invoke::{InvokeError, invoke_all, invoke_any};
use super::scope::Scope;
use super::submission::{Submission, build_fallible};
use crate::executor::{Executor, RejectedExecution};
use crate::sync::Deadline;
use crate::task::{Task, TaskBuilder, TaskHandle, TaskId};

/// Methods that submit closures; implemented for every executor, including `dyn Executor`.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// pool.execute(|| println!("no handle, no result")).unwrap();
/// let answer = pool.submit(|| 6 * 7).unwrap();
/// assert_eq!(answer.join().unwrap(), 42);
/// let fastest = pool.invoke_any([|| "first", || "second"]);
/// assert!(fastest.is_ok());
/// ```
#[doc(alias = "AbstractExecutorService")]
pub trait Submit: Executor {
    /// Creates a submission with options for its task: a name, a priority, an attachment.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let report = pool.task().name("report").priority(-1).submit(|| 6 * 7).unwrap();
    /// assert_eq!(report.join().unwrap(), 42);
    /// ```
    #[inline]
    fn task(&self) -> Submission<'_, Self> {
        Submission::new(self)
    }

    /// Submits the closure, and returns the id of its task.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) -> Result<TaskId, RejectedExecution> {
        self.task().execute(body)
    }

    /// Submits the closure, and returns the handle to its value.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        self.task().submit(body)
    }

    /// Submits the closure with this input, and returns the id of its task.
    ///
    /// If the executor rejects the task, the input can be taken back, with
    /// [`RejectedExecution::into_input`]; and likewise from a task that `shutdown_now` returns, with
    /// [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    fn execute_with<I: Send + 'static>(
        &self,
        input: I,
        body: impl FnOnce(I) + Send + 'static,
    ) -> Result<TaskId, RejectedExecution> {
        self.task().execute_with(input, body)
    }

    /// Submits the closure with this input, and returns the handle to its value.
    ///
    /// If the executor rejects the task, the input can be taken back, with
    /// [`RejectedExecution::into_input`]; and likewise from a task that `shutdown_now` returns, with
    /// [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit_with<I: Send + 'static, T: Send + 'static>(
        &self,
        input: I,
        body: impl FnOnce(I) -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        self.task().submit_with(input, body)
    }

    /// Submits the closure, and returns the handle to a value that is known already.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    #[doc(alias = "submit")]
    #[doc(alias = "callable")]
    fn submit_with_result<T: Send + 'static>(
        &self,
        body: impl FnOnce() + Send + 'static,
        value: T,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        self.submit(move || {
            body();
            value
        })
    }

    /// Submits the closure, and returns the handle to its value; an error that the closure returns
    /// is the failure of the task, as a panic is.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit_fallible<T, E>(
        &self,
        body: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task().submit_fallible(body)
    }

    /// Runs the body on this thread with a scope, in which it can spawn closures that borrow; returns when
    /// none of them exists any more, not running, not queued, nor kept by anyone.
    ///
    /// It has the shape of [`std::thread::scope`]; see [`TaskGroup::scope`] for the details, and
    /// [`group`](Self::group) for scopes that end early.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let mut counts = [0; 2];
    /// let text = "how many words and lines";
    /// let [words, chars] = &mut counts;
    /// pool.scope(|s| {
    ///     s.spawn(|| *words = text.split(' ').count())?;
    ///     s.spawn(|| *chars = text.chars().count())?;
    ///     Ok::<_, windlass::RejectedExecution>(())
    /// })
    /// .unwrap();
    /// assert_eq!(counts, [5, 24]);
    /// ```
    ///
    /// A [`ForkJoinPool`](crate::ForkJoinPool) has a [`scope`](crate::ForkJoinPool::scope) of its own, whose
    /// closures are no tasks; there this one is `pool.group().scope(…)`.
    ///
    /// # Panics
    ///
    /// If the body panics; or if a closure does and nobody has seen its failure.
    ///
    /// # Deadlocks
    ///
    /// Waits for a task that an executor keeps and neither runs nor drops, until it is cancelled.
    #[doc(alias = "StructuredTaskScope")]
    fn scope<'env, F, R>(&'env self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        self.group().scope(body)
    }

    /// Creates a scope with options: its tasks are cancelled together, by the first failure, by the first
    /// success, or by a time limit.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let mirrors = ["eu", "us"];
    /// let fastest = pool.group().first_success().scope(|s| {
    ///     let tasks = mirrors.each_ref().map(|mirror| s.spawn(|| mirror.len()).unwrap());
    ///     s.join_first(tasks)
    /// });
    /// assert_eq!(fastest.unwrap(), 2);
    /// ```
    fn group(&self) -> TaskGroup<'_, Self> {
        TaskGroup::new(self)
    }

    /// Calls the closure with every item, in tasks; returns the values in the order of the items. Items and
    /// closure may borrow.
    ///
    /// A bounded number of items is in flight at any time; see [`TaskGroup::map`] for this and other
    /// options. The first panic cancels the rest.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let words = vec![String::from("borrowed"), String::from("words")];
    /// assert_eq!(pool.map(&words, |word| word.len()).unwrap(), [8, 5]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`TaskGroup::map`].
    fn map<I, R, F>(&self, items: I, f: F) -> Result<Vec<R>, InvokeError>
    where
        I: IntoIterator<Item: Send>,
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        self.group().map(items, f)
    }

    /// Calls the closure with every item, as [`map`](Self::map); the first error that it returns cancels the
    /// rest too.
    ///
    /// # Errors
    ///
    /// As [`TaskGroup::map`].
    fn map_fallible<I, R, X, F>(&self, items: I, f: F) -> Result<Vec<R>, InvokeError>
    where
        I: IntoIterator<Item: Send>,
        R: Send,
        X: Into<Box<dyn Error + Send + Sync>>,
        F: Fn(I::Item) -> Result<R, X> + Sync,
    {
        self.group().map_fallible(items, f)
    }

    /// Runs the future on this executor, and returns the handle to its value.
    ///
    /// The handle is that of any task: it blocks, times out, is awaited, shared and cancelled.
    ///
    /// The executor runs each poll as a task of its own, with the id, the name and the priority of the
    /// handle: hooks see each poll and statistics count each. At most one poll is queued, however often the
    /// future is woken. Wake-ups need an executor that lives as long, so the future keeps a clone of it:
    /// pools can be cloned, others are put into an `Arc`.
    ///
    /// | the handle completes | when |
    /// |---|---|
    /// | with the value | the future is ready |
    /// | with the failure | it panics |
    /// | cancelled as `Requested`, `Token` or `Parent` | it is cancelled; a last poll drops the future on the executor |
    /// | cancelled as `Expired` | it was not polled before its deadline, or in its queue time |
    /// | cancelled as `TimedOut` | its run limit is over |
    /// | cancelled as `Shutdown` or `Rejected` | the executor rejects a wake-up; the future is dropped |
    /// | cancelled as `Drained` or `Removed` | the task of a poll was returned by the pool, and dropped |
    /// | cancelled as `Dropped` | the future is pending and nobody can wake it any more |
    ///
    /// While it is polled its state is [`Running`](crate::task::TaskState::Running), `cancel_now` interrupts the
    /// thread that polls it, and [`task::current`](crate::task::current) is its task. Between two polls its state is
    /// [`Queued`](crate::task::TaskState::Queued). A wake-up is a submission by the thread that wakes, with all
    /// that the policy of the pool does if it is full.
    ///
    /// The limits of a task, its own or those of the pool, are those of the future as a whole. A deadline and a
    /// limit of the queue time are for the first poll. The run limit counts from the first poll on, the time between two
    /// polls included: when it is over, a poll under way is interrupted, and the future is dropped when it returns; one
    /// that is suspended is dropped at once, by a last poll on the executor.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let input = pool.submit(|| 6).unwrap();
    /// let answer = pool.spawn_async(async { input.await.unwrap() * 7 }).unwrap();
    /// assert_eq!(answer.join().unwrap(), 42);
    /// ```
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task of the first poll and the handle.
    #[cfg(feature = "async")]
    fn spawn_async<F>(
        &self,
        future: F,
    ) -> Result<TaskHandle<F::Output>, RejectedExecution<TaskHandle<F::Output>>>
    where
        Self: Clone + 'static,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.task().spawn_async(future)
    }

    /// Runs the future as [`spawn_async`](Self::spawn_async); an error that it returns is the failure of the
    /// task.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task of the first poll and the handle.
    #[cfg(feature = "async")]
    fn spawn_async_fallible<T, E, F>(
        &self,
        future: F,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        Self: Clone + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task().spawn_async_fallible(future)
    }

    /// Submits all closures and waits for all of them; returns their handles, in order, all done.
    ///
    /// A handle whose task panicked has the failure.
    ///
    /// # Errors
    ///
    /// [`InvokeError::Rejected`] or [`InvokeError::Interrupted`]; the submitted tasks are cancelled,
    /// and interrupted if they run.
    fn invoke_all<T, F, I>(&self, bodies: I) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_all(self, plain(self, bodies), None)
    }

    /// Submits all closures as [`invoke_all`](Self::invoke_all), and waits no longer than `timeout`.
    /// Then tasks that are not done are cancelled and interrupted, and all handles are returned, all
    /// done.
    ///
    /// The limit covers the submission too: [`BlockPolicy`](crate::pool::BlockPolicy) waits no longer,
    /// and [`CallerRunsPolicy`](crate::pool::CallerRunsPolicy) runs the task on a thread of its own.
    /// Only an executor that runs every task on its submitter's thread checks the limit between tasks.
    ///
    /// # Errors
    ///
    /// As [`invoke_all`](Self::invoke_all).
    fn invoke_all_timeout<T, F, I>(
        &self,
        bodies: I,
        timeout: Duration,
    ) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        let deadline = Some(Deadline::after(timeout));
        invoke_all(self, plain(self, bodies), deadline)
    }

    /// Submits all closures as [`invoke_all`](Self::invoke_all); an error that a closure returns is
    /// the failure of its task.
    ///
    /// # Errors
    ///
    /// As [`invoke_all`](Self::invoke_all).
    fn invoke_all_fallible<T, E, F, I>(&self, bodies: I) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_all(self, fallible(self, bodies), None)
    }

    /// Submits all closures as [`invoke_all_timeout`](Self::invoke_all_timeout); an error that a
    /// closure returns is the failure of its task.
    ///
    /// # Errors
    ///
    /// As [`invoke_all`](Self::invoke_all).
    fn invoke_all_fallible_timeout<T, E, F, I>(
        &self,
        bodies: I,
        timeout: Duration,
    ) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        let deadline = Some(Deadline::after(timeout));
        invoke_all(self, fallible(self, bodies), deadline)
    }

    /// Runs closures until one succeeds, and returns its value; the others are cancelled, and
    /// interrupted if they run. A closure fails by a panic.
    ///
    /// They are submitted one by one; none is submitted after a task has ended successfully.
    ///
    /// # Errors
    ///
    /// [`InvokeError::Failed`] with the last failure if none succeeds, [`InvokeError::Empty`] if
    /// there is none, [`InvokeError::Rejected`] or [`InvokeError::Interrupted`].
    fn invoke_any<T, F, I>(&self, bodies: I) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_any(self, plain(self, bodies), None)
    }

    /// Runs closures as [`invoke_any`](Self::invoke_any), and waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`invoke_any`](Self::invoke_any), or [`InvokeError::TimedOut`].
    fn invoke_any_timeout<T, F, I>(&self, bodies: I, timeout: Duration) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        let deadline = Some(Deadline::after(timeout));
        invoke_any(self, plain(self, bodies), deadline)
    }

    /// Runs closures as [`invoke_any`](Self::invoke_any); a closure also fails by returning an error.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let parsed = pool.invoke_any_fallible(["one", "2"].map(|text| || text.parse::<u32>()));
    /// assert_eq!(parsed.unwrap(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`invoke_any`](Self::invoke_any).
    fn invoke_any_fallible<T, E, F, I>(&self, bodies: I) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_any(self, fallible(self, bodies), None)
    }

    /// Runs closures as [`invoke_any_fallible`](Self::invoke_any_fallible), and waits no longer than
    /// `timeout`.
    ///
    /// # Errors
    ///
    /// As [`invoke_any`](Self::invoke_any), or [`InvokeError::TimedOut`].
    fn invoke_any_fallible_timeout<T, E, F, I>(
        &self,
        bodies: I,
        timeout: Duration,
    ) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        let deadline = Some(Deadline::after(timeout));
        invoke_any(self, fallible(self, bodies), deadline)
    }
}

impl<E: Executor + ?Sized> Submit for E {}

/// Creates a task for each closure.
fn plain<X, T, F>(
    executor: &X,
    bodies: impl IntoIterator<Item = F>,
) -> impl Iterator<Item = (Task, TaskHandle<T>)>
where
    X: Executor + ?Sized,
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let create = |body| executor.prepare(TaskBuilder::new()).build_with_handle(body);
    bodies.into_iter().map(create)
}

/// Creates a task for each closure; it fails with the error that the closure returns.
fn fallible<X, T, E, F>(
    executor: &X,
    bodies: impl IntoIterator<Item = F>,
) -> impl Iterator<Item = (Task, TaskHandle<T>)>
where
    X: Executor + ?Sized,
    T: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce() -> Result<T, E> + Send + 'static,
{
    let create = |body| build_fallible(executor.prepare(TaskBuilder::new()), body);
    bodies.into_iter().map(create)
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Submit;
    use crate::executor::{Executor, RejectedExecution};
    use crate::queue::{BlockingQueue, LinkedBlockingQueue};
    use crate::sync::{UnsafeCell, model, thread};
    use crate::task::Task;

    /// An executor whose queue one thread of the model empties.
    struct OneThread(LinkedBlockingQueue<Task>);

    impl Executor for OneThread {
        fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
            assert!(self.0.offer(task).is_ok());
            Ok(())
        }
    }

    /// The submitter and the task write the cell, and the getter reads it. Only the submission and the
    /// get order these accesses: without the ordering the model reports a data race.
    ///
    /// ES-014
    #[test]
    fn writes_before_submission_reach_the_task_and_its_writes_reach_the_getter() {
        model(|| {
            let executor = Arc::new(OneThread(LinkedBlockingQueue::new()));
            let worker = {
                let executor = Arc::clone(&executor);
                thread::Builder::new()
                    .spawn(move || executor.0.take().unwrap().run())
                    .unwrap()
            };
            let cell = UnsafeCell::new(());
            cell.with_mut(|_| ());
            let body = move || {
                cell.with_mut(|_| ());
                cell
            };
            let cell = executor.submit(body).unwrap().get().unwrap();
            cell.with(|_| ());
            worker.join().unwrap();
        });
    }
}
