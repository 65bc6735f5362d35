//! What a monitor reads and asks of a fork-join pool, without keeping it alive.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::executor::ForkJoinPool;
use super::parallelism::{ParallelismError, check};
use super::shared::Shared;
use super::state::RunState;
use super::stats::ForkJoinStats;
use crate::executor::RunningTask;
use crate::task::nanos;
use crate::times::{TaskRecord, TaskTimes};

/// A reference to a pool that does not keep it from ending.
#[derive(Debug, Clone)]
pub(crate) struct WeakForkJoin {
    shared: Weak<Shared>,
    is_common: bool,
}

/// A pool that is being looked at. It does not keep the pool from being shut down by its owners.
pub(crate) struct ObservedForkJoin {
    shared: Arc<Shared>,
    is_common: bool,
}

impl ForkJoinPool {
    /// Returns a reference that does not keep the pool from ending.
    pub(crate) fn downgrade(&self) -> WeakForkJoin {
        WeakForkJoin {
            shared: Arc::downgrade(self.shared()),
            is_common: self.is_common(),
        }
    }
}

impl WeakForkJoin {
    pub(crate) fn upgrade(&self) -> Option<ObservedForkJoin> {
        let shared = self.shared.upgrade()?;
        let is_common = self.is_common;
        Some(ObservedForkJoin { shared, is_common })
    }
}

impl ObservedForkJoin {
    pub(crate) fn stats(&self) -> ForkJoinStats {
        self.shared.stats_with_all_times()
    }

    pub(crate) fn task_times(&self) -> Vec<TaskTimes> {
        self.shared.task_times()
    }

    pub(crate) fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    pub(crate) fn running_times(&self) -> Vec<Duration> {
        self.shared.running_times()
    }

    /// Returns the workers, and the threads from outside that run a task: their numbers, the names of their
    /// threads, and what each of them runs.
    pub(crate) fn threads(&self) -> Vec<(u64, Option<Arc<str>>, Option<RunningTask>)> {
        let now = nanos(self.now());
        let workers = self.shared.roster.snapshot();
        let threads = workers.iter().filter_map(|worker| {
            let name = worker.thread_name();
            let task = RunningTask::of(&worker.activity, now, name);
            let is_shown = worker.is_worker() || task.is_some();
            is_shown.then(|| (worker.index as u64, name.map(Arc::from), task))
        });
        let mut threads: Vec<_> = threads.collect();
        // Those that begin from now on have an exact time.
        self.shared.tracker.run.time_all(now);
        threads.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        threads
    }

    /// Returns the slow and the failed tasks since the last call.
    pub(crate) fn take_records(&self) -> Vec<TaskRecord> {
        self.shared.tracker.records.take()
    }

    pub(crate) fn keep_records(&self) {
        self.shared.tracker.records.keep();
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.shared.run_state() == RunState::Terminated
    }

    pub(crate) fn check_parallelism(parallelism: usize) -> Result<usize, ParallelismError> {
        check(parallelism)
    }

    pub(crate) fn set_parallelism(&self, parallelism: usize) -> Result<usize, ParallelismError> {
        Ok(self.shared.set_parallelism(check(parallelism)?))
    }

    /// Returns whether this is the common pool, which never ends.
    pub(crate) const fn is_common(&self) -> bool {
        self.is_common
    }

    pub(crate) fn shutdown(&self) {
        self.shared.shutdown();
    }
}
