//! Completions as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::service::{CompletionService, Shared};
use crate::executor::Executor;
use crate::task::TaskHandle;

/// A stream of tasks in the order of their completion; see [`CompletionService::stream`].
///
/// ```
/// use futures_lite::StreamExt;
/// use windlass::CompletionService;
/// use windlass::prelude::*;
///
/// let service = CompletionService::new(executors::fixed_thread_pool(2).unwrap());
/// for n in 1..=3 {
///     service.submit(move || n * 10).unwrap();
/// }
/// let sum = async {
///     let mut sum = 0;
///     let mut done = service.stream();
///     while let Some(handle) = done.next().await {
///         sum += handle.await.unwrap();
///     }
///     sum
/// };
/// assert_eq!(pollster::block_on(sum), 60);
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct CompletionStream<'a, T: Send + 'static, E> {
    service: &'a CompletionService<T, E>,
    /// Whether it has claimed a handle that it has not returned.
    has_claim: bool,
}

impl<T: Send + 'static, E: Executor> CompletionService<T, E> {
    /// Returns a stream of the tasks in the order in which they are done. It ends as
    /// [`completions`](Self::completions) does: when nothing is outstanding.
    ///
    /// A stream can be dropped at any time, also while it is pending: no task is lost with it. It is woken
    /// by tasks of this service only, so the queue must not be shared with another one.
    pub const fn stream(&self) -> CompletionStream<'_, T, E> {
        CompletionStream {
            service: self,
            has_claim: false,
        }
    }
}

impl<T: Send + 'static, E> CompletionStream<'_, T, E> {
    fn shared(&self) -> &Shared<T> {
        self.service.shared()
    }
}

impl<T: Send + 'static, E> Stream for CompletionStream<'_, T, E> {
    type Item = TaskHandle<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.has_claim && !self.shared().outstanding.try_claim() {
            return Poll::Ready(None);
        }
        self.has_claim = true;
        let mut next = self.shared().poll();
        if next.is_none() {
            // Before the second look: a task that is done after it wakes this stream.
            self.shared().wakers.add(context.waker());
            next = self.shared().poll();
        }
        match next {
            None => Poll::Pending,
            done => {
                self.has_claim = false;
                Poll::Ready(done)
            }
        }
    }
}

impl<T: Send + 'static, E> Drop for CompletionStream<'_, T, E> {
    fn drop(&mut self) {
        if self.has_claim {
            self.shared().outstanding.add();
            // Another stream may have found nothing to claim; one that waits has a claim of its own.
        }
    }
}

impl<T: Send + 'static, E: fmt::Debug> fmt::Debug for CompletionStream<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("CompletionStream");
        shown.field(self.service).finish()
    }
}
