//! What a waiting thread waits for: one task, or any of a batch.

use super::id::TaskId;
use crate::sync::unique_id;

/// What a waiting thread waits for, to find it in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// This task.
    Task(TaskId),
    /// Any task whose end is reported to this batch.
    AnyOf(BatchId),
}

/// The id of tasks whose ends are reported to one place, for a thread that waits for any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchId(usize);

impl BatchId {
    pub(crate) fn next() -> Self {
        Self(unique_id())
    }
}
