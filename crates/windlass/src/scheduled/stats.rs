//! A snapshot of the queue of a scheduled pool.

use std::time::Duration;

use super::shared::Shared;
use crate::task::{Task, TaskId};

/// A task in the queue of a scheduled pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedTask {
    /// Identifies the task.
    pub id: TaskId,
    /// The name that it was built with.
    pub name: Option<String>,
    /// The time until it is due; zero if it is due.
    pub delay: Duration,
    /// Whether it repeats.
    pub is_periodic: bool,
    /// Whether it was cancelled; it is removed from the queue at the latest when it is due.
    pub is_cancelled: bool,
}

impl QueuedTask {
    fn new(task: &Task, delay: Duration) -> Self {
        Self {
            id: task.id(),
            name: task.name().map(str::to_owned),
            delay,
            is_periodic: task.is_periodic(),
            is_cancelled: task.is_cancelled(),
        }
    }
}

impl Shared {
    /// Returns the queued tasks in the order in which they are due.
    pub(super) fn queued_tasks(&self) -> Vec<QueuedTask> {
        let now = self.now();
        let mut queued = Vec::new();
        self.timers.for_each_entry(|due, sequence, task| {
            let delay = due.saturating_duration_since(now);
            queued.push((due, sequence, QueuedTask::new(task, delay)));
        });
        queued.sort_by_key(|(due, sequence, _)| (*due, *sequence));
        queued.into_iter().map(|(_, _, task)| task).collect()
    }
}
