//! A snapshot of the figures of a pool.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::ctl::RunState;
use super::shared::Shared;
use crate::executor::PoolState;
use crate::times::{Histogram, TaskTimes};

/// A snapshot of the figures of a pool.
///
/// One snapshot does not contradict itself: completed, active and queued tasks together are no more
/// than `task_count`, failed tasks no more than completed ones, and active workers no more than
/// `pool_size`, which is no more than `largest_pool_size`. `task_count` includes tasks that a worker
/// has taken from the queue and not begun. So it never falls while no task is removed.
///
/// Like the JDK's, `pool_size` can exceed the maximum: after that was lowered, and for the moment in
/// which a worker that ends has been replaced; and with
/// [`spare_workers`](super::Builder::spare_workers) while workers wait.
///
/// The `Display` output has the format of the JDK's `toString`, with the name after the `@`:
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().name("web").build().unwrap();
/// assert_eq!(
///     pool.stats().to_string(),
///     "ThreadPoolExecutor@web[Running, pool size = 0, active threads = 0, queued tasks = 0, \
///      completed tasks = 0]"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The name of the pool's type, as it is displayed.
    pub kind: &'static str,
    /// The name of the pool.
    pub name: Arc<str>,
    /// The state of the pool.
    pub state: PoolState,
    /// Workers that have a thread.
    pub pool_size: usize,
    /// Workers that run a task.
    pub active_count: usize,
    /// The largest number of workers so far.
    pub largest_pool_size: usize,
    /// Tasks that a worker has taken and that have ended: completed, failed or cancelled.
    pub completed_task_count: u64,
    /// Completed tasks that have failed: they panicked, a callback of theirs did, or they returned an
    /// error to a `…_fallible` submission. Exact when the pool has terminated.
    pub failed_task_count: u64,
    /// Tasks that were not started in time: their deadline or their limit of queue time passed. They are
    /// cancelled at once, and completed when a worker meets them, unless the queue was full before.
    pub expired_task_count: u64,
    /// Tasks whose run took longer than its limit, and was interrupted.
    pub timed_out_task_count: u64,
    /// Tasks that were taken from the queue and not run, since tasks wait too long; see
    /// [`Builder::shed`](super::Builder::shed).
    pub shed_task_count: u64,
    /// Completed tasks that a thread which waited for them has run in place.
    pub in_place_task_count: u64,
    /// Workers that wait for another task inside a task.
    pub waiting_count: usize,
    /// Tasks in the queue.
    pub queue_len: usize,
    /// How many more tasks the queue has room for; `None` if it is unbounded.
    pub queue_remaining_capacity: Option<usize>,
    /// All tasks accepted so far and not removed: completed, active and queued.
    pub task_count: u64,
    /// The number of calls of the rejection handler.
    pub rejected_count: u64,
    /// Tasks that were accepted and then cancelled, because no worker was left and no thread could be
    /// created.
    pub abandoned_task_count: u64,
    /// Threads that could not be created. While it grows, the pool may have fewer workers than its
    /// settings ask for.
    pub refused_thread_count: u64,
    /// The kind of the error of the last thread that could not be created.
    pub last_refusal: Option<io::ErrorKind>,
    /// Workers that are kept even when idle.
    pub core_pool_size: usize,
    /// The maximum number of workers.
    pub maximum_pool_size: usize,
    /// How long tasks waited for a worker, from their submission; scheduled tasks from when they were
    /// due. Empty if the pool [takes no times](super::Times::Off).
    pub wait_times: Histogram,
    /// How long tasks ran, hooks included. Empty if the pool takes no times.
    pub run_times: Histogram,
    /// The times of tasks that have a name, by name.
    pub task_times: Vec<TaskTimes>,
}

impl fmt::Display for PoolStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}@{}[{}, pool size = {}, active threads = {}, queued tasks = {}, \
             completed tasks = {}]",
            self.kind,
            self.name,
            self.state,
            self.pool_size,
            self.active_count,
            self.queue_len,
            self.completed_task_count
        )
    }
}

/// The number of attempts at a consistent read; one in a model, where a few tasks have to disturb all
/// of them.
const TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };

impl Shared {
    /// Returns the figures of the pool, without its times.
    pub(crate) fn stats(&self) -> PoolStats {
        let last = self.task_count.last();
        // Before the completed tasks, among which they are.
        let failed = self.failed();
        let in_place = self.roster.in_place.ended();
        let state = self.ctl.load().state();
        let mut before = self.roster.snapshot();
        let mut queue_len = self.queue.len();
        let mut heads = self.roster.snapshot();
        for _ in 0..TRIES {
            if (heads.begun(), heads.active) == (before.begun(), before.active) {
                break;
            }
            before = heads;
            queue_len = self.queue.len();
            heads = self.roster.snapshot();
        }
        // Bounds of the number of tasks at the time when the queue was read. The lower one is also
        // that of the figures of the workers, which were read later if the pool kept changing.
        let ended = state >= RunState::Tidying;
        let searching = if ended { 0 } else { heads.searching };
        let least = (before.begun() + queue_len as u64).max(heads.begun());
        let most = heads.begun() + queue_len as u64 + searching as u64;
        let task_count = self.task_count.update(last, least, most);
        // Tasks may have been taken since the queue was read, and then count as begun.
        let unbegun = usize::try_from(task_count - heads.begun()).unwrap_or(usize::MAX);
        let queue_len = queue_len.min(unbegun);
        // When the pool has terminated, the last workers may not have left the roster yet.
        let pool_size = if ended { 0 } else { heads.present };
        let kind = match self.options.timers {
            None => "ThreadPoolExecutor",
            Some(_) => "ScheduledThreadPoolExecutor",
        };
        let settings = self.settings.snapshot();
        PoolStats {
            kind,
            name: Arc::clone(self.name()),
            state: PoolState::from(state),
            pool_size,
            active_count: heads.active.min(pool_size),
            largest_pool_size: heads.largest,
            completed_task_count: heads.completed,
            failed_task_count: failed,
            expired_task_count: self.options.limits.expired(),
            timed_out_task_count: self.options.limits.timed_out(),
            shed_task_count: self.options.limits.shed(),
            in_place_task_count: in_place,
            waiting_count: self.waits.blocked().min(pool_size),
            queue_len,
            queue_remaining_capacity: self.queue.remaining_capacity(),
            task_count,
            rejected_count: self.rejections(),
            abandoned_task_count: self.abandoned(),
            refused_thread_count: self.refusals.count(),
            last_refusal: self.refusals.last(),
            core_pool_size: settings.core,
            maximum_pool_size: settings.maximum,
            wait_times: Histogram::default(),
            run_times: Histogram::default(),
            task_times: Vec::new(),
        }
    }
}

impl From<RunState> for PoolState {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Shutdown | RunState::Stop | RunState::Tidying => Self::ShuttingDown,
            RunState::Terminated => Self::Terminated,
        }
    }
}
