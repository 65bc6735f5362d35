//! The state of a task, and the handle that can cancel it but has no claim to its value.

use std::fmt;

use super::cell::Ref;
use super::error::{Cancellation, Failure};
use super::header::Header;
use super::id::TaskId;
use super::runnable::{Runnable, Untyped};
use super::state::{CancelMode, Snapshot};

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It has not started.
    Queued,
    /// A thread runs it.
    Running,
    /// It ended with a value.
    Completed,
    /// It ended with a failure.
    Failed,
    /// It was cancelled or will never run; code that was running may still be.
    Cancelled,
}

impl TaskState {
    /// Whether this is an end.
    #[must_use]
    pub const fn is_done(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

impl From<Snapshot> for TaskState {
    fn from(state: Snapshot) -> Self {
        if state.is_cancelled() {
            Self::Cancelled
        } else if state.is_failed() {
            Self::Failed
        } else if state.is_done() {
            Self::Completed
        } else if state.is_running() {
            Self::Running
        } else {
            Self::Queued
        }
    }
}

/// Watches and cancels a task, without a claim to its value; can be cloned and passed on.
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
#[derive(Clone)]
pub struct TaskControl(Ref<dyn Untyped>);

impl TaskControl {
    pub(super) fn new(task: Ref<dyn Untyped>) -> Self {
        Self(task)
    }

    /// Identifies the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.0.header().id()
    }

    /// Cancels the task unless it is done; code that runs already is not disturbed.
    ///
    /// Gives false if it was done before.
    pub fn cancel(&self) -> bool {
        self.0.cancel(CancelMode::LetRun, Cancellation::Requested)
    }

    /// Cancels the task unless it is done; the thread that runs it is interrupted.
    ///
    /// Gives false if it was done before.
    pub fn cancel_now(&self) -> bool {
        self.0
            .cancel(CancelMode::Interrupt, Cancellation::Requested)
    }

    /// How far the task has come.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.0.state().into()
    }

    /// Whether the task has ended, in whatever way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.state().is_done()
    }

    /// Whether the task was cancelled or will never run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.state().is_cancelled()
    }
}

impl fmt::Debug for TaskControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskControl")
            .field("id", &self.id().as_u64())
            .field("state", &self.state())
            .finish()
    }
}

/// Writes a task in the JDK's words for the state of its completion.
pub(super) fn describe(
    kind: &str,
    header: &Header,
    state: Snapshot,
    cause: Option<&Failure>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "{kind}[")?;
    match TaskState::from(state) {
        TaskState::Queued | TaskState::Running => {
            write!(
                f,
                "Not completed, task = {}",
                header.name().unwrap_or("closure")
            )?;
        }
        TaskState::Completed => f.write_str("Completed normally")?,
        TaskState::Failed => {
            f.write_str("Completed exceptionally")?;
            if let Some(cause) = cause {
                write!(f, ": {cause}")?;
            }
        }
        TaskState::Cancelled => f.write_str("Cancelled")?,
    }
    write!(f, ", id = {}]", header.id().as_u64())
}
