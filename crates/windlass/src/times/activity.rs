//! What a worker does right now: words that only the worker writes and anybody reads.
//!
//! The words form a sequence lock whose version is the count of runs: it is odd during a run. The worker
//! writes the others while it is even, and a reader that has read the same odd count before and after
//! them has the words of that run. Each word is written with `Release` and read with `Acquire`: a reader
//! that has read a word of a later run then reads a later count too. So the worker never waits, and what
//! a reader returns was never put together from two runs.

use std::cell::Cell;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::TaskId;

/// What one worker does.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Twice the runs that have ended, plus one during a run.
    count: AtomicU64,
    /// The id of the task that runs, or ran last.
    task: AtomicU64,
    /// The last time that was read before the run, as a timestamp; zero if none was.
    since: AtomicU64,
    /// The last run of a task with a name. Tasks without one do not take the lock.
    named: Mutex<Option<Named>>,
    /// The run that was last seen, and when it was first seen, as a timestamp; for pools that time nothing.
    seen: Mutex<(u64, u64)>,
}

/// An activity as a worker and its readers share it. On cache lines of its own, since it is written for
/// each task.
pub(crate) type SharedActivity = Arc<CachePadded<Activity>>;

/// The name of the task of one run.
#[derive(Debug)]
struct Named {
    count: u64,
    name: Arc<str>,
}

/// A run that had not ended when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) task: TaskId,
    /// A timestamp before the run and after the one before it, unless that was not timed; zero if no
    /// time was read.
    pub(crate) since: u64,
    pub(crate) name: Option<Arc<str>>,
    /// Identifies the run among those of the worker.
    pub(crate) run: u64,
}

/// The number of attempts at reading the words of one run.
const TRIES: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// What the worker itself uses to write its activity.
///
/// It has the count too: the worker need not read what only it writes, and loom, which keeps the last
/// access to each atomic, sees those of the readers.
#[derive(Debug)]
pub(crate) struct Writer {
    activity: SharedActivity,
    count: Cell<u64>,
}

impl Writer {
    /// Returns what the worker writes with. Called once, before the first run.
    pub(crate) fn new(activity: &SharedActivity) -> Self {
        Self {
            activity: Arc::clone(activity),
            count: Cell::new(0),
        }
    }

    /// Returns whether a run has begun and not ended.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.count.get() % 2 == 1
    }

    /// Sets the name of the task whose run begins next.
    #[cold]
    pub(crate) fn set_name(&self, name: &Arc<str>) {
        let named = Named {
            count: self.count.get() + 1,
            name: Arc::clone(name),
        };
        let former = self.activity.named.lock().replace(named);
        drop(former);
    }

    /// Sets the time before the run that begins next. Called between two runs.
    #[inline]
    pub(crate) fn set_since(&self, timestamp: u64) {
        self.activity.since.store(timestamp, Ordering::Release);
    }

    /// Records the start of a task.
    #[inline]
    pub(crate) fn begin(&self, task: TaskId) {
        self.activity.task.store(task.as_u64(), Ordering::Release);
        self.advance();
    }

    /// Records the end of a task.
    #[inline]
    pub(crate) fn end(&self) {
        self.advance();
    }

    /// Returns the task that runs, or ran last. There has been one.
    pub(crate) fn task(&self) -> TaskId {
        TaskId::from_u64(self.activity.task.load(Ordering::Relaxed))
    }

    /// Returns the name of the task that runs, or ran last.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        let count = self.count.get();
        self.activity
            .name_of(count - u64::from(count % 2 == 0 && count > 0))
    }

    #[inline]
    fn advance(&self) {
        let count = self.count.get() + 1;
        self.count.set(count);
        self.activity.count.store(count, Ordering::Release);
    }
}

impl Activity {
    /// Returns twice the number of runs that have ended, plus one during a run.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns the task that runs; `None` between two tasks, or if each attempt was overtaken by the
    /// next task.
    pub(crate) fn running(&self) -> Option<Running> {
        for _ in 0..TRIES {
            let run = self.count();
            if run % 2 == 0 {
                return None;
            }
            let task = self.task.load(Ordering::Acquire);
            let since = self.since.load(Ordering::Acquire);
            let name = self.name_of(run);
            if self.count() == run {
                return Some(Running {
                    task: TaskId::from_u64(task),
                    since,
                    name,
                    run,
                });
            }
        }
        None
    }

    /// Returns when this run was first seen, as a timestamp: now, unless it was seen before.
    pub(crate) fn first_seen(&self, running: &Running, now: u64) -> u64 {
        let mut seen = self.seen.lock();
        if seen.0 != running.run {
            *seen = (running.run, now);
        }
        seen.1
    }

    fn name_of(&self, run: u64) -> Option<Arc<str>> {
        let named = self.named.lock();
        let named = named.as_ref().filter(|named| named.count == run)?;
        Some(Arc::clone(&named.name))
    }
}
