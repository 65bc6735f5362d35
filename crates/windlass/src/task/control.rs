//! The handle that watches and cancels a task, without access to its value.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::cell_ref::Ref;
use super::error::Cancellation;
use super::handle_methods::{Handle, handle_methods};
use super::head::Head;
use super::runnable::{Runnable, Untyped};
use super::task_state::TaskState;
use super::transition::CancelMode;
use super::waiters::WakerKey;

/// A handle that watches and cancels a task, without access to its value.
///
/// It can be cloned and passed on, and is a [`Future`] of the task's final state.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, handle) = Task::with_handle(|| 1);
/// let control = handle.control();
/// assert!(control.cancel());
/// task.run();
/// assert!(handle.is_cancelled());
/// ```
pub struct TaskControl {
    task: Ref<dyn Untyped>,
    /// The key of this clone's waker, once it has been polled.
    key: Option<WakerKey>,
}

impl TaskControl {
    pub(crate) fn new(task: Ref<dyn Untyped>) -> Self {
        Self { task, key: None }
    }
}

impl Handle for TaskControl {
    fn head(&self) -> &Head {
        self.task.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.task.clone()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.task.cancel(mode, reason)
    }
}

handle_methods!([] TaskControl, control = TaskControl);

impl Clone for TaskControl {
    fn clone(&self) -> Self {
        Self::new(self.task.clone())
    }
}

impl Future for TaskControl {
    type Output = TaskState;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TaskState> {
        let key = self.key.unwrap_or_else(|| self.head().new_key());
        self.key = Some(key);
        if self.head().poll_done(key, context.waker()) {
            Poll::Ready(self.state())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for TaskControl {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.head().forget_waker(key);
        }
    }
}

impl fmt::Debug for TaskControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("TaskControl", None, f)
    }
}
