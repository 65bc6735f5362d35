//! The times of a pool, and what each worker does right now.

use super::shared::Shared;
use super::stats::PoolStats;
use crate::executor::RunningTask;
use crate::task::nanos;

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
