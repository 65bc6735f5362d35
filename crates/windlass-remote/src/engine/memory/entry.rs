//! One task in the memory engine.

use super::super::{NewTask, Outcome, TaskRecord, TaskState};
use crate::failure::Failure;
use std::sync::Arc;
use std::time::Duration;

/// A task and what has happened to it. Times are milliseconds of the engine's clock.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) task: NewTask,
    pub(super) state: TaskState,
    pub(super) failures: u32,
    pub(super) worker_deaths: u32,
    pub(super) fence: u64,
    pub(super) worker: Option<Arc<str>>,
    pub(super) lease_until: u64,
    pub(super) ready_since: u64,
    pub(super) unknown_since: Option<u64>,
    /// It has a start reserved under the rate limit of its type.
    pub(super) rate_paid: bool,
    pub(super) failure: Option<Failure>,
    pub(super) outcome: Option<Outcome>,
    pub(super) watchers: Vec<Arc<str>>,
    /// What a run has kept for the next one.
    pub(super) checkpoint: Option<Vec<u8>>,
    /// The schedule that waits for the outcome, and what it does then.
    pub(super) after_outcome: Option<(String, AfterOutcome)>,
}

/// What a schedule does when its last task has an outcome.
#[derive(Clone, Copy, Debug)]
pub(super) enum AfterOutcome {
    /// It is due after so many milliseconds.
    Rearm(u64),
    /// It submits the next of the tasks that wait.
    SubmitWaiting,
}

impl Entry {
    pub(super) fn new(task: NewTask, now: u64) -> Self {
        Self {
            watchers: task.reply_to.iter().cloned().collect(),
            task,
            state: TaskState::Scheduled,
            failures: 0,
            worker_deaths: 0,
            fence: 0,
            worker: None,
            lease_until: 0,
            ready_since: now,
            unknown_since: None,
            rate_paid: false,
            failure: None,
            outcome: None,
            checkpoint: None,
            after_outcome: None,
        }
    }

    /// Returns whether it has been ready for longer than its queue timeout.
    pub(super) fn waited_too_long(&self, now: u64) -> bool {
        let waited = Duration::from_millis(now.saturating_sub(self.ready_since));
        let limit = self.task.options.queue_timeout;
        limit.is_some_and(|most| waited > most)
    }

    pub(super) fn to_record(&self) -> TaskRecord {
        let task = &self.task;
        let name = task.name.to_string();
        let mut record = TaskRecord::new(task.id.clone(), name, task.version, self.state);
        record.failures = self.failures;
        record.worker_deaths = self.worker_deaths;
        record.deliveries = self.fence;
        record.worker = self.worker.as_deref().map(str::to_owned);
        record.failure = self.failure.clone();
        record.outcome = self.outcome.clone();
        let kept = !self.state.is_final() || self.state == TaskState::Dead;
        record.payload = kept.then(|| task.payload.clone());
        record
    }
}
