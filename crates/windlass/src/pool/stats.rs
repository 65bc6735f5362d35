//! One consistent picture of a pool.

use std::fmt;
use std::sync::Arc;

use super::ctl::RunState;
use super::shared::Shared;

/// The figures of a pool at one moment.
///
/// They fit each other, unless the pool was so busy that no quiet moment was found: no task is
/// counted twice. `task_count` is the sum of completed, active and queued tasks, and of those on
/// their way from the queue to a worker, so that it never falls while no task is removed.
///
/// Displayed in the JDK's words:
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
    /// The name of the pool.
    pub name: Arc<str>,
    /// How far the pool's life has come.
    pub state: PoolState,
    /// Workers whose threads are there.
    pub pool_size: usize,
    /// Workers that are busy with a task.
    pub active_count: usize,
    /// The most workers there ever were.
    pub largest_pool_size: usize,
    /// Tasks that have ended, in whatever way.
    pub completed_task_count: u64,
    /// Tasks in the queue.
    pub queue_len: usize,
    /// How many more the queue has room for; `None` where there is no bound.
    pub queue_remaining_capacity: Option<usize>,
    /// All tasks ever taken, as far as they have not been removed: completed, active and queued.
    pub task_count: u64,
    /// How often the pool could not take a task and left it to the rejection handler.
    pub rejected_count: u64,
    /// Workers that are kept even when idle.
    pub core_pool_size: usize,
    /// The most workers there may be.
    pub maximum_pool_size: usize,
}

/// How far the life of an executor has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PoolState {
    /// Takes tasks.
    Running,
    /// Takes no tasks; some may still run.
    ShuttingDown,
    /// Everything has ended.
    Terminated,
}

impl fmt::Display for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "Running",
            Self::ShuttingDown => "Shutting down",
            Self::Terminated => "Terminated",
        })
    }
}

impl fmt::Display for PoolStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ThreadPoolExecutor@{}[{}, pool size = {}, active threads = {}, queued tasks = {}, \
             completed tasks = {}]",
            self.name,
            self.state,
            self.pool_size,
            self.active_count,
            self.queue_len,
            self.completed_task_count
        )
    }
}

/// How often a quiet moment is looked for.
const TRIES: usize = 8;

impl Shared {
    pub(crate) fn stats(&self) -> PoolStats {
        let last = self.task_count.last();
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
        // At the moment of the look at the queue there were at least and at most as many.
        let ended = state >= RunState::Tidying;
        let searching = if ended { 0 } else { heads.searching };
        let least = before.begun() + queue_len as u64;
        let most = heads.begun() + queue_len as u64 + searching as u64;
        let task_count = self.task_count.update(last, least, most);
        // The last workers may still be on their way out of the door when the pool has ended.
        let pool_size = if ended { 0 } else { heads.present };
        PoolStats {
            name: Arc::clone(self.name()),
            state: PoolState::from(state),
            pool_size,
            active_count: heads.active,
            largest_pool_size: heads.largest,
            completed_task_count: heads.completed,
            queue_len,
            queue_remaining_capacity: self.queue.remaining_capacity(),
            task_count,
            rejected_count: self.rejections(),
            core_pool_size: self.settings.core(),
            maximum_pool_size: self.settings.maximum(),
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
