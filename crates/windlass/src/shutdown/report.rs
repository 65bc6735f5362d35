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
    /// It has ended in time: nothing was interrupted or handed back.
    Drained,
    /// Its tasks were interrupted, and then it has terminated.
    Interrupted,
    /// Tasks run that ignore the interrupt, or did not end in time after it.
    StillRunning,
}

/// What became of the tasks of one executor.
///
/// Each task that the executor had accepted when the plan came to it has finished, was handed back, was cancelled by the
/// shutdown or still runs. Not in it are tasks that others have ended meanwhile: one that was cancelled through its handle or token,
/// has expired or was shed. Its handle has the reason.
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
    /// not [count](crate::ExecutorService::completed_count) them. A run of a periodic task counts, and so does each
    /// poll of a future, also if the task is cancelled afterwards.
    pub finished: Option<u64>,
    /// The tasks that never started, in queue order: run them, submit them elsewhere, save them. Those
    /// that are dropped complete their handles as cancelled.
    pub handed_back: Vec<Task>,
    /// How many tasks the shutdown has cancelled: periodic and delayed ones, as the executor is set to, and
    /// futures that were suspended; `None` for an executor that does not
    /// [count](crate::ExecutorService::cancelled_by_shutdown) them.
    pub cancelled: Option<u64>,
    /// The tasks that still run, with the threads on which they do; empty for an executor that does not
    /// [know](crate::ExecutorService::running_tasks).
    pub still_running: Vec<RunningTask>,
    /// How long it took.
    pub took: Duration,
}

/// What became of the tasks of all executors of a [`ShutdownPlan`](super::ShutdownPlan). Its `Display`
/// has a line for each executor and each task that still runs.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::shutdown::ShutdownPlan;
///
/// let timers = executors::scheduled_thread_pool(1);
/// let hour = Duration::from_secs(3600);
/// drop(timers.schedule_at_fixed_rate(hour, hour, || ()).unwrap());
/// let report = ShutdownPlan::new().pool("timers", &timers).run();
/// assert!(report.is_drained() && report.is_terminated());
/// assert_eq!(report.pools[0].cancelled, Some(1)); // the periodic task
/// println!("{report}"); // timers: drained after 102.6µs, 0 finished, 0 handed back, 1 cancelled
/// ```
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

    /// Returns whether no task was interrupted by the plan or handed back: all that were queued have run, or were cancelled by
    /// others than the plan.
    ///
    /// What is not queued does not keep an executor from draining: periodic tasks, delayed ones if the executor is set so, and
    /// futures that are suspended are [cancelled](PoolReport::cancelled) at once, as
    /// [`Shutdown`](crate::task::Cancellation::Shutdown).
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
        if let Some(cancelled @ 1..) = self.cancelled {
            write!(f, ", {cancelled} cancelled")?;
        }
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
