//! A snapshot of the figures of a fork-join pool.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::roster::WorkerInfo;
use super::shared::Shared;
use super::state::RunState;
use crate::executor::{PoolState, RunningTask};
use crate::task::nanos;
use crate::times::{Histogram, TaskTimes, times_of_runs};

/// A snapshot of the figures of a fork-join pool.
///
/// What it counts of each worker adds up to its totals, together with what workers have done that have
/// retired.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkJoinStats {
    /// The name of the pool.
    pub name: Arc<str>,
    /// The state of the pool.
    pub state: PoolState,
    /// How many workers run at a time.
    pub parallelism: usize,
    /// Workers that exist or are being started.
    pub pool_size: usize,
    /// The highest value of `pool_size` so far.
    pub largest_pool_size: usize,
    /// Workers that are not asleep.
    pub active_thread_count: usize,
    /// Active workers that are not blocked inside a task.
    pub running_thread_count: usize,
    /// Work that was run by another thread than the one that forked or submitted it.
    pub steal_count: u64,
    /// Tasks that were submitted or forked, and have ended with a value. Closures of `join` and `scope` are no
    /// tasks.
    pub completed_task_count: u64,
    /// Tasks that have ended with a panic or an error.
    pub failed_task_count: u64,
    /// Tasks that were cancelled before or while they ran, or whose hook has panicked; and those that a worker has
    /// found done: completed by hand, or run by a thread that joined them.
    pub skipped_task_count: u64,
    /// Tasks that were not started in time: their deadline or their limit of queue time passed. A worker that
    /// meets one in a queue counts it as skipped too.
    pub expired_task_count: u64,
    /// Tasks whose run took longer than its limit, and was interrupted. They are among the skipped ones too.
    pub timed_out_task_count: u64,
    /// Work that workers have forked and that has not started.
    pub queued_task_count: usize,
    /// Work that was submitted from outside and that has not started.
    pub queued_submission_count: usize,
    /// Scheduled tasks that are not yet due.
    pub delayed_task_count: usize,
    /// Tasks that were not accepted: the pool was shut down, or had no worker and no thread could be created.
    pub rejected_count: u64,
    /// Submitted tasks that were accepted and then cancelled, because no worker was left and no thread
    /// could be created.
    pub abandoned_task_count: u64,
    /// Threads that could not be created. While it grows, the pool may have fewer workers than its
    /// parallelism.
    pub refused_thread_count: u64,
    /// The kind of the error of the last thread that could not be created.
    pub last_refusal: Option<io::ErrorKind>,
    /// Closures of `install`, `join`, `scope` and `invoke` that ran on the calling thread, because the pool
    /// had ended or no worker would have run them.
    pub caller_run_count: u64,
    /// How long tasks waited, from when they were submitted or forked; scheduled tasks from when they were due.
    /// Empty if the pool [takes no times](crate::pool::Times::Off).
    ///
    /// Tasks that were cancelled before they started, or found done, are not among them, nor are the closures
    /// of `join` and `scope`.
    pub wait_times: Histogram,
    /// How long tasks ran, hooks and what they ran while they waited included. Empty if the pool takes no
    /// times.
    pub run_times: Histogram,
    /// The times of tasks that have a name, by name.
    pub task_times: Vec<TaskTimes>,
    /// The figures of each worker that there is now, and of each thread from outside that runs work of the pool.
    pub workers: Vec<ForkJoinWorker>,
}

/// The figures of one worker of a fork-join pool.
///
/// ```
/// use windlass::forkjoin::ForkJoinPool;
/// use windlass::prelude::*;
///
/// let pool = ForkJoinPool::new(1).unwrap();
/// pool.submit(|| ()).unwrap().join().unwrap();
/// pool.await_quiescence(std::time::Duration::from_secs(60));
/// assert_eq!(pool.stats().workers[0].completed_task_count, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkJoinWorker {
    /// Its index, which no other worker of the pool has or had.
    pub index: usize,
    /// Tasks that have ended here with a value.
    pub completed_task_count: u64,
    /// Tasks that have ended here with a panic or an error.
    pub failed_task_count: u64,
    /// As [`ForkJoinStats::skipped_task_count`].
    pub skipped_task_count: u64,
    /// Work that it has run and others have forked or submitted.
    pub steal_count: u64,
    /// Work that it has forked and that has not started.
    pub queued_task_count: usize,
}

impl ForkJoinWorker {
    fn of(worker: &WorkerInfo) -> Self {
        let tasks = worker.tasks.get();
        Self {
            index: worker.index,
            completed_task_count: tasks.completed,
            failed_task_count: tasks.failed,
            skipped_task_count: tasks.skipped,
            steal_count: worker.steals(),
            queued_task_count: worker.stealer.len(),
        }
    }
}

impl Shared {
    /// Returns what each worker does, and each thread from outside that runs tasks of the pool.
    pub(super) fn running_tasks(&self) -> Vec<RunningTask> {
        let now = nanos(self.clock.now());
        let workers = self.roster.snapshot();
        let running = workers
            .iter()
            .filter_map(|worker| RunningTask::of(&worker.activity, now, worker.thread_name()));
        let running = running.collect();
        // Those that begin from now on have an exact time.
        self.tracker.run.time_all(now);
        running
    }

    /// Returns how long each thread that runs a task has been running it.
    ///
    /// Read each second by a monitor: it makes the pool time its tasks only if one of them is long.
    pub(super) fn running_times(&self) -> Vec<Duration> {
        let now = nanos(self.clock.now());
        let workers = self.roster.snapshot();
        let activities = workers.iter().map(|worker| &**worker.activity);
        times_of_runs(activities, &self.tracker.run, now)
    }

    /// Returns the figures of the pool with its times, but those of tasks with a name.
    pub(super) fn stats_with_all_times(&self) -> ForkJoinStats {
        let mut stats = self.stats();
        (stats.wait_times, stats.run_times) = self.tracker.registry.all_times();
        stats
    }

    /// Returns the times of tasks with a name.
    pub(super) fn task_times(&self) -> Vec<TaskTimes> {
        self.tracker.registry.totals().named
    }

    /// Returns the figures of the pool with its times.
    pub(super) fn stats_with_times(&self) -> ForkJoinStats {
        let mut stats = self.stats();
        let totals = self.tracker.registry.totals();
        stats.wait_times = totals.wait_times;
        stats.run_times = totals.run_times;
        stats.task_times = totals.named;
        stats
    }

    /// Returns the figures of the pool, without its times.
    pub(super) fn stats(&self) -> ForkJoinStats {
        let state = self.lock();
        let census = &state.census;
        let (workers, retired) = self.roster.snapshot_with_retired();
        // Each counter is read once: what the workers have done adds up to the totals.
        let workers: Vec<_> = workers.iter().map(ForkJoinWorker::of).collect();
        let sum = |count: fn(&ForkJoinWorker) -> u64| workers.iter().map(count).sum::<u64>();
        let active = census.live - census.sleeping.len();
        ForkJoinStats {
            name: Arc::clone(&self.config.name),
            state: PoolState::from(state.run_state),
            parallelism: census.parallelism,
            pool_size: census.live,
            largest_pool_size: census.most_live,
            active_thread_count: active,
            running_thread_count: active.saturating_sub(census.blocked),
            steal_count: retired.steals + sum(|worker| worker.steal_count),
            completed_task_count: retired.tasks.completed
                + sum(|worker| worker.completed_task_count),
            failed_task_count: retired.tasks.failed + sum(|worker| worker.failed_task_count),
            skipped_task_count: retired.tasks.skipped + sum(|worker| worker.skipped_task_count),
            expired_task_count: self.limits.expired(),
            timed_out_task_count: self.limits.timed_out(),
            queued_task_count: workers.iter().map(|worker| worker.queued_task_count).sum(),
            queued_submission_count: state.injector.len(),
            delayed_task_count: self.timers.get().map_or(0, |timers| timers.delayed()),
            rejected_count: self.rejections(),
            abandoned_task_count: state.abandoned,
            refused_thread_count: self.refusals.count(),
            last_refusal: self.refusals.last(),
            caller_run_count: state.caller_runs,
            wait_times: Histogram::default(),
            run_times: Histogram::default(),
            task_times: Vec::new(),
            workers,
        }
    }
}

impl From<RunState> for PoolState {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Shutdown | RunState::Stop => Self::ShuttingDown,
            RunState::Terminated => Self::Terminated,
        }
    }
}
