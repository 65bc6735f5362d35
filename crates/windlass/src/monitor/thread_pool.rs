//! Thread pools and scheduled pools as the monitor sees them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::change::Change;
use super::change_error::ChangeError;
use super::settings::{Field, PoolSettings};
use super::snapshot::{
    DropCounts, Kind, QueueFigures, ScheduledFigures, Snapshot, TaskFigures, ThreadFigures,
    WorkerThread,
};
use super::source::{Monitorable, Monitored, Source};
use crate::pool::{
    Dropped, Patch, PoolState, PoolStats, RejectedExecutionHandler, Shared, ThreadPoolExecutor,
    Unsuccessful,
};
use crate::queue::{BlockingQueue, CapacityError};
use crate::scheduled::{ScheduledThreadPoolExecutor, WeakTimers};
use crate::times::{TaskRecord, TaskTimes};

/// How many of the scheduled tasks that are due next are shown.
const NEXT_RUNS: usize = 20;

/// A thread pool that is being looked at.
struct ObservedPool {
    shared: Arc<Shared>,
    timers: Option<WeakTimers>,
    is_resizable: bool,
}

impl Monitorable for ThreadPoolExecutor {
    fn source(&self) -> Source {
        source_of(self, None)
    }
}

impl Monitorable for ScheduledThreadPoolExecutor {
    fn source(&self) -> Source {
        source_of(self.pool(), Some(self.weak_timers()))
    }
}

fn source_of(pool: &ThreadPoolExecutor, timers: Option<WeakTimers>) -> Source {
    let weak: Weak<Shared> = Arc::downgrade(pool.shared());
    let is_resizable = timers.is_none() && is_resizable(pool.queue());
    Source::new(pool.name(), move || {
        let observed = ObservedPool {
            shared: weak.upgrade()?,
            timers: timers.clone(),
            is_resizable,
        };
        Some(Arc::new(observed))
    })
}

/// Returns whether the bound of the queue can be changed: each queue refuses a bound of zero, but one that
/// cannot be changed for another reason.
fn is_resizable<T: Send>(queue: &dyn BlockingQueue<T>) -> bool {
    match queue.set_capacity(0) {
        Err(CapacityError::NotResizable) => false,
        Err(_) => true,
        Ok(former) => former.is_some_and(|former| queue.set_capacity(former).is_ok()),
    }
}

impl Monitored for ObservedPool {
    fn snapshot(&self) -> Snapshot {
        let stats = self.shared.stats_with_all_times();
        let (kind, tunable) = match self.timers {
            None => (Kind::ThreadPool, self.tunable()),
            Some(_) => (Kind::Scheduled, self.tunable()),
        };
        let mut snapshot = Snapshot::new(kind);
        snapshot.state = stats.state;
        snapshot.settings = self.settings(tunable);
        snapshot.queue = self.queue(&stats);
        snapshot.tasks = self.tasks(&stats);
        snapshot.threads = self.thread_figures(&stats);
        let now = self.shared.clock().now();
        snapshot.running = self.shared.running_times();
        snapshot.oldest_running = snapshot.running.iter().max().copied();
        let paused_until = self.shared.paused_until();
        snapshot.paused_for = paused_until.map(|until| until.saturating_duration_since(now));
        snapshot.scheduled = self.timers.as_ref().map(|timers| {
            let figures = timers.figures(stats.queue_len, NEXT_RUNS);
            ScheduledFigures {
                queued: figures.queued,
                periodic: figures.periodic,
                overruns: figures.overruns,
                next: figures.next,
            }
        });
        snapshot.wait_times = stats.wait_times;
        snapshot.run_times = stats.run_times;
        snapshot
    }

    fn has_terminated(&self) -> bool {
        self.shared.state() == PoolState::Terminated
    }

    fn threads(&self) -> Vec<WorkerThread> {
        let threads = self.shared.threads().into_iter();
        threads
            .map(|(id, name, task)| WorkerThread::new(name, task).with_id(id))
            .collect()
    }

    fn task_times(&self) -> Vec<TaskTimes> {
        self.shared.task_times()
    }

    fn check(&self, change: &Change) -> Result<Vec<String>, ChangeError> {
        let warnings = self.shared.check_patch(&patch(change, None))?;
        Ok(warnings.iter().map(ToString::to_string).collect())
    }

    fn apply(
        &self,
        change: &Change,
        policy: Option<Arc<dyn RejectedExecutionHandler>>,
    ) -> Result<(), ChangeError> {
        self.shared.reconfigure(patch(change, policy))?;
        Ok(())
    }

    fn rejection_handler(&self) -> Option<Arc<dyn RejectedExecutionHandler>> {
        Some(self.shared.handler.with(Arc::clone))
    }

    fn prestart(&self) -> Result<usize, ChangeError> {
        Ok(self.shared.prestart_all())
    }

    fn purge(&self) -> Result<usize, ChangeError> {
        Ok(self.shared.purge())
    }

    fn pause(&self, time: Duration) -> Result<(), ChangeError> {
        self.shared.pause(time);
        Ok(())
    }

    fn resume(&self) -> Result<(), ChangeError> {
        self.shared.resume();
        Ok(())
    }

    fn take_records(&self) -> Vec<TaskRecord> {
        self.shared.tracker.records.take()
    }

    fn keep_records(&self) {
        self.shared.tracker.records.keep();
    }

    fn shutdown(&self) -> Result<(), ChangeError> {
        self.shared.shutdown();
        Ok(())
    }
}

impl ObservedPool {
    fn tunable(&self) -> Vec<Field> {
        let mut tunable = vec![Field::Core];
        // The queue of a scheduled pool is unbounded, so there are never more workers than core.
        if self.timers.is_none() {
            tunable.push(Field::Max);
        }
        tunable.extend([Field::KeepAlive, Field::AllowCoreTimeout]);
        if self.is_resizable {
            tunable.push(Field::Capacity);
        }
        tunable.push(Field::Policy);
        tunable
    }

    fn settings(&self, tunable: Vec<Field>) -> PoolSettings {
        let settings = self.shared.settings.snapshot();
        let policy = self.shared.handler.with(Arc::clone);
        PoolSettings {
            core: Some(settings.core),
            max: Some(settings.maximum),
            keep_alive: Some(settings.keep_alive),
            allow_core_timeout: Some(settings.core_timeout),
            capacity: self.shared.queue.capacity(),
            policy: Some(Arc::from(policy.name())),
            parallelism: None,
            tunable,
        }
    }

    fn queue(&self, stats: &PoolStats) -> QueueFigures {
        let age = self.shared.queue_age();
        QueueFigures {
            len: stats.queue_len,
            capacity: self.shared.queue.capacity(),
            remaining: stats.queue_remaining_capacity,
            oldest: age.map(|age| age.age),
            oldest_is_exact: age.is_some_and(|age| age.is_exact),
        }
    }

    fn thread_figures(&self, stats: &PoolStats) -> ThreadFigures {
        ThreadFigures {
            size: stats.pool_size,
            active: stats.active_count,
            core: stats.core_pool_size,
            max: stats.maximum_pool_size,
            largest: stats.largest_pool_size,
            waiting: stats.waiting_count,
            started: Some(self.shared.tally.started()),
            exited: Some(self.shared.tally.exits()),
            refused: stats.refused_thread_count,
        }
    }

    fn tasks(&self, stats: &PoolStats) -> TaskFigures {
        let tally = &self.shared.tally;
        let rejected = tally.rejections();
        let dropped = DropCounts {
            // Each such rejection has dropped one task: the oldest or, if there was none, the new one.
            discard_oldest: rejected.discard_oldest,
            shutdown_now: tally.dropped(Dropped::ShutdownNow),
            purged: tally.dropped(Dropped::Purged),
            queue_timeout: stats.expired_task_count,
            shed: stats.shed_task_count,
            abandoned: stats.abandoned_task_count,
        };
        // A task that was let in after all, by the other two policies, is counted as accepted.
        let refused = rejected.abort + rejected.caller_runs + rejected.discard + rejected.custom;
        let gone = dropped.total() - dropped.queue_timeout + tally.dropped(Dropped::Expired);
        TaskFigures {
            submitted: stats.task_count + refused + gone,
            completed: stats.completed_task_count,
            failed: stats.failed_task_count,
            panicked: tally.unsuccessful(Unsuccessful::Panicked),
            cancelled: tally.unsuccessful(Unsuccessful::Cancelled),
            rejected,
            expired: stats.expired_task_count,
            timed_out: stats.timed_out_task_count,
            dropped,
        }
    }
}

fn patch(change: &Change, policy: Option<Arc<dyn RejectedExecutionHandler>>) -> Patch {
    let mut patch = Patch::new();
    if let Some(core) = change.core {
        patch = patch.core_pool_size(core);
    }
    if let Some(max) = change.max {
        patch = patch.maximum_pool_size(max);
    }
    if let Some(time) = change.keep_alive {
        patch = patch.keep_alive(time);
    }
    if let Some(allow) = change.allow_core_timeout {
        patch = patch.allow_core_thread_timeout(allow);
    }
    if let Some(capacity) = change.capacity {
        patch = patch.queue_capacity(capacity);
    }
    if let Some(policy) = policy {
        patch = patch.shared_rejection_handler(policy);
    }
    patch
}
