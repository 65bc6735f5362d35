//! A handle for any number of readers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::cell::Ref;
use super::control::{TaskControl, TaskState};
use super::error::{Cancellation, ExecutionError, Failure};
use super::id::TaskId;
use super::runnable::{Awaitable, Runnable};
use super::state::CancelMode;
use crate::sync::Deadline;

/// Waits for a task together with others: every clone gets the value, as a clone of it.
///
/// Made by [`TaskHandle::share`](super::TaskHandle::share). Dropping it detaches the task.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, handle) = Task::with_handle(|| vec![1, 2, 3]);
/// let shared = handle.share();
/// task.run();
/// assert_eq!(shared.clone().get().unwrap(), [1, 2, 3]);
/// assert_eq!(shared.result_now().unwrap().len(), 3);
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
pub struct SharedHandle<T> {
    pub(super) task: Ref<dyn Awaitable<T>>,
    /// The key of this clone's waker, once it has been polled.
    key: Option<u64>,
}

impl<T: Send + Sync + 'static> SharedHandle<T> {
    pub(super) fn new(task: Ref<dyn Awaitable<T>>) -> Self {
        Self { task, key: None }
    }

    /// Waits for the task and gives a clone of its value.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Failed`], [`Cancelled`](ExecutionError::Cancelled), or
    /// [`Interrupted`](ExecutionError::Interrupted) if the waiting thread is interrupted.
    pub fn get(&self) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        self.get_by(Deadline::Never)
    }

    /// Waits for the task, but no longer than `timeout`, and gives a clone of its value.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), or [`ExecutionError::TimedOut`].
    pub fn get_timeout(&self, timeout: Duration) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        self.get_by(Deadline::after(timeout))
    }

    fn get_by(&self, deadline: Deadline) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        self.task.head().wait(deadline)?;
        self.task
            .outcome()
            .unwrap_or(Err(ExecutionError::Taken))
            .cloned()
    }

    /// The outcome if the task is done, without waiting; `None` if it is not.
    #[must_use]
    pub fn try_get(&self) -> Option<Result<&T, ExecutionError>> {
        self.task.outcome()
    }

    /// The value, if the task is done and has one.
    #[must_use]
    #[doc(alias = "resultNow")]
    pub fn result_now(&self) -> Option<&T> {
        self.try_get()?.ok()
    }

    /// The failure, if the task is done and has failed.
    #[must_use]
    #[doc(alias = "exceptionNow")]
    pub fn failure_now(&self) -> Option<Failure> {
        self.try_get()?.err()?.into_failure()
    }

    /// Waits for the end of the task, whatever it is.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Interrupted`].
    pub fn wait(&self) -> Result<(), ExecutionError> {
        self.task.head().wait(Deadline::Never)
    }

    /// Cancels the task unless it is done; code that runs already is not disturbed.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn cancel(&self) -> bool {
        self.task
            .cancel(CancelMode::LetRun, Cancellation::Requested)
    }

    /// Cancels the task unless it is done; the thread that runs it is interrupted.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn cancel_now(&self) -> bool {
        self.task
            .cancel(CancelMode::Interrupt, Cancellation::Requested)
    }

    /// Whether the task has ended, in whatever way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.task.head().state().is_done()
    }

    /// Whether the task was cancelled or will never run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.task.head().state().is_cancelled()
    }

    /// How far the task has come.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.task.head().state().into()
    }

    /// Identifies the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task.head().header().id()
    }

    /// Calls `callback` when the task is done, at once if it is, with how it ended.
    ///
    /// See [`TaskHandle::on_done`](super::TaskHandle::on_done).
    pub fn on_done(&self, callback: impl FnOnce(TaskState) + Send + 'static) {
        self.task
            .head()
            .on_done(Box::new(move |end| callback(end.into())));
    }

    /// A handle that can cancel the task and watch it, without its type.
    #[must_use]
    pub fn control(&self) -> TaskControl {
        TaskControl::new(self.task.clone().untyped())
    }
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        Self {
            task: self.task.clone(),
            key: None,
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Future for SharedHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key.unwrap_or_else(|| self.task.head().new_key());
        self.key = Some(key);
        if !self.task.head().poll_done(key, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(
            self.task
                .outcome()
                .unwrap_or(Err(ExecutionError::Taken))
                .cloned(),
        )
    }
}

impl<T> Drop for SharedHandle<T> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.task.head().forget_waker(key);
        }
    }
}

impl<T: Send + Sync + 'static> SharedHandle<T> {
    /// Writes the task in the JDK's words, with the cause where it failed.
    pub(super) fn describe(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = self.failure_now();
        super::control::describe(
            kind,
            self.task.head().header(),
            self.task.head().state(),
            cause.as_ref(),
            f,
        )
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("SharedHandle", f)
    }
}
