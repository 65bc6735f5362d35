//! The figures of an executor at one time, in one shape for all kinds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::settings::PoolSettings;
use crate::executor::RunningTask;
use crate::pool::{PoolState, RejectionCounts, ThreadExits};
use crate::scheduled::QueuedTask;
use crate::times::Histogram;

/// What an executor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A [`ThreadPoolExecutor`](crate::ThreadPoolExecutor).
    ThreadPool,
    /// A [`ScheduledThreadPoolExecutor`](crate::ScheduledThreadPoolExecutor).
    Scheduled,
    /// A [`ForkJoinPool`](crate::ForkJoinPool).
    ForkJoin,
    /// An executor of a user.
    Custom,
}

impl Kind {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThreadPool => "thread_pool",
            Self::Scheduled => "scheduled",
            Self::ForkJoin => "fork_join",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The figures of an executor at one time. Counts are totals since it was created.
///
/// An executor of a user fills in what it knows:
///
/// ```
/// use windlass::monitor::{Kind, Snapshot};
///
/// let mut snapshot = Snapshot::new(Kind::Custom);
/// snapshot.threads.size = 4;
/// snapshot.tasks.completed = 17;
/// assert_eq!(snapshot.queue.capacity, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// What it is.
    pub kind: Kind,
    /// Its state.
    pub state: PoolState,
    /// Its threads.
    pub threads: ThreadFigures,
    /// Its queue.
    pub queue: QueueFigures,
    /// Its tasks.
    pub tasks: TaskFigures,
    /// How long each task that runs has been running, in no order; empty if it is not known.
    pub running: Vec<Duration>,
    /// How long the task that runs longest has been running; `None` if none runs, or it is not known.
    pub oldest_running: Option<Duration>,
    /// How long tasks waited for a thread; scheduled tasks from when they were due, so that it is their
    /// lateness.
    pub wait_times: Histogram,
    /// How long tasks ran.
    pub run_times: Histogram,
    /// What can be changed.
    pub settings: PoolSettings,
    /// How long it will take no tasks from its queue; `None` if it is not paused.
    pub paused_for: Option<Duration>,
    /// What only scheduled pools have.
    pub scheduled: Option<ScheduledFigures>,
    /// What only fork-join pools have.
    pub fork_join: Option<ForkJoinFigures>,
}

impl Snapshot {
    /// Creates a snapshot of a running executor of this kind, with all figures zero or unknown.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            state: PoolState::Running,
            threads: ThreadFigures::default(),
            queue: QueueFigures::default(),
            tasks: TaskFigures::default(),
            running: Vec::new(),
            oldest_running: None,
            wait_times: Histogram::default(),
            run_times: Histogram::default(),
            settings: PoolSettings::default(),
            paused_for: None,
            scheduled: None,
            fork_join: None,
        }
    }
}

/// The threads of an executor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadFigures {
    /// Threads that there are.
    pub size: usize,
    /// Threads that run a task.
    pub active: usize,
    /// Threads that are kept even when idle; of a fork-join pool the parallelism.
    pub core: usize,
    /// The most threads there may be; of a fork-join pool the parallelism.
    pub max: usize,
    /// The most threads there were; of a fork-join pool those that there are.
    pub largest: usize,
    /// Threads that wait for another task inside a task.
    pub waiting: usize,
    /// Threads that were started so far; `None` if it is not known.
    pub started: Option<u64>,
    /// Threads that have ended so far, by reason; `None` if it is not known.
    pub exited: Option<ThreadExits>,
    /// Threads that could not be created.
    pub refused: u64,
}

/// The queue of an executor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueFigures {
    /// Tasks in the queue.
    pub len: usize,
    /// How many tasks it holds at most; `None` if there is no bound.
    pub capacity: Option<usize>,
    /// How many more tasks there is room for; `None` if there is no bound.
    pub remaining: Option<usize>,
    /// How long its next task has been waiting; a scheduled task from when it was due. `None` if nothing is
    /// queued, or it is not known.
    pub oldest: Option<Duration>,
    /// Whether `oldest` is exact. If not, the next task has been waiting at least as long: it was not timed,
    /// and the time is that of the first task behind it that was.
    pub oldest_is_exact: bool,
}

/// The tasks of an executor so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFigures {
    /// Tasks that were submitted, accepted or not.
    pub submitted: u64,
    /// Tasks that a thread has taken and that have ended, in whatever way.
    pub completed: u64,
    /// Completed tasks that have failed: by a panic or by an error.
    pub failed: u64,
    /// Failed tasks that have panicked.
    pub panicked: u64,
    /// Completed tasks that were cancelled before or while they ran.
    pub cancelled: u64,
    /// Tasks that the executor could not accept, by what was then done.
    pub rejected: RejectionCounts,
    /// Tasks that were not started in time and cancelled.
    pub expired: u64,
    /// Tasks whose run took longer than its limit, and was interrupted.
    pub timed_out: u64,
    /// Tasks that were accepted and have never run, by reason.
    pub dropped: DropCounts,
}

impl TaskFigures {
    /// Returns how many completed tasks have neither failed nor were cancelled.
    #[must_use]
    pub const fn succeeded(&self) -> u64 {
        self.completed
            .saturating_sub(self.failed)
            .saturating_sub(self.cancelled)
    }
}

/// Tasks that were accepted and have never run, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DropCounts {
    /// Their places were given to newer tasks, by `DiscardOldestPolicy`.
    pub discard_oldest: u64,
    /// `shutdown_now` returned them.
    pub shutdown_now: u64,
    /// They were cancelled and purged, or removed by the caller.
    pub purged: u64,
    /// They were not started in time. They count as completed too once a thread has met them.
    pub queue_timeout: u64,
    /// They were shed because tasks waited too long.
    pub shed: u64,
    /// There was no thread to run them.
    pub abandoned: u64,
}

impl DropCounts {
    /// Returns the sum over all reasons.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.discard_oldest
            + self.shutdown_now
            + self.purged
            + self.queue_timeout
            + self.shed
            + self.abandoned
    }
}

/// What only scheduled pools have. The lateness of tasks is [`Snapshot::wait_times`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledFigures {
    /// Tasks that wait for their time.
    pub queued: usize,
    /// Queued tasks that repeat; `None` if there are more tasks than are looked through.
    pub periodic: Option<usize>,
    /// How often a periodic task was due again before its run had ended.
    pub overruns: u64,
    /// The tasks that are due next, at most 20; empty if there are more tasks than are looked through.
    pub next: Vec<QueuedTask>,
}

/// What only fork-join pools have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkJoinFigures {
    /// How many workers run at a time.
    pub parallelism: usize,
    /// Workers that are neither asleep nor blocked inside a task.
    pub running: usize,
    /// Work that workers have forked and that has not started.
    pub queued: usize,
    /// Work that was submitted from outside and that has not started.
    pub submissions: usize,
    /// Scheduled tasks that are not yet due.
    pub delayed: usize,
    /// Work that was run by another thread than the one that forked or submitted it.
    pub steals: u64,
}

/// A thread of an executor, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerThread {
    /// Tells it from each other thread that the executor has or had; `None` if it is not known.
    pub id: Option<u64>,
    /// The name of the thread.
    pub name: Option<Arc<str>>,
    /// The task that it runs; `None` if it is idle.
    pub task: Option<RunningTask>,
}

impl WorkerThread {
    /// Creates a thread that runs this task.
    #[must_use]
    pub const fn new(name: Option<Arc<str>>, task: Option<RunningTask>) -> Self {
        Self {
            id: None,
            name,
            task,
        }
    }

    /// Sets what tells it from each other thread that the executor has or had.
    #[must_use]
    pub const fn with_id(mut self, id: u64) -> Self {
        self.id = Some(id);
        self
    }
}
