//! The times of a pool: which tasks are timed, and what was measured.

use super::mode::Times;
use super::records::Records;
use super::registry::Registry;
use super::sampler::Sampler;

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
    pub(crate) run: Sampler,
    pub(crate) registry: Registry,
    pub(crate) records: Records,
}

impl Tracker {
    /// Creates the times of a pool that is built on the current thread.
    pub(crate) fn new(times: Times) -> Self {
        Self {
            submitted: times.sampler(),
            run: times.sampler(),
            registry: Registry::default(),
            records: Records::default(),
        }
    }
}
