//! What a worker does right now: words that only the worker writes and anybody reads.
//!
//! The words form a sequence lock whose version is the count of runs: it is odd during a run. The worker
//! writes the others while it is even, and a reader that has read the same odd count before and after
//! them has the words of that run. Each word is written with `Release` and read with `Acquire`: a reader
//! that has read a word of a later run then reads a later count too. So the worker never waits, and what
//! a reader returns was never put together from two runs.

use std::sync::Arc;

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
}

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
pub(crate) struct Writer<'a> {
    activity: &'a Activity,
    count: u64,
}

impl Writer<'_> {
    /// Sets the name of the task whose run begins next.
    #[cold]
    pub(crate) fn set_name(&self, name: &Arc<str>) {
        let named = Named {
            count: self.count + 1,
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
    pub(crate) fn begin(&mut self, task: TaskId) {
        self.activity.task.store(task.as_u64(), Ordering::Release);
        self.advance();
    }

    /// Records the end of a task.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.advance();
    }

    /// Returns the task that ran last, with its name. Called between two runs.
    pub(crate) fn last(&self) -> Option<(TaskId, Option<Arc<str>>)> {
        let run = self.count.checked_sub(1)?;
        let task = self.activity.task.load(Ordering::Relaxed);
        Some((TaskId::from_u64(task), self.activity.name_of(run)))
    }

    #[inline]
    fn advance(&mut self) {
        self.count += 1;
        self.activity.count.store(self.count, Ordering::Release);
    }
}

impl Activity {
    /// Returns what the worker writes with. Called once, before the first run.
    pub(crate) const fn writer(&self) -> Writer<'_> {
        Writer {
            activity: self,
            count: 0,
        }
    }

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

    fn name_of(&self, run: u64) -> Option<Arc<str>> {
        let named = self.named.lock();
        let named = named.as_ref().filter(|named| named.count == run)?;
        Some(Arc::clone(&named.name))
    }
}
