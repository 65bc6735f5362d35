//! The list of workers, from which thieves choose their victims.
//!
//! The list is immutable and replaced as a whole when a worker starts or retires. The epoch counts the
//! replacements, so that a worker can reuse its snapshot until the epoch changes.

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use super::deque::Stealer;
use super::job::{JobRef, Work};
use super::task_counts::{TaskCounters, TaskCounts};
use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::{self, Thread};
use crate::task::TaskId;
use crate::times::{Activity, SharedActivity};

/// The list of workers, and the steals of retired ones.
pub(super) struct Roster {
    listed: Mutex<Listed>,
    epoch: AtomicUsize,
}

struct Listed {
    workers: Arc<Workers>,
    retired: Retired,
}

/// What workers have done that are no longer listed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Retired {
    pub(super) steals: u64,
    pub(super) tasks: TaskCounts,
}

impl Roster {
    pub(super) fn new() -> Self {
        Self {
            listed: Mutex::new(Listed {
                workers: Arc::new(Workers(Vec::new())),
                retired: Retired::default(),
            }),
            epoch: AtomicUsize::new(0),
        }
    }

    /// Returns the workers that are listed now.
    pub(super) fn snapshot(&self) -> Arc<Workers> {
        Arc::clone(&self.listed.lock().workers)
    }

    /// Returns the workers that are listed now, and what those have done that are not.
    pub(super) fn snapshot_with_retired(&self) -> (Arc<Workers>, Retired) {
        let listed = self.listed.lock();
        (Arc::clone(&listed.workers), listed.retired)
    }

    /// Returns how often the list was replaced. A snapshot that is taken afterwards is at least as new.
    #[inline]
    pub(super) fn epoch(&self) -> usize {
        self.epoch.load(Ordering::Acquire)
    }

    /// Lists a worker: others may steal from it.
    pub(super) fn add(&self, worker: &Arc<WorkerInfo>) {
        let mut listed = self.listed.lock();
        let mut workers = listed.workers.0.clone();
        workers.push(Arc::clone(worker));
        self.replace(&mut listed, workers);
    }

    /// Removes a worker from the list. It steals no more, so its steals are counted once.
    pub(super) fn remove(&self, worker: &Arc<WorkerInfo>) {
        let mut listed = self.listed.lock();
        let mut workers = listed.workers.0.clone();
        workers.retain(|other| !Arc::ptr_eq(other, worker));
        self.replace(&mut listed, workers);
        listed.retired.steals += worker.steals();
        listed.retired.tasks = listed.retired.tasks.plus(worker.tasks.get());
    }

    fn replace(&self, listed: &mut Listed, workers: Vec<Arc<WorkerInfo>>) {
        listed.workers = Arc::new(Workers(workers));
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Returns how many tasks the workers have run.
    pub(super) fn task_counts(&self) -> TaskCounts {
        let listed = self.listed.lock();
        let counts = listed.workers.0.iter().map(|worker| worker.tasks.get());
        counts.fold(listed.retired.tasks, TaskCounts::plus)
    }

    /// Returns whether the oldest work of this worker is a join job; a hint.
    pub(super) fn has_join_job(&self, index: usize) -> bool {
        let workers = self.snapshot();
        let worker = workers.by_index(index);
        worker.is_some_and(|worker| worker.stealer.has_join_job())
    }

    /// Returns whether a deque holds work.
    pub(super) fn has_queued(&self) -> bool {
        let workers = self.snapshot();
        workers.0.iter().any(|worker| worker.stealer.len() > 0)
    }
}

/// All workers of a pool at one time.
pub(super) struct Workers(Vec<Arc<WorkerInfo>>);

impl Workers {
    pub(super) fn iter(&self) -> impl Iterator<Item = &WorkerInfo> {
        self.0.iter().map(|worker| &**worker)
    }

    /// Steals the oldest work of a worker. The victim at index `first`, modulo the number of workers, is
    /// tried first.
    pub(super) fn steal(&self, first: usize) -> Option<Work> {
        let count = self.0.len();
        (0..count).find_map(|offset| self.0[(first % count + offset) % count].steal())
    }

    /// Asks all workers for their private jobs.
    pub(super) fn ask_all(&self) {
        self.iter().for_each(|worker| worker.set_asked(true));
    }

    /// Returns how much work the deques hold.
    pub(super) fn queued(&self) -> usize {
        self.iter().map(|worker| worker.stealer.len()).sum()
    }

    pub(super) fn by_index(&self, index: usize) -> Option<&WorkerInfo> {
        self.iter().find(|worker| worker.index == index)
    }

    /// Returns the index of the worker that shows this task as the one it runs.
    pub(super) fn runner_of(&self, id: TaskId) -> Option<usize> {
        let runner = self.iter().find(|worker| worker.shows(id.as_u64()));
        runner.map(|worker| worker.index)
    }
}

/// The part of a worker that other threads access.
#[derive(Debug)]
pub(super) struct WorkerInfo {
    /// Unique among all workers that the pool has and had.
    pub(super) index: usize,
    pub(super) stealer: Stealer<Work>,
    context: OnceLock<Arc<ThreadContext>>,
    /// Has the name of its thread.
    thread: OnceLock<Thread>,
    /// What it does.
    pub(super) activity: SharedActivity,
    /// The id of the task that it runs; zero for none, or if its deque holds older work. A hint.
    current_task: AtomicU64,
    /// How much work it has run that others had submitted or forked.
    steals: AtomicU64,
    /// The tasks that it has run.
    pub(super) tasks: TaskCounters,
    /// Whether others ask it to share its private jobs.
    asked: AtomicBool,
}

impl WorkerInfo {
    pub(super) fn new(index: usize, stealer: Stealer<Work>) -> Arc<Self> {
        Arc::new(Self {
            index,
            stealer,
            context: OnceLock::new(),
            thread: OnceLock::new(),
            activity: Arc::new(CachePadded::new(Activity::default())),
            current_task: AtomicU64::new(0),
            steals: AtomicU64::new(0),
            tasks: TaskCounters::default(),
            asked: AtomicBool::new(true),
        })
    }

    /// Steals its oldest work; asks for more if that was the last.
    fn steal(&self) -> Option<Work> {
        Some(self.ask_after(self.stealer.steal()?))
    }

    /// Steals its oldest work if it is a join job; asks for more if that was the last.
    pub(super) fn steal_join_job(&self) -> Option<JobRef> {
        self.ask_after(self.stealer.steal_join_job()?).into_job()
    }

    fn ask_after(&self, stolen: Work) -> Work {
        if self.stealer.len() == 0 {
            self.set_asked(true);
        }
        stolen
    }

    /// Returns whether others ask it to share its private jobs.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    pub(super) fn set_asked(&self, asked: bool) {
        // Read first: mostly nothing changes, and the owner reads it for every join.
        if self.is_asked() != asked {
            self.asked.store(asked, Ordering::Relaxed);
        }
    }

    /// Sets the context of its thread, by which it is unparked and interrupted.
    pub(super) fn set_context(&self, context: Arc<ThreadContext>) {
        let _ = self.context.set(context);
    }

    /// Sets the current thread as the one that runs it.
    pub(super) fn set_thread(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// Returns the name of its thread, if it has one.
    pub(super) fn thread_name(&self) -> Option<&str> {
        self.thread.get()?.name()
    }

    /// Returns whether this is a worker, and not a thread from outside that temporarily runs work.
    pub(super) fn is_worker(&self) -> bool {
        self.context.get().is_some()
    }

    /// Sets the task that it shows as running; returns the one before.
    pub(super) fn set_current_task(&self, id: u64) -> u64 {
        let former = self.current_task.load(Ordering::Relaxed);
        self.current_task.store(id, Ordering::Relaxed);
        former
    }

    fn shows(&self, id: u64) -> bool {
        self.current_task.load(Ordering::Relaxed) == id
    }

    pub(super) fn count_steal(&self) {
        self.steals.store(self.steals() + 1, Ordering::Relaxed);
    }

    pub(super) fn steals(&self) -> u64 {
        self.steals.load(Ordering::Relaxed)
    }

    pub(super) fn unpark(&self) {
        if let Some(context) = self.context.get() {
            context.unpark();
        }
    }

    pub(super) fn interrupt(&self) {
        if let Some(context) = self.context.get() {
            context.interrupt();
        }
    }
}
