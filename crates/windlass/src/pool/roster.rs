//! Who works here and what they have done.
//!
//! Each worker counts for itself, in a word of its own that only it writes: odd while it is busy
//! with a task, and half of it is the number of tasks it has completed. So counting costs two plain
//! stores a task. The roster adds the words up; what workers had done that are gone is kept there.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, mutant};
use crate::task::Task;

/// One worker, as the pool and its own thread see it.
#[derive(Debug)]
pub(crate) struct Worker {
    /// How many retirements of idle workers had been asked for before it was made.
    pub(crate) retirements: u64,
    start: Mutex<Start>,
    /// Its thread, once that runs.
    thread: Mutex<Option<Arc<ThreadContext>>>,
    /// Whether it has been entered in the roster, or is not to be any more; under the roster's lock.
    entered: AtomicBool,
    /// Twice the tasks it has completed, and one more while it is busy.
    work: CachePadded<AtomicU64>,
}

#[derive(Debug)]
struct Start {
    stage: LaunchState,
    /// The task it was made for, until its thread takes it.
    first: Option<Task>,
}

/// How far the making of a worker's thread has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchState {
    /// The factory has been asked.
    Requested,
    /// The factory says that there is a thread.
    Accepted,
    /// The thread is there.
    Running,
    /// There is no thread and will be none.
    Failed,
}

impl Worker {
    pub(crate) fn new(first: Option<Task>, retirements: u64) -> Arc<Self> {
        Arc::new(Self {
            retirements,
            start: Mutex::new(Start {
                stage: LaunchState::Requested,
                first,
            }),
            thread: Mutex::new(None),
            entered: AtomicBool::new(false),
            work: CachePadded::new(AtomicU64::new(0)),
        })
    }

    pub(crate) fn take_first(&self) -> Option<Task> {
        self.start.lock().first.take()
    }

    /// Moves the making of the thread on, if it is where `from` says; gives where it was.
    pub(crate) fn advance(&self, from: &[LaunchState], to: LaunchState) -> LaunchState {
        let mut start = self.start.lock();
        let stage = start.stage;
        if from.contains(&stage) {
            start.stage = to;
        }
        stage
    }

    /// Says which thread it is.
    pub(crate) fn set_thread(&self, thread: Arc<ThreadContext>) {
        *self.thread.lock() = Some(thread);
    }

    /// Called by its own thread at the start of a task.
    pub(crate) fn begin(&self) {
        self.work
            .store(self.work.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Called by its own thread when the task is over.
    pub(crate) fn end(&self) {
        self.work
            .store(self.work.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Whether it has not taken the task it was made for.
    fn is_starting(&self) -> bool {
        self.start.lock().first.is_some()
    }

    fn is_busy(&self) -> bool {
        self.work.load(Ordering::Acquire) % 2 == 1
    }

    fn completed(&self) -> u64 {
        self.work.load(Ordering::Acquire) / 2
    }

    /// Whether it may hold a task that it has not begun: it neither works nor sleeps.
    ///
    /// Looks at the sleep first: a worker that sleeps after a task is seen to have begun it.
    fn is_searching(&self) -> bool {
        let thread = self.thread.lock().clone();
        thread.is_some_and(|thread| !thread.is_parked()) && !self.is_busy()
    }

    fn tell(&self, how: impl FnOnce(&ThreadContext)) {
        let thread = self.thread.lock().clone();
        if let Some(thread) = thread {
            how(&thread);
        }
    }
}

/// The workers whose threads have been made.
#[derive(Debug, Default)]
pub(crate) struct Roster(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    present: Vec<Arc<Worker>>,
    largest: usize,
    completed_by_retired: u64,
}

/// The roster's figures at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RosterSnapshot {
    pub(crate) present: usize,
    pub(crate) active: usize,
    /// Workers that have not begun the task they were made for.
    pub(crate) starting: usize,
    pub(crate) largest: usize,
    pub(crate) completed: u64,
    /// Workers that may hold a task which they have not begun.
    pub(crate) searching: usize,
}

impl RosterSnapshot {
    /// How many tasks workers have begun, or were made for.
    pub(crate) fn begun(&self) -> u64 {
        self.completed + (self.active + self.starting) as u64
    }
}

impl Roster {
    /// Enters a worker whose thread has been made. Whoever comes first does it: the thread itself,
    /// or the one that made it.
    pub(crate) fn add(&self, worker: &Arc<Worker>) {
        let mut book = self.0.lock();
        if !worker.entered.swap(true, Ordering::Relaxed) {
            book.present.push(Arc::clone(worker));
            book.largest = book.largest.max(book.present.len());
        }
    }

    /// Takes out a worker whose thread ends, or keeps one from being entered that never had any.
    pub(crate) fn remove(&self, worker: &Arc<Worker>) {
        let mut book = self.0.lock();
        worker.entered.store(true, Ordering::Relaxed);
        if let Some(at) = book
            .present
            .iter()
            .position(|present| Arc::ptr_eq(present, worker))
        {
            book.present.swap_remove(at);
            // Mutant: what the worker has done is forgotten with it.
            if !mutant!("pool_forgets_the_gone") {
                book.completed_by_retired += worker.completed();
            }
        }
    }

    pub(crate) fn snapshot(&self) -> RosterSnapshot {
        let book = self.0.lock();
        let mut count = RosterSnapshot {
            present: book.present.len(),
            largest: book.largest,
            completed: book.completed_by_retired,
            ..RosterSnapshot::default()
        };
        for worker in &book.present {
            count.starting += usize::from(worker.is_starting());
            count.searching += usize::from(worker.is_searching());
            // In one load, or a task that ends in between would count twice or not at all.
            let work = worker.work.load(Ordering::Acquire);
            count.completed += work / 2;
            count.active += usize::from(work % 2 == 1);
        }
        count
    }

    /// Makes all workers look at the pool's state again, when they next wait for a task.
    pub(crate) fn nudge_all(&self) {
        for worker in self.present() {
            worker.tell(ThreadContext::nudge);
        }
    }

    /// Makes one worker look at the pool's state again: an idle one, if there is one.
    pub(crate) fn nudge_one(&self) {
        let present = self.present();
        let idle = present.iter().find(|worker| !worker.is_busy());
        if let Some(worker) = idle.or(present.first()) {
            worker.tell(ThreadContext::nudge);
        }
    }

    /// Interrupts all workers.
    pub(crate) fn interrupt_all(&self) {
        for worker in self.present() {
            worker.tell(ThreadContext::interrupt);
        }
    }

    fn present(&self) -> Vec<Arc<Worker>> {
        self.0.lock().present.clone()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Roster, RosterSnapshot, Worker};

    #[test]
    fn a_worker_is_entered_once_whoever_comes_first() {
        let (roster, worker) = (Roster::default(), Worker::new(None, 0));
        roster.add(&worker);
        roster.add(&worker);
        let headcount = roster.snapshot();
        assert_eq!((headcount.present, headcount.largest), (1, 1));
    }

    #[test]
    fn a_worker_that_left_before_it_was_entered_stays_out() {
        let (roster, worker) = (Roster::default(), Worker::new(None, 0));
        roster.remove(&worker);
        roster.add(&worker);
        assert_eq!(roster.snapshot(), RosterSnapshot::default());
    }
}
