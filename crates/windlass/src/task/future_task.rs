//! Both halves of a task in one shared object, for those who run tasks themselves.

use std::fmt;
use std::time::Duration;

use super::body::{Body, Repeating};
use super::cell::{Cell, Ref};
use super::control::TaskState;
use super::error::{ExecutionError, Failure};
use super::header::Header;
use super::id::TaskId;
use super::runnable::{RunOutcome, Runnable};
use super::shared::SharedHandle;
use super::{Task, TaskBuilder};

/// A task that anyone who has a clone of it can run, complete, cancel and wait for.
///
/// The first completion wins: a run, [`complete`](Self::complete), [`fail`](Self::fail) or a cancel. What
/// comes later changes nothing.
///
/// Unlike a [`Task`], it is not cancelled when it is dropped unrun: as long as a clone exists,
/// somebody may still run it. Its [`task`](Self::task) is a runnable half that an executor can
/// take.
///
/// ```
/// use windlass::task::FutureTask;
///
/// let answer = FutureTask::new(|| 6 * 7);
/// let waiter = std::thread::spawn({
///     let answer = answer.clone();
///     move || answer.get()
/// });
/// answer.run();
/// assert_eq!(waiter.join().unwrap().unwrap(), 42);
/// assert!(!answer.complete(0));
/// ```
#[doc(alias = "RunnableFuture")]
pub struct FutureTask<T>(SharedHandle<T>);

impl<T: Send + Sync + 'static> FutureTask<T> {
    /// Makes a task whose code runs at most once.
    pub fn new(body: impl FnOnce() -> T + Send + 'static) -> Self {
        TaskBuilder::new().build_future_task(body)
    }

    /// Makes a task whose code can run many times, with [`run_and_reset`](Self::run_and_reset).
    pub fn repeating(mut body: impl FnMut() -> T + Send + 'static) -> Self {
        let header = Header::new(TaskId::next(), None);
        Self::of_cell(Cell::new(header, Repeating(move || Ok(body()))))
    }

    pub(super) fn of_cell<B: Body<T> + 'static>(cell: Ref<Cell<T, B>>) -> Self {
        Self(SharedHandle::new(cell.awaitable()))
    }

    /// Runs the task on this thread, unless it is done or runs already.
    ///
    /// # Panics
    ///
    /// If a done-callback panics; the failure of the task itself goes to those who get it.
    pub fn run(&self) {
        let _ = self.0.task.run();
    }

    /// Runs the task without keeping a value, so that it can run again.
    ///
    /// Gives false if it did not run (it is done, or runs already, or its code can run only once),
    /// or has failed, which completes it.
    ///
    /// # Panics
    ///
    /// If the task fails and a done-callback panics.
    pub fn run_and_reset(&self) -> bool {
        matches!(self.0.task.run_and_reset(), RunOutcome::Completed)
    }

    /// Completes the task with a value; false, and the value is dropped, if it is done.
    ///
    /// Code that runs already is not disturbed.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "set")]
    pub fn complete(&self, value: T) -> bool {
        self.0.task.complete(Ok(value))
    }

    /// Completes the task with a failure; false if it is done.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "setException")]
    pub fn fail(&self, failure: Failure) -> bool {
        self.0.task.complete(Err(failure))
    }

    /// A runnable half, for an executor to run. If it is dropped unrun, the task is cancelled, unless
    /// it runs already.
    pub fn task(&self) -> Task {
        Task::of_cell(self.0.task.clone())
    }

    /// A handle that waits for the task, without the power to run or complete it.
    pub fn handle(&self) -> SharedHandle<T> {
        self.0.clone()
    }

    /// Waits for the task and gives a clone of its value.
    ///
    /// # Errors
    ///
    /// As [`SharedHandle::get`].
    pub fn get(&self) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        self.0.get()
    }

    /// Waits for the task, but no longer than `timeout`, and gives a clone of its value.
    ///
    /// # Errors
    ///
    /// As [`SharedHandle::get_timeout`].
    pub fn get_timeout(&self, timeout: Duration) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        self.0.get_timeout(timeout)
    }

    /// The value, if the task is done and has one.
    #[must_use]
    pub fn result_now(&self) -> Option<&T> {
        self.0.result_now()
    }

    /// The failure, if the task is done and has failed.
    #[must_use]
    pub fn failure_now(&self) -> Option<Failure> {
        self.0.failure_now()
    }

    /// Cancels the task unless it is done; code that runs already is not disturbed.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn cancel(&self) -> bool {
        self.0.cancel()
    }

    /// Cancels the task unless it is done; the thread that runs it is interrupted.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn cancel_now(&self) -> bool {
        self.0.cancel_now()
    }

    /// Whether the task has ended, in whatever way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Whether the task was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// How far the task has come.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.0.state()
    }

    /// Identifies the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.0.id()
    }

    /// Calls `callback` when the task is done, at once if it is, with how it ended.
    ///
    /// See [`TaskHandle::on_done`](super::TaskHandle::on_done).
    pub fn on_done(&self, callback: impl FnOnce(TaskState) + Send + 'static) {
        self.0.on_done(callback);
    }
}

impl<T> Clone for FutureTask<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// In the JDK's words: not completed, completed normally, completed exceptionally, cancelled.
impl<T: Send + Sync + 'static> fmt::Debug for FutureTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("FutureTask", f)
    }
}
