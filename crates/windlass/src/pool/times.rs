//! The times of a pool, and what each worker does right now.

use std::time::Duration;

use super::shared::Shared;
use super::stats::PoolStats;
use crate::executor::RunningTask;
use crate::task::nanos;
use crate::times::{TaskTimes, times_of_runs};

impl Shared {
    /// Returns what each worker does.
    pub(crate) fn running_tasks(&self) -> Vec<RunningTask> {
        let workers = self.roster.present();
        let now = nanos(self.clock().now());
        let running = workers.iter().filter_map(|worker| {
            let thread = worker.thread_name();
            RunningTask::of(&worker.activity, now, thread.as_deref())
        });
        let running = running.collect();
        // Those that begin from now on have an exact time.
        self.tracker.run.time_all(now);
        running
    }

    /// Returns how long each worker that runs a task has been running it.
    ///
    /// Read each second by a monitor: it makes the pool time its tasks only if one of them is long.
    pub(crate) fn running_times(&self) -> Vec<Duration> {
        let workers = self.roster.present();
        let now = nanos(self.clock().now());
        let activities = workers.iter().map(|worker| &**worker.activity);
        times_of_runs(activities, &self.tracker.run, now)
    }

    /// Returns the figures of the pool with its times, but those of tasks with a name.
    pub(crate) fn stats_with_all_times(&self) -> PoolStats {
        let mut stats = self.stats();
        (stats.wait_times, stats.run_times) = self.tracker.registry.all_times();
        stats
    }

    /// Returns the times of tasks with a name.
    pub(crate) fn task_times(&self) -> Vec<TaskTimes> {
        self.tracker.registry.totals().named
    }

    /// Returns the figures of the pool with its times.
    pub(crate) fn stats_with_times(&self) -> PoolStats {
        let mut stats = self.stats();
        let totals = self.tracker.registry.totals();
        stats.wait_times = totals.wait_times;
        stats.run_times = totals.run_times;
        stats.task_times = totals.named;
        stats
    }
}
