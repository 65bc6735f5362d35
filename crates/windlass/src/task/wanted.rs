//! What a waiting thread waits for: one task, or any of a batch.

use std::sync::Arc;

use super::id::TaskId;
use crate::sync::atomic::{AtomicUsize, Ordering};
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

/// Tasks whose ends are reported to one place, as one who waits for any of them knows them.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    id: BatchId,
    /// How many tasks were added and not taken out; `None` if others may end the wait too.
    untaken: Option<Arc<AtomicUsize>>,
}

impl Batch {
    /// Creates a batch without tasks. A wait for any of its tasks ends with one of them, or never.
    pub(crate) fn new() -> Self {
        Self {
            id: BatchId(unique_id()),
            untaken: Some(Arc::default()),
        }
    }

    /// Creates a batch without tasks, whose ends are reported to a place where others may be too.
    pub(crate) fn shared() -> Self {
        Self {
            id: BatchId(unique_id()),
            untaken: None,
        }
    }

    pub(crate) const fn id(&self) -> BatchId {
        self.id
    }

    /// Counts a task that is about to be submitted.
    pub(crate) fn add(&self) {
        if let Some(untaken) = &self.untaken {
            untaken.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Counts a task whose end was taken, or that was not accepted. The caller then
    /// [wakes](super::wake_waiters) those who wait: what is left may be a circle now.
    pub(crate) fn take(&self) {
        if let Some(untaken) = &self.untaken {
            untaken.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Returns how many tasks can end a wait, if that is known. One that is done and not yet taken is among them.
    pub(super) fn untaken(&self) -> Option<usize> {
        self.untaken
            .as_ref()
            .map(|untaken| untaken.load(Ordering::SeqCst))
    }
}
