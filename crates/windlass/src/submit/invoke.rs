//! Several tasks: waits for all of them, or for the first that succeeds.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::executor::{Executor, RejectedExecution, execute_by};
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::Deadline;
use crate::task::{
    Batch, CancelMode, Cancellation, ExecutionError, Handle, Helpers, Task, TaskHandle, WaitError,
};

/// Why an `invoke_…` method or a `map` of [`Submit`](crate::Submit) has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum InvokeError {
    /// There were no tasks.
    Empty,
    /// The executor rejected a task, which is inside.
    Rejected(RejectedExecution),
    /// No task succeeded; this is the last failure. Or the wait for one was in a circle of waits:
    /// [`ExecutionError::Deadlock`].
    Failed(ExecutionError),
    /// The waiting thread was interrupted; its flag is clear.
    #[doc(alias = "InterruptedException")]
    Interrupted,
    /// No task succeeded within the time limit.
    #[doc(alias = "TimeoutException")]
    TimedOut,
    /// There is no value for the item with this index, and why.
    Item(usize, ExecutionError),
}

impl InvokeError {
    /// Returns whether there were no tasks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns whether the executor rejected a task.
    #[must_use]
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }

    /// Returns whether no task succeeded.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Returns whether the waiting thread was interrupted.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted)
    }

    /// Returns whether the time limit passed.
    #[must_use]
    pub const fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut)
    }

    /// Returns whether there is no value for an item.
    #[must_use]
    pub const fn is_item(&self) -> bool {
        matches!(self, Self::Item(..))
    }
}

impl fmt::Display for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there are no tasks to choose from"),
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Failed(error) => write!(f, "no task succeeded; the last: {error}"),
            Self::Interrupted => f.write_str("the waiting thread was interrupted"),
            Self::TimedOut => f.write_str("no task succeeded in time"),
            Self::Item(index, error) => write!(f, "item {index}: {error}"),
        }
    }
}

impl Error for InvokeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(rejected) => Some(rejected),
            Self::Failed(error) | Self::Item(_, error) => Some(error),
            Self::Empty | Self::Interrupted | Self::TimedOut => None,
        }
    }
}

/// A guard that cancels and interrupts the tasks of its handles when it is dropped, unless they are
/// released.
struct CancelAll<T: Send + 'static> {
    handles: Vec<TaskHandle<T>>,
    reason: Cancellation,
}

impl<T: Send + 'static> CancelAll<T> {
    const fn new() -> Self {
        Self {
            handles: Vec::new(),
            reason: Cancellation::Requested,
        }
    }

    fn release(mut self) -> Vec<TaskHandle<T>> {
        std::mem::take(&mut self.handles)
    }
}

impl<T: Send + 'static> Drop for CancelAll<T> {
    fn drop(&mut self) {
        cancel_all(&self.handles, self.reason);
    }
}

/// Cancels all tasks, the newest first: a worker whose task is interrupted takes the next one at once,
/// and that one must already be cancelled.
fn cancel_all<T: Send + 'static>(handles: &[TaskHandle<T>], reason: Cancellation) {
    for handle in handles.iter().rev() {
        crate::unwind::ignore_panic(|| {
            handle.cancel_for(CancelMode::Interrupt, reason);
        });
    }
}

/// Submits all tasks and waits for them; returns their handles, all done.
pub(super) fn invoke_all<X, T>(
    executor: &X,
    tasks: impl Iterator<Item = (Task, TaskHandle<T>)>,
    deadline: Option<Deadline>,
) -> Result<Vec<TaskHandle<T>>, InvokeError>
where
    X: Executor + ?Sized,
    T: Send + 'static,
{
    // Created first, as in the JDK: a task that is not submitted in time is cancelled without being
    // run.
    let mut unsubmitted = Vec::new();
    let mut handles = CancelAll::new();
    for (task, handle) in tasks {
        unsubmitted.push(task);
        handles.handles.push(handle);
    }
    let limit = deadline.unwrap_or(Deadline::Never);
    let is_late = || limit.has_passed();
    for task in unsubmitted {
        if is_late() {
            task.abandon(Cancellation::TimedOut);
            continue;
        }
        match execute_by(executor, task, limit) {
            Ok(()) => {}
            // The policy has waited until the limit.
            Err(rejected) if is_late() && rejected.is_timed_out() => {
                rejected.into_task().abandon(Cancellation::TimedOut);
            }
            Err(rejected) => return Err(InvokeError::Rejected(rejected)),
        }
    }
    // A worker that waits for its own submissions runs them, and begins with the one that it finds first.
    let oldest_first = Helpers::current(None).is_some_and(|helpers| !helpers.find_newest_first());
    let count = handles.handles.len();
    for at in 0..count {
        let at = if oldest_first { at } else { count - 1 - at };
        match handles.handles[at].wait_by(limit) {
            Ok(true) => {}
            Ok(false) => cancel_all(&handles.handles, Cancellation::TimedOut),
            Err(WaitError::Interrupted) => return Err(InvokeError::Interrupted),
            Err(deadlock) => return Err(InvokeError::Failed(deadlock.into())),
        }
    }
    Ok(handles.release())
}

/// Waits until one of the tasks of the batch is done; returns its index, or `None` if the deadline passes
/// before.
fn next_done(
    done: &LinkedBlockingQueue<usize>,
    batch: &Batch,
    deadline: Deadline,
) -> Result<Option<usize>, InvokeError> {
    let mut wait = |limit: Deadline| match limit.remaining() {
        None => done.take().map(Some),
        Some(left) => done.poll_timeout(left),
    };
    let finished = match Helpers::current(None) {
        None => wait(deadline).map_err(WaitError::from),
        Some(helpers) => helpers.wait_any(batch, deadline, &|| !done.is_empty(), &mut wait),
    };
    finished.map_err(|error| match error {
        WaitError::Interrupted => InvokeError::Interrupted,
        deadlock @ WaitError::Deadlock(_) => InvokeError::Failed(deadlock.into()),
    })
}

/// Submits tasks one by one until one succeeds, and returns its value.
pub(super) fn invoke_any<X, T>(
    executor: &X,
    mut tasks: impl Iterator<Item = (Task, TaskHandle<T>)>,
    deadline: Option<Deadline>,
) -> Result<T, InvokeError>
where
    X: Executor + ?Sized,
    T: Send + 'static,
{
    let (done, batch) = (Arc::new(LinkedBlockingQueue::new()), Batch::new());
    let limit = deadline.unwrap_or(Deadline::Never);
    let mut handles = CancelAll::new();
    let mut running = 0_usize;
    let mut last_failure = None;
    let mut has_more = true;
    loop {
        let finished = done.poll();
        if finished.is_none() && has_more {
            let Some((task, handle)) = tasks.next() else {
                has_more = false;
                continue;
            };
            let (at, done) = (handles.handles.len(), Arc::clone(&done));
            handle.head().add_to_batch(batch.id());
            batch.add();
            handle.on_done(move |_| drop(done.offer(at)));
            handles.handles.push(handle);
            match execute_by(executor, task, limit) {
                Ok(()) => running += 1,
                Err(rejected) if rejected.is_timed_out() && limit.has_passed() => {
                    handles.reason = Cancellation::TimedOut;
                    return Err(InvokeError::TimedOut);
                }
                Err(rejected) => return Err(InvokeError::Rejected(rejected)),
            }
            continue;
        }
        let finished = match finished {
            Some(at) => Some(at),
            None if running == 0 => {
                return Err(last_failure.map_or(InvokeError::Empty, InvokeError::Failed));
            }
            None => next_done(&done, &batch, limit)?,
        };
        let Some(at) = finished else {
            handles.reason = Cancellation::TimedOut;
            return Err(InvokeError::TimedOut);
        };
        running -= 1;
        batch.take();
        match handles.handles[at].try_get() {
            Some(Ok(value)) => {
                handles.reason = Cancellation::Superseded;
                return Ok(value);
            }
            Some(Err(error)) => last_failure = Some(error),
            None => {}
        }
    }
}
