//! The half of a task that waits for its value.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::cell_ref::{Ref, TypedHead};
use super::control::TaskControl;
use super::error::{Cancellation, ExecutionError, Failure};
use super::handle_methods::{
    Handle, OwningHandle, ShareableHandle, handle_methods, owning_handle_methods,
};
use super::head::Head;
use super::runnable::{Awaitable, RunOutcome, Untyped};
use super::shared::SharedHandle;
use super::timer::TimerView;
use super::transition::CancelMode;
use super::waiters::WakerKey;
use crate::unwind::ignore_panic;

/// The handle of a task, which owns its value.
///
/// **Dropping the handle detaches the task**: it still runs, and its value is dropped. See
/// [`cancel_on_drop`](Self::cancel_on_drop) for the alternative.
///
/// The handle is a [`Future`]: `.await` it from any runtime, or block on it with
/// [`join`](Self::join) or [`get`](Self::get). It moves the value out once; for any number of readers,
/// [`share`](Self::share) it.
///
/// ```
/// use std::time::Duration;
/// use windlass::task::Task;
///
/// let (task, mut handle) = Task::with_handle(|| "done");
/// assert!(handle.get_timeout(Duration::ZERO).unwrap_err().is_timed_out());
/// task.run();
/// assert_eq!(handle.join().unwrap(), "done");
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
#[doc(alias = "Future")]
pub struct TaskHandle<T> {
    task: Ref<TypedHead<T>>,
}

impl<T> TaskHandle<T> {
    #[inline]
    pub(super) fn new(task: Ref<TypedHead<T>>) -> Self {
        Self { task }
    }

    /// Returns the timer of a scheduled task.
    pub(crate) fn timer(&self) -> Option<TimerView<'_>> {
        self.task.cell().timer()
    }
}

impl<T: Send + 'static> TaskHandle<T> {
    /// Completes the task from outside; returns false if it is done.
    pub(crate) fn complete(&self, outcome: Result<T, Failure>) -> bool {
        self.task.cell().complete(outcome)
    }

    /// Returns what completes the task from outside, at any time.
    pub(crate) fn completer(&self) -> impl FnOnce(Result<T, Failure>) -> bool + Send + use<T> {
        let task = self.task.clone();
        move |outcome| task.cell().complete(outcome)
    }

    /// Runs the task on this thread, if no thread has started it.
    pub(crate) fn run_here(&self) -> RunOutcome {
        self.task.cell().run()
    }
}

impl<T> Handle for TaskHandle<T> {
    fn head(&self) -> &Head {
        self.task.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.task.clone().awaitable().untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.task.cell().cancel(mode, reason)
    }
}

impl<T> OwningHandle<T> for TaskHandle<T> {
    #[inline]
    fn take_value(&mut self) -> Option<T> {
        self.task.take_value()
    }

    fn take_outcome(&mut self) -> Option<Result<T, ExecutionError>> {
        self.task.take_outcome()
    }
}

impl<T> ShareableHandle<T> for TaskHandle<T> {
    fn into_shareable(self) -> Ref<dyn Awaitable<T>> {
        self.head().set_cancel_on_drop(false);
        self.task.clone().awaitable()
    }
}

handle_methods!([T: Send + 'static] TaskHandle<T>, control = TaskControl);
owning_handle_methods!([T: Send + 'static] TaskHandle<T>, value = T, shared = SharedHandle<T>);

impl<T: Send + 'static> Future for TaskHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.head().poll_done(WakerKey::OWNER, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(self.take_outcome().unwrap_or(Err(ExecutionError::Taken)))
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        let state = self.head().state();
        if state.is_awaited() {
            self.head().forget_waker(WakerKey::OWNER);
        }
        if state.is_cancelled_on_drop() {
            ignore_panic(|| {
                self.cancel_for(CancelMode::Interrupt, Cancellation::HandleDropped);
            });
        }
    }
}

/// Written with the JDK's words: not completed, completed normally, completed exceptionally, cancelled.
impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("TaskHandle", None, f)
    }
}
