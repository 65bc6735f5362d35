//! Fork-join pools as the monitor sees them.

use std::sync::Arc;

use super::change::Change;
use super::change_error::ChangeError;
use super::settings::{Field, PoolSettings};
use super::snapshot::{
    ForkJoinFigures, Kind, QueueFigures, Snapshot, TaskFigures, ThreadFigures, WorkerThread,
};
use super::source::{Monitorable, Monitored, Source};
use crate::forkjoin::{ForkJoinPool, ForkJoinStats, ObservedForkJoin};
use crate::pool::RejectedExecutionHandler;
use crate::times::{TaskRecord, TaskTimes};

impl Monitorable for ForkJoinPool {
    fn source(&self) -> Source {
        let weak = self.downgrade();
        Source::new(self.name(), move || Some(Arc::new(weak.upgrade()?)))
    }
}

impl Monitored for ObservedForkJoin {
    fn snapshot(&self) -> Snapshot {
        let stats = self.stats();
        let mut snapshot = Snapshot::new(Kind::ForkJoin);
        snapshot.state = stats.state;
        snapshot.threads = threads(&stats);
        snapshot.queue = QueueFigures {
            len: stats.queued_task_count + stats.queued_submission_count,
            ..QueueFigures::default()
        };
        snapshot.tasks = tasks(&stats);
        snapshot.settings = PoolSettings {
            parallelism: Some(stats.parallelism),
            tunable: vec![Field::Parallelism],
            ..PoolSettings::default()
        };
        snapshot.fork_join = Some(ForkJoinFigures {
            parallelism: stats.parallelism,
            running: stats.running_thread_count,
            queued: stats.queued_task_count,
            submissions: stats.queued_submission_count,
            delayed: stats.delayed_task_count,
            steals: stats.steal_count,
        });
        snapshot.running = self.running_times();
        snapshot.oldest_running = snapshot.running.iter().max().copied();
        snapshot.wait_times = stats.wait_times;
        snapshot.run_times = stats.run_times;
        snapshot
    }

    fn has_terminated(&self) -> bool {
        self.is_terminated()
    }

    fn threads(&self) -> Vec<WorkerThread> {
        let threads = ObservedForkJoin::threads(self).into_iter();
        threads
            .map(|(id, name, task)| WorkerThread::new(name, task).with_id(id))
            .collect()
    }

    fn task_times(&self) -> Vec<TaskTimes> {
        ObservedForkJoin::task_times(self)
    }

    fn take_records(&self) -> Vec<TaskRecord> {
        ObservedForkJoin::take_records(self)
    }

    fn keep_records(&self) {
        ObservedForkJoin::keep_records(self);
    }

    fn check(&self, change: &Change) -> Result<Vec<String>, ChangeError> {
        if let Some(parallelism) = change.parallelism {
            Self::check_parallelism(parallelism)?;
        }
        Ok(Vec::new())
    }

    fn apply(
        &self,
        change: &Change,
        _policy: Option<Arc<dyn RejectedExecutionHandler>>,
    ) -> Result<(), ChangeError> {
        if let Some(parallelism) = change.parallelism {
            self.set_parallelism(parallelism)?;
        }
        Ok(())
    }

    fn shutdown(&self) -> Result<(), ChangeError> {
        if self.is_common() {
            return Err(ChangeError::Unsupported("shutdown"));
        }
        ObservedForkJoin::shutdown(self);
        Ok(())
    }
}

fn threads(stats: &ForkJoinStats) -> ThreadFigures {
    ThreadFigures {
        size: stats.pool_size,
        active: stats.active_thread_count,
        core: stats.parallelism,
        max: stats.parallelism,
        largest: stats.largest_pool_size,
        waiting: stats
            .active_thread_count
            .saturating_sub(stats.running_thread_count),
        started: None,
        exited: None,
        refused: stats.refused_thread_count,
    }
}

fn tasks(stats: &ForkJoinStats) -> TaskFigures {
    let completed = stats.completed_task_count + stats.failed_task_count + stats.skipped_task_count;
    let mut tasks = TaskFigures {
        completed,
        failed: stats.failed_task_count,
        cancelled: stats.skipped_task_count,
        expired: stats.expired_task_count,
        timed_out: stats.timed_out_task_count,
        ..TaskFigures::default()
    };
    // A fork-join pool has no handler: what it does not accept is returned.
    tasks.rejected.abort = stats.rejected_count;
    tasks.dropped.abandoned = stats.abandoned_task_count;
    // What runs is not counted, so this can lag behind by as many tasks as there are threads.
    tasks.submitted = completed
        + stats.abandoned_task_count
        + stats.rejected_count
        + (stats.queued_task_count + stats.queued_submission_count) as u64;
    tasks
}
