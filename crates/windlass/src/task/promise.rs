//! A task whose outcome comes from outside, and not from a body that runs.
//!
//! Its code runs in parts, on any threads: the polls of a future.

use super::body::Body;
use super::builder::TaskBuilder;
use super::cell::Cell;
use super::cell_ref::{Ref, TypedHead};
use super::error::Failure;
use super::handle::TaskHandle;
use super::header::Header;
use super::id::TaskId;
use super::linked::link;
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
    const SUSPENDS: bool = true;

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
        mut self,
        kept: impl Send + 'static,
    ) -> (Promise<T>, TaskHandle<T>) {
        let (tokens, is_limited) = (self.take_tokens(), self.has_limits());
        let header = Header::new(TaskId::next(), self.into_attributes());
        let (completes, waits) = Cell::pair(header, Kept(kept), || ());
        if is_limited {
            completes.limit();
        }
        let (promise, handle) = (Promise(completes.thin()), TaskHandle::new(waits.thin()));
        if let Some(tokens) = tokens {
            link(&handle.control(), tokens);
        }
        (promise, handle)
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::limit_timer::{Phase, Timeout};
    use super::super::runnable::PartOutcome;
    use super::{Promise, TaskBuilder};
    use crate::expiry::Expires;
    use crate::interrupt::ThreadContext;
    use crate::sync::{model, thread};
    use crate::task::{Cancellation, TaskHandle};

    fn spawn<T: Send + 'static>(
        body: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        thread::Builder::new().spawn(body).unwrap()
    }

    /// WL-450
    #[test]
    fn a_task_that_runs_in_parts_starts_or_expires_never_both() {
        model(|| {
            // Too far away for a timer: the model acts in its place.
            let limited = TaskBuilder::new().queue_limit(Duration::MAX);
            let (promise, handle): (Promise<()>, TaskHandle<()>) = limited.build_promise(());
            let cell = promise.untyped();
            let of = Phase::Start;
            let timer = spawn(move || Timeout::Task { cell, of }.expire());
            let mut ran = 0;
            for _ in 0..2 {
                promise.untyped().run_part(&mut || ran += 1);
            }
            timer.join().unwrap();
            let expired = handle.cancellation() == Some(Cancellation::Expired);
            assert_eq!(ran, if expired { 0 } else { 2 });
            assert!(expired || promise.complete(Ok(())));
        });
    }

    /// WL-454
    #[test]
    fn the_interrupt_of_a_cancel_reaches_the_part_that_runs_or_nobody() {
        model(|| {
            let kept = Arc::new(());
            let theirs = Arc::clone(&kept);
            let (promise, handle): (Promise<()>, _) = TaskBuilder::new().build_promise(theirs);
            let control = handle.control();
            let canceller = spawn(move || control.cancel_now());
            let part = promise.untyped().run_part(&mut || ());
            let me = ThreadContext::current();
            assert_eq!(me.take_interrupt(), part == PartOutcome::Cancelled);
            assert!(canceller.join().unwrap());
            assert!(!me.take_interrupt(), "it came late");
            assert_eq!(Arc::strong_count(&kept), 1);
        });
    }
}
