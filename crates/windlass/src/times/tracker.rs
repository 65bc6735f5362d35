//! The times of a pool: which tasks are timed, and what was measured.

use std::sync::Arc;

use super::mode::Times;
use super::records::Records;
use super::registry::Registry;
use super::sampler::Sampler;
use crate::sync::clock::Clock;
use crate::task::{Task, nanos};

/// The times of a pool.
///
/// Submitters and workers decide by samplers of their own: a backlog is run at another rate than it was
/// submitted. Both decide by the id of the task, so the tasks of the lower rate are among those of the
/// higher one, and the wait of a task is known if both have picked it.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Which tasks get a stamp when they are submitted. Read for each task, rarely written.
    pub(crate) submitted: Sampler,
    /// Which tasks are timed while they run. Read for each task, rarely written.
    pub(crate) run: Arc<Sampler>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) records: Arc<Records>,
}

impl Tracker {
    /// Creates the times of a pool that is built on the current thread.
    pub(crate) fn new(times: Times) -> Self {
        Self {
            submitted: times.sampler(),
            run: Arc::new(times.sampler()),
            registry: Arc::default(),
            records: Arc::default(),
        }
    }

    /// Records the time of submission on the task, if `is_wanted` or its wait is timed; else reads no
    /// clock.
    #[inline]
    pub(crate) fn record_submission(&self, task: Task, clock: &Clock, is_wanted: bool) -> Task {
        if is_wanted {
            return task.set_queued_at(clock.now(), 1);
        }
        match self.submitted.weight(task.id()) {
            None => task,
            Some(weight) => self.stamp(task, clock, weight),
        }
    }

    #[cold]
    fn stamp(&self, task: Task, clock: &Clock, weight: u64) -> Task {
        // A task with a timer waits from when it is due.
        if task.timer().is_some() {
            return task;
        }
        let now = clock.now();
        self.submitted.record(nanos(now));
        task.set_queued_at(now, weight)
    }
}
