//! The state of a task, as its handles report it.

use super::state::Snapshot;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It has not started. A periodic task is queued between its runs.
    Queued,
    /// A thread runs it.
    Running,
    /// It ended with a value.
    Completed,
    /// It ended with a failure.
    Failed,
    /// It was cancelled or will never run; a run under way may not have ended yet.
    Cancelled,
}

impl TaskState {
    /// Returns whether this is a final state.
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
