//! What a monitor reads and asks of a pool, beside its figures.

use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use super::spawn::SizeLimit;
use super::tally::Dropped;
use crate::executor::PoolState;
use crate::executor::RunningTask;
use crate::task::{Task, nanos};

/// How many queued tasks are looked at for one whose time of submission is known.
const LOOKED_AT: usize = 4096;

/// How long the next task of a queue has been waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueAge {
    pub(crate) age: Duration,
    /// Whether this is the age of the next task itself. If not, the next task is at least as old: its time
    /// was not recorded, and this is the age of one behind it.
    pub(crate) is_exact: bool,
}

impl Shared {
    /// Returns the state as users see it.
    pub(crate) fn state(&self) -> PoolState {
        PoolState::from(self.ctl.load().state())
    }

    /// Returns how long the next task has been waiting, or has been due; `None` if it is not known.
    ///
    /// If its time was not recorded, those behind it are looked at, unless there are very many: the queue
    /// is locked meanwhile.
    pub(crate) fn queue_age(&self) -> Option<QueueAge> {
        let now = nanos(self.clock().now());
        let since = |task: &Task| match task.timer() {
            Some(timer) => Some(timer.place().due()),
            None => task.stamp().map(|stamp| stamp.nanos()),
        };
        let mut first = None;
        self.queue.peek(&mut |task| first = since(task));
        let is_exact = first.is_some();
        if !is_exact && self.queue.len() <= LOOKED_AT {
            self.queue.for_each(&mut |task| {
                if first.is_none() {
                    first = since(task);
                }
            });
        }
        // A scheduled task whose time has not come does not wait.
        let age = now.checked_sub(first?)?;
        Some(QueueAge {
            age: Duration::from_nanos(age),
            is_exact,
        })
    }

    /// Returns the workers: their numbers, the names of their threads, and what each of them runs.
    pub(crate) fn threads(&self) -> Vec<(u64, Option<Arc<str>>, Option<RunningTask>)> {
        let workers = self.roster.present().into_iter();
        let now = nanos(self.clock().now());
        let threads = workers.map(|worker| {
            let name = worker.thread_name();
            let task = RunningTask::of(&worker.activity, now, name.as_deref());
            (worker.number(), name.map(Arc::from), task)
        });
        let mut threads: Vec<_> = threads.collect();
        // Those that begin from now on have an exact time.
        self.tracker.run.time_all(now);
        threads.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        threads
    }

    /// Starts all core workers; returns how many were started.
    pub(crate) fn prestart_all(self: &Arc<Self>) -> usize {
        // Bounded, should the factory return `Ok` without creating threads.
        let tries = 0..self.settings.core();
        let started = tries.take_while(|_| self.add_worker(None, SizeLimit::Core).is_ok());
        started.count()
    }

    /// Removes cancelled tasks from the queue; returns how many.
    pub(crate) fn purge(&self) -> usize {
        let cancelled = self.queue.retain(&mut |task| !task.is_cancelled());
        self.tally.count_dropped(Dropped::Purged, cancelled.len());
        self.task_count.invalidate();
        self.room.serve();
        self.try_terminate();
        cancelled.len()
    }
}
