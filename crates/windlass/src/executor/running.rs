//! A task that runs, as a reader sees it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::clock;
use crate::task::{TaskId, instant};
use crate::times::Activity;

/// A task that an executor runs at present; see
/// [`running_tasks`](super::ExecutorService::running_tasks).
///
/// Id, name and time are those of one task: never of two that the worker ran one after the other.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(1).build().unwrap();
/// let (started, ended) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
/// let report = pool.task().name("report").submit(move || {
///     started.0.send(()).unwrap();
///     ended.1.recv().unwrap();
/// });
/// started.1.recv().unwrap();
/// let running = pool.running_tasks();
/// assert_eq!(running[0].name.as_deref(), Some("report"));
/// assert_eq!(running[0].thread.as_deref(), Some("web-thread-1"));
/// println!("{}", running[0]); // report (task-1) on web-thread-1 for 12.3µs
/// ended.0.send(()).unwrap();
/// report.unwrap().join().unwrap();
/// # pool.close();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningTask {
    /// Identifies the task.
    pub id: TaskId,
    /// The name that it was built with.
    pub name: Option<Arc<str>>,
    /// When its run began.
    ///
    /// Exact in a thread-per-task executor, and in a pool whose tasks take longer than some
    /// microseconds or that times every task. A pool whose tasks are shorter does not read the clock for
    /// each of them; the time is then that of the last reading by the same worker, which is mostly some
    /// microseconds earlier, and no later. It can be much earlier if long tasks have followed short ones
    /// without a pause, until one of them is timed: a call of `running_tasks` makes the pool time those
    /// that begin after it.
    ///
    /// In a pool that takes no times, it is when a call of `running_tasks` first found the task.
    pub since: Instant,
    /// The name of the thread that runs it.
    pub thread: Option<Arc<str>>,
}

impl RunningTask {
    pub(crate) fn new(
        id: TaskId,
        name: Option<Arc<str>>,
        since: Instant,
        thread: Option<&str>,
    ) -> Self {
        Self {
            id,
            name,
            since,
            thread: thread.map(Arc::from),
        }
    }

    /// Returns what a worker does, if it runs a task; `now` is a timestamp.
    pub(crate) fn of(activity: &Activity, now: u64, thread: Option<&str>) -> Option<Self> {
        let running = activity.running()?;
        let since = match running.since {
            0 => activity.first_seen(&running, now),
            since => since,
        };
        Some(Self::new(
            running.task,
            running.name,
            instant(since),
            thread,
        ))
    }

    /// Returns how long it has been running, on the clock of the current thread.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        clock::now().saturating_duration_since(self.since)
    }
}

impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.id)?,
            None => write!(f, "{}", self.id)?,
        }
        if let Some(thread) = &self.thread {
            write!(f, " on {thread}")?;
        }
        write!(f, " for {:?}", self.elapsed())
    }
}
