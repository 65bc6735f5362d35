//! The future of a remote task: waits for its outcome, cancels it, can be made again from its id.

use crate::client::Client;
use crate::engine::{CancelMode, Cancelled, EngineError, Outcome};
use crate::failure::Failure;
use crate::id::TaskId;
use crate::slot::{Arrived, Slot};
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use windlass::interrupt::Interrupted;

/// Why a future has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteError {
    /// The task failed: it returned an error, panicked, ran too long, lost its worker too often.
    Failed(Failure),
    /// The task was cancelled.
    Cancelled,
    /// The time to wait was over. The task is not affected, and the future can be asked again.
    TimedOut,
    /// The engine has no record of the task any more: its retention time is over, or the engine lost its data.
    Gone,
    /// The result is not what the type reads, or not signed as required.
    Decode(String),
    /// The waiting thread was interrupted. The task is not affected.
    Interrupted,
}

impl RemoteError {
    /// Returns the failure of the task, if that is what happened.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::TimedOut => f.write_str("the task has no outcome yet"),
            Self::Gone => f.write_str("the engine has no record of the task"),
            Self::Decode(error) => write!(f, "the result cannot be read: {error}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RemoteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure().map(|failure| failure as _)
    }
}

/// The outcome of a task, as soon as there is one: to be waited for ([`get`](Self::get)), or awaited.
///
/// Dropping it does not cancel the task, unless [`cancel_on_drop`](Self::cancel_on_drop) was called. The result can be read any
/// number of times, also by another process that [attaches](crate::RemoteExecutor::attach) to the id, until
/// the retention time of the record is over.
///
/// ```
/// # use windlass_remote::{LocalExecutor, RemoteTask, TaskCx, TaskError, TaskExecutorService};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Add(u32, u32);
/// # impl RemoteTask for Add {
/// #     const NAME: &'static str = "add";
/// #     type Output = u32;
/// #     fn run(self, _: &TaskCx) -> Result<u32, TaskError> { Ok(self.0 + self.1) }
/// # }
/// # let executor = LocalExecutor::fixed(1)?;
/// let future = executor.submit_task(Add(1, 2))?;
/// assert_eq!(future.get()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future that is dropped does not tell how its task ended"]
pub struct RemoteFuture<O> {
    slot: Arc<Slot>,
    client: Arc<Client>,
    name: &'static str,
    cancel_on_drop: bool,
    output: PhantomData<fn() -> O>,
}

impl<O> RemoteFuture<O> {
    pub(crate) const fn new(slot: Arc<Slot>, client: Arc<Client>, name: &'static str) -> Self {
        Self {
            slot,
            client,
            name,
            cancel_on_drop: false,
            output: PhantomData,
        }
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &TaskId {
        &self.slot.id
    }

    /// Returns whether there is an outcome.
    pub fn is_done(&self) -> bool {
        self.arrived().is_some()
    }

    /// Returns the outcome if there is one; if not, the caller probably asks again.
    fn arrived(&self) -> Option<Arrived> {
        let arrived = self.slot.arrived();
        if arrived.is_none() {
            self.client.demand();
        }
        arrived
    }

    /// Waits until the outcome is there or the time is over.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<Option<Arrived>, Interrupted> {
        self.client.wait(&self.slot, until)
    }

    /// Returns the slot, to somebody who waits for it and does not read outcomes.
    pub(crate) fn slot(&self) -> &Slot {
        self.client.demand();
        &self.slot
    }

    /// Returns whether the outcome is that the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.arrived(), Some(Arrived::Outcome(o)) if *o == Outcome::Cancelled)
    }

    /// Cancels the task unless it has started; returns whether it did. The future is then done.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    #[doc(alias = "cancel(false)")]
    pub fn cancel(&self) -> Result<bool, EngineError> {
        self.cancel_by(CancelMode::IfNotStarted)
    }

    /// Cancels the task even if it runs; returns whether it did. The future is then done at once, the task is asked to
    /// stop, and what it still returns is dropped.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    #[doc(alias = "cancel(true)")]
    pub fn cancel_now(&self) -> Result<bool, EngineError> {
        self.cancel_by(CancelMode::Now)
    }

    fn cancel_by(&self, mode: CancelMode) -> Result<bool, EngineError> {
        if self.is_done() {
            return Ok(false);
        }
        let answers = self
            .client
            .cancel(std::slice::from_ref(&self.slot.id), mode)?;
        Ok(matches!(
            answers.first(),
            Some(Cancelled::BeforeStart | Cancelled::WhileRunning)
        ))
    }

    /// Cancels the task when the future is dropped before it is done.
    pub const fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }
}

impl<O: DeserializeOwned> RemoteFuture<O> {
    /// Waits for the outcome.
    ///
    /// # Errors
    ///
    /// See [`RemoteError`].
    pub fn get(&self) -> Result<O, RemoteError> {
        self.get_by(None)
    }

    /// Waits for the outcome no longer than `limit`.
    ///
    /// # Errors
    ///
    /// [`RemoteError::TimedOut`] if there is none yet; the task goes on. See [`RemoteError`].
    pub fn get_timeout(&self, limit: Duration) -> Result<O, RemoteError> {
        self.get_by(Instant::now().checked_add(limit))
    }

    fn get_by(&self, until: Option<Instant>) -> Result<O, RemoteError> {
        match self.wait(until) {
            Err(_) => Err(RemoteError::Interrupted),
            Ok(None) => Err(RemoteError::TimedOut),
            Ok(Some(arrived)) => self.read(&arrived),
        }
    }

    /// Returns the outcome if there is one.
    pub fn try_get(&self) -> Option<Result<O, RemoteError>> {
        self.arrived().map(|arrived| self.read(&arrived))
    }

    fn read(&self, arrived: &Arrived) -> Result<O, RemoteError> {
        let Arrived::Outcome(outcome) = arrived else {
            return Err(RemoteError::Gone);
        };
        match &**outcome {
            Outcome::Done(sealed) => self.client.wire().open_result(self.id(), self.name, sealed),
            Outcome::Failed(failure) => Err(RemoteError::Failed(failure.clone())),
            Outcome::Cancelled => Err(RemoteError::Cancelled),
        }
    }
}

impl<O: DeserializeOwned> Future for RemoteFuture<O> {
    type Output = Result<O, RemoteError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.slot.arrived_or_wake(cx.waker()) {
            Some(arrived) => Poll::Ready(self.read(&arrived)),
            None => {
                self.client.demand();
                Poll::Pending
            }
        }
    }
}

impl<O> Drop for RemoteFuture<O> {
    fn drop(&mut self) {
        if self.cancel_on_drop && !self.is_done() {
            // Nobody is left to hear of an error; an engine that is away keeps the task.
            let _ = self.cancel_now();
        }
    }
}

impl<O> fmt::Debug for RemoteFuture<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFuture")
            .field("id", self.id())
            .field("task", &self.name)
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
