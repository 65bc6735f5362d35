//! A task whose outcome comes from outside, and not from a body that runs.

use super::body::Body;
use super::builder::TaskBuilder;
use super::cell::Cell;
use super::cell_ref::{Ref, TypedHead};
use super::error::Failure;
use super::handle::TaskHandle;
use super::header::Header;
use super::id::TaskId;
use super::runnable::Untyped;
use crate::unwind::ignore_panic;

/// The side of a task that completes it. If it is dropped before, the task is cancelled.
pub(crate) struct Promise<T: Send + 'static>(Ref<TypedHead<T>>);

impl<T: Send + 'static> Promise<T> {
    /// Completes the task; returns false if it is done.
    pub(crate) fn complete(&self, outcome: Result<T, Failure>) -> bool {
        self.0.cell().complete(outcome)
    }

    /// Cancels the task with its drop reason, unless it is done.
    pub(crate) fn abandon(&self) {
        self.0.cell().abandon();
    }

    /// Returns a reference to the task, without the type of its result.
    pub(crate) fn untyped(&self) -> Ref<dyn Untyped> {
        self.0.clone().awaitable().untyped()
    }
}

impl<T: Send + 'static> Drop for Promise<T> {
    fn drop(&mut self) {
        ignore_panic(|| self.abandon());
    }
}

/// A value in the place of a body, which is dropped when the task is done.
struct Kept<K>(K);

impl<T, K: Send> Body<T> for Kept<K> {
    const REPEATS: bool = false;

    fn run_once(self) -> Result<T, Failure> {
        unreachable!("nobody runs a task that is completed from outside")
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl TaskBuilder {
    /// Creates a task that is completed from outside, and its handle. `kept` is dropped when the task is
    /// done, in whatever way.
    pub(crate) fn build_promise<T: Send + 'static>(
        self,
        kept: impl Send + 'static,
    ) -> (Promise<T>, TaskHandle<T>) {
        let header = Header::new(TaskId::next(), self.into_attributes());
        let (completes, waits) = Cell::pair(header, Kept(kept), ());
        (Promise(completes.thin()), TaskHandle::new(waits.thin()))
    }
}
