//! The state that the submitters and workers of a pool share. It owns the parts; the decisions are in
//! `admission`, `spawn`, `worker` and `shutdown`.

use std::any::Any;
use std::sync::Arc;

use super::ctl::{Ctl, RunState};
use super::limits::LimitCounts;
use super::rejection::{HandlerCell, RejectedExecutionHandler};
use super::room::Room;
use super::roster::Roster;
use super::settings::Settings;
use super::tally::Tally;
use super::task_count::TaskCount;
use super::waits::WaitCount;
use super::work_queue::WorkQueue;
use crate::executor::{Refusals, ShutdownCancels};
use crate::hooks::Hooks;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock::Clock;
use crate::task::{Failure, Prepare, Task, TimerOwner};
use crate::termination::Termination;
use crate::thread_factory::ThreadFactory;
use crate::times::{Times, Tracker};
use crate::unwind::{discard, ignore_panic};

/// A function that is called with failures that no handle receives.
pub(crate) type Uncaught = Arc<dyn Fn(&Failure) + Send + Sync>;

/// The shared state of a pool.
pub(crate) struct Shared {
    pub(crate) ctl: Ctl,
    pub(crate) settings: Settings,
    pub(crate) queue: WorkQueue,
    pub(crate) roster: Roster,
    pub(crate) termination: Termination,
    pub(crate) options: Options,
    pub(crate) task_count: Arc<TaskCount>,
    pub(crate) tracker: Tracker,
    /// The threads that wait for tasks inside tasks.
    pub(crate) waits: WaitCount,
    factory: Mutex<Arc<dyn ThreadFactory>>,
    pub(crate) handler: HandlerCell,
    pub(crate) tally: Tally,
    /// Tasks that were abandoned for want of a thread.
    abandoned: AtomicU64,
    pub(crate) refusals: Refusals,
    /// Tasks that have failed.
    failed: AtomicU64,
    /// Workers that have failed and whose failure is not reported yet. The pool terminates after the
    /// last of them. `SeqCst`: written before the worker is uncounted in the control word, and read
    /// after that.
    unreported: AtomicUsize,
    /// Beside `retirements`: both are read for each task, and rarely written.
    pub(crate) room: Arc<Room>,
    /// The number of calls of `retire_idle`: each lets idle workers that may time out do so at once.
    /// Read for each task, rarely written.
    retirements: AtomicU64,
    clock: Clock,
}

/// The options that are fixed when the pool is built.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Arc<str>,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// Whether the hooks receive how long tasks waited and ran.
    pub(crate) takes_times: bool,
    pub(crate) uncaught: Option<Uncaught>,
    pub(crate) prepare: Option<Prepare>,
    /// The scheduled pool that is built on this one; it is notified of the shutdown.
    pub(crate) timers: Option<Arc<dyn TimerOwner>>,
    /// Counts the tasks whose time was up.
    pub(crate) limits: Arc<LimitCounts>,
    /// What the shutdown cancels.
    pub(crate) cancels: Arc<ShutdownCancels>,
    /// Whether a task that finds all workers busy starts a new one before it is queued.
    pub(crate) grows_eagerly: bool,
    pub(crate) times: Times,
    /// Whether every task has to pass through the queue.
    pub(crate) queues_every_task: bool,
    /// Whether the queue may refuse one task and accept another.
    pub(crate) has_partial_bounds: bool,
    /// Whether a worker is kept after a panic of a hook or of a task without a handle.
    pub(crate) reuses_workers: bool,
    /// What a thread does that waits for a queued task.
    pub(crate) nested_waits: NestedWaits,
    /// How many workers beyond the maximum may replace workers that wait.
    pub(crate) spare_workers: usize,
    /// How many workers are many: a hand-off then lends, or waits for one to return. `None`: as many as
    /// admission holds for many.
    pub(crate) many_workers: Option<usize>,
}

/// What a thread of a pool does when it waits, inside a task, for a task that is still queued.
///
/// See [`Builder::nested_waits`](super::Builder::nested_waits).
///
/// ```
/// use windlass::pool::NestedWaits;
/// use windlass::prelude::*;
///
/// let builder = ThreadPoolExecutor::builder().core_pool_size(1);
/// let pool = builder.nested_waits(NestedWaits::Help).build().unwrap();
/// let inner = pool.clone();
/// let outer = pool.submit(move || inner.submit(|| 1).unwrap().join().unwrap()).unwrap();
/// assert_eq!(outer.join().unwrap(), 1); // its only worker runs what it waits for
/// # pool.close();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NestedWaits {
    /// It runs that task in place, and no other: the default.
    #[default]
    Help,
    /// It blocks until another thread has run the task, as in the JDK. If all workers do so, they wait
    /// forever.
    Block,
}

impl Options {
    /// Returns whether a submission to a running pool with all core workers is only an offer to
    /// the queue.
    #[inline]
    pub(crate) const fn has_fast_path(&self) -> bool {
        !self.takes_times && !self.grows_eagerly && !self.queues_every_task
    }
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        queue: WorkQueue,
        factory: Arc<dyn ThreadFactory>,
        handler: Arc<dyn RejectedExecutionHandler>,
        options: Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            ctl: Ctl::new(),
            settings,
            queue,
            roster: Roster::default(),
            termination: Termination::default(),
            task_count: Arc::clone(options.limits.task_count()),
            room: Arc::clone(options.limits.room()),
            tracker: Tracker::new(options.times),
            options,
            factory: Mutex::new(factory),
            handler: HandlerCell::new(handler),
            tally: Tally::default(),
            abandoned: AtomicU64::new(0),
            refusals: Refusals::default(),
            failed: AtomicU64::new(0),
            unreported: AtomicUsize::new(0),
            waits: WaitCount::default(),
            retirements: AtomicU64::new(0),
            clock: Clock::current(),
        })
    }

    pub(crate) const fn name(&self) -> &Arc<str> {
        &self.options.name
    }

    pub(crate) fn is_shutdown(&self) -> bool {
        self.ctl.load().state() >= RunState::Shutdown
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn factory(&self) -> Arc<dyn ThreadFactory> {
        Arc::clone(&self.factory.lock())
    }

    pub(crate) fn set_factory(&self, factory: Arc<dyn ThreadFactory>) {
        let former = std::mem::replace(&mut *self.factory.lock(), factory);
        drop(former);
    }

    pub(crate) fn count_rejection(&self) {
        self.tally.count_rejection(self.handler.policy());
    }

    pub(crate) fn rejections(&self) -> u64 {
        self.tally.rejections().total()
    }

    /// Counts a task that has failed. Called after its worker has counted it as completed, and read
    /// before that count, so that no snapshot has more failed than completed tasks.
    pub(crate) fn count_failed(&self) {
        self.failed.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Acquire)
    }

    /// Keeps the pool from terminating until [`end_report`](Self::end_report).
    pub(crate) fn begin_report(&self) {
        self.unreported.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends what [`begin_report`](Self::begin_report) began; the caller then tries to terminate.
    pub(crate) fn end_report(&self) {
        self.unreported.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn has_unreported(&self) -> bool {
        self.unreported.load(Ordering::SeqCst) != 0
    }

    pub(crate) fn count_abandoned(&self, tasks: usize) {
        self.abandoned.fetch_add(tasks as u64, Ordering::Relaxed);
    }

    pub(crate) fn abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn retirements(&self) -> u64 {
        self.retirements.load(Ordering::SeqCst)
    }

    pub(crate) fn request_retirement(&self) {
        self.retirements.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how many workers the pool may have at present, with spare workers in place of those that
    /// wait.
    pub(crate) fn size_with_spares(&self) -> usize {
        // The maximum of a scheduled pool is no limit.
        let size = match self.options.timers {
            None => self.settings.maximum(),
            Some(_) => self.settings.core().max(1),
        };
        let spares = self.options.spare_workers;
        size.saturating_add(spares.min(self.waits.blocked()))
    }

    /// Returns whether the hooks want the times of every task.
    pub(crate) fn takes_times(&self) -> bool {
        self.options.takes_times
    }

    /// Records the time of submission on the task, if the hooks want times or its wait is timed; else reads
    /// no clock.
    pub(crate) fn record_submission_time(&self, task: Task) -> Task {
        let is_wanted = self.options.takes_times;
        self.tracker.record_submission(task, &self.clock, is_wanted)
    }

    /// Calls the uncaught handler with a failure that no handle receives.
    pub(crate) fn report(&self, failure: &Failure) {
        if let Some(uncaught) = &self.options.uncaught {
            ignore_panic(|| uncaught(failure));
        }
    }

    /// Reports a panic of the `terminated` hook, or of the thread factory, where no caller receives it.
    pub(crate) fn report_panic(&self, ended: Result<(), Box<dyn Any + Send>>) {
        if let Err(payload) = ended {
            let failure = Failure::from_panic(payload);
            self.report(&failure);
            discard(failure);
        }
    }

    /// Makes submitters that wait for room read the pool's state again, and serves those that await it.
    pub(crate) fn nudge_blocked(&self) {
        // Whether or not any seem to: the lock of the line orders this with one that enlists.
        self.room.serve();
        self.options.limits.blocked().nudge_all();
    }
}
