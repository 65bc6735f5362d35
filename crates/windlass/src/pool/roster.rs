//! The workers of a pool, and how many tasks they have completed.
//!
//! Each worker has an [`Activity`] that only it writes, with a counter: twice the number of tasks it has
//! completed, plus one while it runs a task. Counting costs two plain stores per task. The roster adds up
//! the counters, and keeps the sum over the workers that have retired. Tasks that a waiting thread runs in
//! place are counted apart: the worker that does so is busy with the task that waits.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::Thread;
use crate::task::Task;
use crate::times::{Activity, SharedActivity};

/// One worker; shared by the pool and the worker's thread.
#[derive(Debug)]
pub(crate) struct Worker {
    /// The number of retirement requests before it was created.
    pub(crate) retirements: u64,
    launch: Mutex<Launch>,
    /// Its thread, once that runs.
    thread: Mutex<Option<WorkerThread>>,
    /// Whether it is or was in the roster, or must not be added any more; written under the
    /// roster's lock.
    added: AtomicBool,
    /// Its place in the order in which workers were added, from one on; written under the roster's lock.
    number: AtomicU64,
    /// What it does, and how many tasks it has completed. Written by its thread.
    pub(crate) activity: SharedActivity,
    /// The count of its activity when it last said that it has taken a task. Differs from the present count once
    /// that task has begun.
    taken_at: AtomicU64,
}

/// The thread of a worker.
#[derive(Debug, Clone)]
struct WorkerThread {
    context: Arc<ThreadContext>,
    /// Has its name.
    thread: Thread,
}

#[derive(Debug)]
struct Launch {
    state: LaunchState,
    /// The task it was created for, until its thread takes it.
    first: Option<Task>,
}

/// The progress of starting a worker's thread.
///
/// ```text
///   Requested ──factory returned Ok──▶ Accepted ──thread runs──▶ Running
///       │  └────────────thread runs first──────────────────────────▲
///       │                                 │
///       └──factory failed, body dropped───┴──body dropped──▶ Failed
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaunchState {
    /// The factory has been called and has not returned.
    Requested,
    /// The factory has returned `Ok`; the thread does not run yet.
    Accepted,
    /// The thread runs.
    Running,
    /// There is no thread and will be none.
    Failed,
}

/// Whether a worker has a thread, as known to the caller of the factory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Launched {
    /// The thread runs, or is expected to.
    Yes,
    /// There will be none: the caller takes the worker back.
    No,
}

/// The state of a worker's launch when the body of its thread was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Dropped {
    /// The factory has not returned: its caller takes the worker back.
    BeforeAnswer,
    /// The factory had returned `Ok`: the thread that drops the body takes the worker back.
    AfterAccept,
    /// The worker has run, or was taken back before.
    Settled,
}

impl Worker {
    pub(crate) fn new(first: Option<Task>, retirements: u64) -> Arc<Self> {
        Arc::new(Self {
            retirements,
            launch: Mutex::new(Launch {
                state: LaunchState::Requested,
                first,
            }),
            thread: Mutex::new(None),
            added: AtomicBool::new(false),
            number: AtomicU64::new(0),
            activity: Arc::new(CachePadded::new(Activity::default())),
            taken_at: AtomicU64::new(u64::MAX),
        })
    }

    pub(crate) fn take_first(&self) -> Option<Task> {
        self.launch.lock().first.take()
    }

    /// Records that the factory has returned `Ok`.
    pub(crate) fn accept(&self) -> Launched {
        match self.transition(&[LaunchState::Requested], LaunchState::Accepted) {
            LaunchState::Failed => Launched::No,
            _ => Launched::Yes,
        }
    }

    /// Records that the factory has returned an error or panicked. The thread may nevertheless run.
    pub(crate) fn fail(&self) -> Launched {
        match self.transition(&[LaunchState::Requested], LaunchState::Failed) {
            LaunchState::Requested | LaunchState::Failed => Launched::No,
            LaunchState::Accepted | LaunchState::Running => Launched::Yes,
        }
    }

    /// Records that the worker's thread runs; returns false if the worker was taken back before.
    /// Called on that thread.
    #[must_use]
    pub(crate) fn try_start(&self) -> bool {
        let pending = [LaunchState::Requested, LaunchState::Accepted];
        pending.contains(&self.transition(&pending, LaunchState::Running))
    }

    /// Records that the body of the thread is dropped.
    pub(crate) fn drop_body(&self) -> Dropped {
        let pending = [LaunchState::Requested, LaunchState::Accepted];
        match self.transition(&pending, LaunchState::Failed) {
            LaunchState::Requested => Dropped::BeforeAnswer,
            LaunchState::Accepted => Dropped::AfterAccept,
            LaunchState::Running | LaunchState::Failed => Dropped::Settled,
        }
    }

    /// Moves to the state `to` if the present one is in `from`; returns the former state.
    fn transition(&self, from: &[LaunchState], to: LaunchState) -> LaunchState {
        let mut launch = self.launch.lock();
        let former = launch.state;
        if from.contains(&former) {
            launch.state = to;
        }
        former
    }

    /// Sets the thread that runs it.
    pub(crate) fn set_thread(&self, context: Arc<ThreadContext>, thread: Thread) {
        *self.thread.lock() = Some(WorkerThread { context, thread });
    }

    /// Returns the name of its thread, if that runs and has one.
    pub(crate) fn thread_name(&self) -> Option<String> {
        let thread = self.thread.lock().clone()?;
        thread.thread.name().map(str::to_owned)
    }

    /// Returns its number, which differs from that of each other worker that the pool has or had.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// Returns whether it has not taken the task it was created for.
    fn is_starting(&self) -> bool {
        self.launch.lock().first.is_some()
    }

    fn is_busy(&self) -> bool {
        self.activity.count() % 2 == 1
    }

    /// Records that it has taken a task which it is about to begin.
    pub(crate) fn set_taken(&self) {
        self.taken_at.store(self.activity.count(), Ordering::SeqCst);
    }

    /// Returns whether it neither runs a task nor has [said](Self::set_taken) that it has taken one.
    fn is_idle(&self) -> bool {
        let taken_at = self.taken_at.load(Ordering::SeqCst);
        let count = self.activity.count();
        count % 2 == 0 && count != taken_at && !self.is_starting()
    }

    fn completed(&self) -> u64 {
        self.activity.count() / 2
    }

    /// Returns whether it may hold a task that it has not begun: it neither runs one nor sleeps.
    ///
    /// Reads whether it is parked first: if it parks after a task, the later read of its counter
    /// includes that task.
    fn is_searching(&self) -> bool {
        let context = self.context();
        context.is_some_and(|context| !context.is_parked()) && !self.is_busy()
    }

    fn context(&self) -> Option<Arc<ThreadContext>> {
        let thread = self.thread.lock();
        thread.as_ref().map(|thread| Arc::clone(&thread.context))
    }

    fn with_thread(&self, f: impl FnOnce(&ThreadContext)) {
        if let Some(context) = self.context() {
            f(&context);
        }
    }
}

/// The number of tasks that waiting threads run in place.
///
/// A thread counts as searching before it takes a task out of the queue, and until it has counted the task
/// as begun. So a reader that reads in this order, searching, ended, begun, misses no task and counts none
/// as ended that has not begun.
#[derive(Debug, Default)]
pub(crate) struct InPlace {
    searching: AtomicUsize,
    begun: AtomicU64,
    ended: AtomicU64,
}

impl InPlace {
    /// Runs `take`, which takes a task out of the queue, and counts the task as begun.
    pub(crate) fn begin<T>(&self, take: impl FnOnce() -> Option<T>) -> Option<T> {
        self.searching.fetch_add(1, Ordering::SeqCst);
        let taken = take();
        if taken.is_some() {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        self.searching.fetch_sub(1, Ordering::SeqCst);
        taken
    }

    /// Counts the end of a task.
    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how many tasks have been run in place.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }
}

/// The workers that have a thread.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    workers: Mutex<Workers>,
    pub(crate) in_place: InPlace,
}

#[derive(Debug, Default)]
struct Workers {
    present: Vec<Arc<Worker>>,
    largest: usize,
    /// How many were added so far.
    added: u64,
    completed_by_retired: u64,
}

/// Sums over the roster, read under its lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RosterSnapshot {
    pub(crate) present: usize,
    pub(crate) active: usize,
    /// Workers that have not begun the task they were created for.
    pub(crate) starting: usize,
    pub(crate) largest: usize,
    pub(crate) completed: u64,
    /// Threads that may hold a task which they have not begun.
    pub(crate) searching: usize,
    /// Tasks that waiting threads run in place.
    pub(crate) in_place: u64,
}

impl RosterSnapshot {
    /// Returns how many tasks workers have begun, or were created for.
    pub(crate) fn begun(&self) -> u64 {
        self.completed + self.in_place + (self.active + self.starting) as u64
    }
}

impl Roster {
    /// Adds a worker whose thread was created. Called by that thread and by the thread that created
    /// it; the second call has no effect.
    pub(crate) fn add(&self, worker: &Arc<Worker>) {
        let mut workers = self.workers.lock();
        if !worker.added.swap(true, Ordering::Relaxed) {
            workers.added += 1;
            worker.number.store(workers.added, Ordering::Relaxed);
            workers.present.push(Arc::clone(worker));
            workers.largest = workers.largest.max(workers.present.len());
        }
    }

    /// Removes a worker that retires, or prevents one without a thread from being added.
    pub(crate) fn remove(&self, worker: &Arc<Worker>) {
        let mut workers = self.workers.lock();
        worker.added.store(true, Ordering::Relaxed);
        if let Some(at) = workers
            .present
            .iter()
            .position(|present| Arc::ptr_eq(present, worker))
        {
            workers.present.swap_remove(at);
            workers.completed_by_retired += worker.completed();
        }
    }

    pub(crate) fn snapshot(&self) -> RosterSnapshot {
        let workers = self.workers.lock();
        let mut sums = RosterSnapshot {
            present: workers.present.len(),
            largest: workers.largest,
            completed: workers.completed_by_retired,
            searching: self.in_place.searching.load(Ordering::SeqCst),
            ..RosterSnapshot::default()
        };
        let ended = self.in_place.ended.load(Ordering::SeqCst);
        sums.completed += ended;
        sums.in_place = self.in_place.begun.load(Ordering::SeqCst) - ended;
        for worker in &workers.present {
            if worker.is_starting() {
                // It has begun nothing yet; read later, its counter may include that very task.
                sums.starting += 1;
                continue;
            }
            sums.searching += usize::from(worker.is_searching());
            // One load: with two, a task that ends in between counts twice or not at all.
            let count = worker.activity.count();
            sums.completed += count / 2;
            sums.active += usize::from(count % 2 == 1);
        }
        sums
    }

    /// Returns whether a worker will take a task next.
    pub(crate) fn has_idle(&self) -> bool {
        let workers = self.workers.lock();
        workers.present.iter().any(|worker| worker.is_idle())
    }

    /// Makes all workers read the pool's state again: those that wait for a task at once, the others
    /// when they next wait for one.
    pub(crate) fn nudge_all(&self) {
        for worker in self.present() {
            worker.with_thread(ThreadContext::nudge);
        }
    }

    /// Makes one worker read the pool's state again: an idle one, if there is one.
    pub(crate) fn nudge_one(&self) {
        let present = self.present();
        let idle = present.iter().find(|worker| !worker.is_busy());
        if let Some(worker) = idle.or(present.first()) {
            worker.with_thread(ThreadContext::nudge);
        }
    }

    /// Interrupts all workers.
    pub(crate) fn interrupt_all(&self) {
        for worker in self.present() {
            worker.with_thread(ThreadContext::interrupt);
        }
    }

    /// Returns the workers that have a thread.
    pub(crate) fn present(&self) -> Vec<Arc<Worker>> {
        self.workers.lock().present.clone()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Roster;
    use crate::sync::{Mutex, model, thread};

    /// The reader does as the figures of a pool do: the queue, then the roster.
    #[test]
    fn a_task_that_is_taken_to_be_run_in_place_is_never_missing() {
        model(|| {
            let (roster, queue) = (Arc::new(Roster::default()), Arc::new(Mutex::new(Some(()))));
            let theirs = (Arc::clone(&roster), Arc::clone(&queue));
            let waiting = thread::Builder::new().spawn(move || {
                let taken = theirs.0.in_place.begin(|| theirs.1.lock().take());
                assert!(taken.is_some());
                theirs.0.in_place.end();
            });
            let queued = u64::from(queue.lock().is_some());
            let seen = roster.snapshot();
            assert!(seen.begun() + queued + seen.searching as u64 >= 1);
            assert!(seen.completed <= 1);
            waiting.unwrap().join().unwrap();
            assert_eq!(
                (roster.snapshot().begun(), roster.snapshot().completed),
                (1, 1)
            );
        });
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Roster, RosterSnapshot, Worker};

    #[test]
    fn a_worker_is_added_once() {
        let (roster, worker) = (Roster::default(), Worker::new(None, 0));
        roster.add(&worker);
        roster.add(&worker);
        let snapshot = roster.snapshot();
        assert_eq!((snapshot.present, snapshot.largest), (1, 1));
    }

    #[test]
    fn a_worker_that_was_removed_before_it_was_added_stays_out() {
        let (roster, worker) = (Roster::default(), Worker::new(None, 0));
        roster.remove(&worker);
        roster.add(&worker);
        assert_eq!(roster.snapshot(), RosterSnapshot::default());
    }
}
