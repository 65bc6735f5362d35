//! What became of the tasks of executors that were shut down.

use std::fmt;
use std::time::Duration;

use crate::executor::RunningTask;
use crate::task::Task;

/// How an executor has ended, in order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PoolEnd {
    /// It was terminated before the plan came to it.
    AlreadyTerminated,
    /// It has finished all of its tasks in time.
    Drained,
    /// Its tasks were interrupted, and then it has terminated.
    Interrupted,
    /// Tasks run that ignore the interrupt, or did not end in time after it.
    StillRunning,
}

/// What became of the tasks of one executor.
///
/// See [`ShutdownPlan`](super::ShutdownPlan) for an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct PoolReport {
    /// The name that it has in the plan.
    pub name: String,
    /// How it has ended.
    pub end: PoolEnd,
    /// How many tasks have run to their end after the plan came to it; `None` for an executor that does
    /// not [count](crate::ExecutorService::completed_count) them.
    pub finished: Option<u64>,
    /// The tasks that never started, in queue order: run them, submit them elsewhere, save them. Those
    /// that are dropped complete their handles as cancelled.
    pub handed_back: Vec<Task>,
    /// The tasks that still run, with the threads on which they do; empty for an executor that does not
    /// [know](crate::ExecutorService::running_tasks).
    pub still_running: Vec<RunningTask>,
    /// How long it took.
    pub took: Duration,
}

/// What became of the tasks of all executors of a [`ShutdownPlan`](super::ShutdownPlan). Its `Display`
/// has a line for each executor and each task that still runs.
#[derive(Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// One report for each executor, in the order of the plan.
    pub pools: Vec<PoolReport>,
    /// How long it took altogether.
    pub took: Duration,
}

impl ShutdownReport {
    /// Returns whether all executors have terminated.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        !self
            .pools
            .iter()
            .any(|pool| pool.end == PoolEnd::StillRunning)
    }

    /// Returns whether every accepted task has run to its end, without an interrupt.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.pools.iter().all(|pool| pool.end <= PoolEnd::Drained)
    }

    /// Converts the report into the tasks that never started, of all executors in order.
    pub fn into_tasks(self) -> impl Iterator<Item = Task> {
        self.pools.into_iter().flat_map(|pool| pool.handed_back)
    }
}

impl fmt::Display for PoolEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyTerminated => "had terminated before",
            Self::Drained => "drained",
            Self::Interrupted => "interrupted",
            Self::StillRunning => "still running",
        })
    }
}

impl fmt::Display for PoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} after {:?}", self.name, self.end, self.took)?;
        if let Some(finished) = self.finished {
            write!(f, ", {finished} finished")?;
        }
        write!(f, ", {} handed back", self.handed_back.len())?;
        for task in &self.still_running {
            write!(f, "\n  still runs: {task}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pool) in self.pools.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{pool}")?;
        }
        Ok(())
    }
}
