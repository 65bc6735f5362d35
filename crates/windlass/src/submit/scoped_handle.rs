//! The handle of a task that borrows.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::members::{Member, Members};
use crate::sync::Deadline;
use crate::task::{
    CancelMode, Cancellation, ExecutionError, Handle, Head, OwningHandle, Ref, TaskControl,
    TaskHandle, Untyped, WaitError, handle_methods, owning_handle_methods,
};

/// The place of the value of a scoped task.
pub(super) trait TakeValue<T>: Send + Sync {
    /// Moves the value out, if the task has ended with one.
    fn take_value(&self) -> Option<T>;
}

/// The handle of a task of a [`Scope`](super::Scope), with the methods of a
/// [`TaskHandle`] except those that share its value beyond the scope.
///
/// It cannot leave the scope, and the scope waits for the task also if the handle is dropped. If the task
/// panics and no call of this handle returns that, the scope panics.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let numbers = vec![1, 2, 3];
/// let (sum, largest) = pool.scope(|s| {
///     let sum = s.spawn(|| numbers.iter().sum::<i32>()).unwrap();
///     let largest = s.spawn(|| numbers.iter().max()).unwrap();
///     (sum.join().unwrap(), largest.join().unwrap())
/// });
/// assert_eq!((sum, largest), (6, Some(&3)));
/// ```
pub struct ScopedHandle<'scope, T> {
    handle: TaskHandle<()>,
    value: Arc<dyn TakeValue<T> + 'scope>,
    members: Arc<Members>,
    member: Member,
}

impl<'scope, T> ScopedHandle<'scope, T> {
    pub(super) fn new(
        handle: TaskHandle<()>,
        value: Arc<dyn TakeValue<T> + 'scope>,
        members: Arc<Members>,
        member: Member,
    ) -> Self {
        Self {
            handle,
            value,
            members,
            member,
        }
    }

    /// Returns the value in place of the outcome of the task, and notes that a failure is seen.
    fn outcome(&self, outcome: Result<(), ExecutionError>) -> Result<T, ExecutionError> {
        match outcome {
            Ok(()) => self.value.take_value().ok_or(ExecutionError::Taken),
            Err(error) => {
                if error.is_failed() {
                    self.members.failure_seen(self.member);
                }
                Err(error)
            }
        }
    }
}

impl<T> Handle for ScopedHandle<'_, T> {
    fn head(&self) -> &Head {
        self.handle.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.handle.to_untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.handle.cancel_for(mode, reason)
    }

    /// Waits no longer than until the deadline of the scope: then all its tasks are cancelled.
    fn wait_by(&self, deadline: Deadline) -> Result<bool, WaitError> {
        let limit = self.members.deadline();
        if !deadline.is_after(limit) {
            return self.handle.wait_by(deadline);
        }
        if !self.handle.wait_by(limit)? {
            self.members
                .cancel(CancelMode::Interrupt, Cancellation::TimedOut);
        }
        Ok(true)
    }
}

impl<T> OwningHandle<T> for ScopedHandle<'_, T> {
    fn take_outcome(&mut self) -> Option<Result<T, ExecutionError>> {
        let outcome = self.handle.take_outcome()?;
        Some(self.outcome(outcome))
    }
}

handle_methods!(['scope, T: Send + 'scope] ScopedHandle<'scope, T>, control = TaskControl);
owning_handle_methods!(['scope, T: Send + 'scope] ScopedHandle<'scope, T>, value = T);

impl<T: Send> Future for ScopedHandle<'_, T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.handle).poll(context);
        polled.map(|outcome| self.outcome(outcome))
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("ScopedHandle", None, f)
    }
}
