//! The half of a task that waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::cell::Ref;
use super::control::{TaskControl, TaskState};
use super::error::{Cancellation, ExecutionError};
use super::id::TaskId;
use super::runnable::{Awaitable, Runnable};
use super::shared::SharedHandle;
use super::state::CancelMode;
use super::timer::Timer;
use crate::sync::Deadline;

/// The key of the one waker that the one handle of a task registers.
const ONLY_WAKER: u64 = 0;

/// Waits for a task and gets its value.
///
/// **Dropping the handle detaches the task**: it runs all the same, and its value is dropped. For
/// the other way see [`cancel_on_drop`](Self::cancel_on_drop).
///
/// The handle is a [`Future`]: `.await` it from any runtime, or block on it with
/// [`get`](Self::get). It gives the value once, by value; for any number of readers and waiting
/// threads, [`share`](Self::share) it.
///
/// ```
/// use std::time::Duration;
/// use windlass::task::Task;
///
/// let (task, mut handle) = Task::with_handle(|| "done");
/// assert!(handle.get_timeout(Duration::ZERO).unwrap_err().is_timed_out());
/// task.run();
/// assert_eq!(handle.get().unwrap(), "done");
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
#[doc(alias = "Future")]
pub struct TaskHandle<T> {
    task: Ref<dyn Awaitable<T>>,
}

impl<T> TaskHandle<T> {
    /// When the task is due, where that is later than now.
    pub(crate) fn timer(&self) -> Option<&Timer> {
        self.task.timer()
    }
}

impl<T: Send + 'static> TaskHandle<T> {
    #[inline]
    pub(super) fn new(task: Ref<dyn Awaitable<T>>) -> Self {
        Self { task }
    }

    /// Waits for the task and gives its value.
    ///
    /// On a task that is done this answers at once, whatever the thread's interrupt flag.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Failed`], [`Cancelled`](ExecutionError::Cancelled), or
    /// [`Interrupted`](ExecutionError::Interrupted) if the waiting thread is interrupted; then the
    /// handle can be used again. [`Taken`](ExecutionError::Taken) if an earlier call got the value.
    ///
    /// # Deadlocks
    ///
    /// A worker that waits for a task behind it in the queue of its own pool may wait for ever.
    pub fn get(&mut self) -> Result<T, ExecutionError> {
        self.get_by(Deadline::Never)
    }

    /// Waits for the task, but no longer than `timeout`, and gives its value.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), or [`ExecutionError::TimedOut`]: the value is not lost, and can be
    /// had by a later call.
    #[doc(alias = "get")]
    pub fn get_timeout(&mut self, timeout: Duration) -> Result<T, ExecutionError> {
        self.get_by(Deadline::after(timeout))
    }

    fn get_by(&mut self, deadline: Deadline) -> Result<T, ExecutionError> {
        loop {
            if let Some(outcome) = self.task.take_outcome() {
                return outcome;
            }
            self.task.head().wait(deadline)?;
        }
    }

    /// The outcome if the task is done, without waiting; `None` if it is not.
    #[doc(alias = "resultNow")]
    #[doc(alias = "exceptionNow")]
    pub fn try_get(&mut self) -> Option<Result<T, ExecutionError>> {
        self.task.take_outcome()
    }

    /// Waits for the end of the task, whatever it is; the outcome can be got afterwards.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Interrupted`].
    pub fn wait(&self) -> Result<(), ExecutionError> {
        self.task.head().wait(Deadline::Never)
    }

    /// Completes the task; false if it is done.
    pub(crate) fn complete(&self, outcome: Result<T, super::Failure>) -> bool {
        self.task.complete(outcome)
    }

    /// Runs the task on this thread, if nobody has started it.
    pub(crate) fn run_here(&self) {
        let _ = self.task.run();
    }

    /// Waits for the end of the task, but no longer than until the deadline.
    pub(crate) fn wait_by(&self, deadline: Deadline) -> Result<(), ExecutionError> {
        self.task.head().wait(deadline)
    }

    /// Waits for the end of the task, but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Interrupted`] or [`ExecutionError::TimedOut`].
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), ExecutionError> {
        self.task.head().wait(Deadline::after(timeout))
    }

    /// Cancels the task unless it is done; code that runs already is not disturbed.
    ///
    /// The task counts as done at once, and its later value is dropped. Gives false if it was done
    /// before.
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
    /// The interrupt reaches that thread while it runs this task, and never a later one. Gives
    /// false if it was done before.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "cancel")]
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

    /// Identifies the task; its runnable half has the same id.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task.head().header().id()
    }

    /// The name that the task was built with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.task.head().header().name()
    }

    /// Returns the value of type `S` that was attached to the task.
    #[must_use]
    pub fn attachment<S: 'static>(&self) -> Option<&S> {
        self.task.head().header().attachment()?.downcast_ref()
    }

    /// Calls `callback` when the task is done, at once if it is, with how it ended.
    ///
    /// It runs on the thread that completes the task, after all waiting threads have been
    /// released. If it panics, so does the call that completed the task.
    #[doc(alias = "done")]
    pub fn on_done(&self, callback: impl FnOnce(TaskState) + Send + 'static) {
        self.task
            .head()
            .on_done(Box::new(move |end| callback(end.into())));
    }

    /// A handle that can cancel the task and watch it, and be passed on.
    #[must_use]
    pub fn control(&self) -> TaskControl {
        TaskControl::new(self.task.clone().untyped())
    }

    /// Makes the task be cancelled, and its thread interrupted, when this handle is dropped.
    pub fn cancel_on_drop(self) -> Self {
        self.task.head().set_cancel_on_drop(true);
        self
    }

    /// Turns this into a handle that can be cloned, for any number of readers.
    ///
    /// Do so before the value has been taken: what is taken is gone. A shared handle detaches the
    /// task when it is dropped, also where this one was to cancel it.
    pub fn share(self) -> SharedHandle<T>
    where
        T: Sync,
    {
        self.task.head().set_cancel_on_drop(false);
        SharedHandle::new(self.task.clone())
    }
}

impl<T: Send + 'static> Future for TaskHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.task.head().poll_done(ONLY_WAKER, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(
            self.task
                .take_outcome()
                .unwrap_or(Err(ExecutionError::Taken)),
        )
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        let state = self.task.head().state();
        if state.is_awaited() {
            self.task.head().forget_waker(ONLY_WAKER);
        }
        if state.is_cancelled_on_drop() {
            crate::unwind::ignore_panic(|| {
                self.task
                    .cancel(CancelMode::Interrupt, Cancellation::HandleDropped);
            });
        }
    }
}

/// In the JDK's words: not completed, completed normally, completed exceptionally, cancelled.
impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::control::describe(
            "TaskHandle",
            self.task.head().header(),
            self.task.head().state(),
            None,
            f,
        )
    }
}
