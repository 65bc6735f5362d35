//! A handle for any number of readers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::cell_ref::Ref;
use super::control::TaskControl;
use super::error::{Cancellation, ExecutionError};
use super::handle_methods::{Handle, ReadingHandle, handle_methods, reading_handle_methods};
use super::head::Head;
use super::runnable::{Awaitable, Runnable, Untyped};
use super::transition::CancelMode;
use super::waiters::WakerKey;

/// A handle that can be cloned: each clone returns a clone of the task's value.
///
/// Every value handle can be converted into one, with [`share`](super::TaskHandle::share) and its like.
/// Dropping it detaches the task.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, handle) = Task::with_handle(|| vec![1, 2, 3]);
/// let shared = handle.share();
/// task.run();
/// assert_eq!(shared.clone().join().unwrap(), [1, 2, 3]);
/// assert_eq!(shared.result_now().unwrap().len(), 3);
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
pub struct SharedHandle<T> {
    task: Ref<dyn Awaitable<T>>,
    /// The key of this clone's waker, once it has been polled.
    key: Option<WakerKey>,
}

impl<T> SharedHandle<T> {
    pub(crate) fn new(task: Ref<dyn Awaitable<T>>) -> Self {
        Self { task, key: None }
    }
}

impl<T> Handle for SharedHandle<T> {
    fn head(&self) -> &Head {
        self.task.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.task.clone().untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.task.cancel(mode, reason)
    }
}

impl<T: Send + Sync + 'static> ReadingHandle<T> for SharedHandle<T> {
    fn outcome_ref(&self) -> Option<Result<&T, ExecutionError>> {
        self.task.outcome()
    }

    fn to_shareable(&self) -> Ref<dyn Awaitable<T>> {
        self.task.clone()
    }
}

handle_methods!([T: Send + Sync + 'static] SharedHandle<T>, control = TaskControl);
reading_handle_methods!([T: Send + Sync + 'static] SharedHandle<T>, value = T, shared = SharedHandle<T>);

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        Self::new(self.task.clone())
    }
}

impl<T: Clone + Send + Sync + 'static> Future for SharedHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key.unwrap_or_else(|| self.head().new_key());
        self.key = Some(key);
        if !self.head().poll_done(key, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(self.try_get().unwrap_or(Err(ExecutionError::Taken)))
    }
}

impl<T> Drop for SharedHandle<T> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.head().forget_waker(key);
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("SharedHandle", self.failure_now().as_ref(), f)
    }
}
