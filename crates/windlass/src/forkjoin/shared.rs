//! The state that the workers and users of a fork-join pool share.
//!
//! Everything off the hot path is under one lock, [`State`]. The hot parts are not: each worker's
//! deque, and the lock-free half of [`Sleep`]. The [`Roster`] has a lock of its own, taken alone or inside that of the
//! state.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::deque::{Deque, LocalOrder};
use super::job::{WaiterId, Work};
use super::limits::LimitCounts;
use super::roster::{Roster, WorkerInfo};
use super::sleep::Sleep;
use super::state::{self, Census, RunState, State};
use super::timer_service::PoolTimers;
use crate::executor::{Refusals, RejectedExecution, RejectionReason, ShutdownCancels, to_io_error};
use crate::hooks::Hooks;
use crate::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock::Clock;
use crate::sync::{Mutex, MutexGuard};
use crate::task::{Cancellation, Failure, Prepare, Sources, Task};
use crate::termination::Termination;
use crate::thread_factory::ThreadFactory;
use crate::times::{Times, Tracker};
use crate::unwind::{discard, ignore_panic};

/// A function that is called with the failure of a task that has no handle.
pub(super) type UncaughtHandler = Arc<dyn Fn(&Failure) + Send + Sync>;

/// The hooks of a pool.
pub(super) struct PoolHooks {
    pub(super) hooks: Arc<dyn Hooks>,
    /// Whether they receive how long tasks waited and ran.
    pub(super) takes_times: bool,
}

/// The run loop of a worker.
///
/// A function pointer, since `worker` depends on the code that starts workers: the loop runs tasks, tasks
/// fork, and a fork may start a worker.
pub(super) type RunWorker = fn(&Arc<Shared>, &Arc<WorkerInfo>, Deque<Work>);

/// The configuration that is fixed when a pool is built.
pub(super) struct Config {
    pub(super) name: Arc<str>,
    pub(super) order: LocalOrder,
    pub(super) keep_alive: Duration,
    /// How many threads beyond the parallelism may replace blocked ones.
    pub(super) max_spares: usize,
    pub(super) factory: Arc<dyn ThreadFactory>,
    pub(super) uncaught: Option<UncaughtHandler>,
    pub(super) prepare: Option<Prepare>,
    pub(super) hooks: Option<PoolHooks>,
    /// What travels with jobs and forks; with submissions it does by `prepare`.
    pub(super) sources: Sources,
    /// Whether tasks are timed.
    pub(super) times: Times,
    pub(super) run_worker: RunWorker,
}

pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) state: Mutex<State>,
    pub(super) roster: Roster,
    pub(super) sleep: Sleep,
    /// The number of submissions so far; workers spin on it.
    submission_count: AtomicUsize,
    /// A copy of [`State::run_state`], written under its lock, for readers without it.
    run_state: AtomicU8,
    pub(super) termination: Termination,
    /// How long tasks wait and run.
    pub(super) tracker: Tracker,
    /// Tasks that were not accepted.
    rejections: AtomicU64,
    /// The threads that could not be created.
    pub(super) refusals: Refusals,
    pub(super) clock: Clock,
    /// The tasks whose time was up.
    pub(super) limits: Arc<LimitCounts>,
    /// What the shutdown cancels.
    pub(super) cancels: Arc<ShutdownCancels>,
    /// The timers, if a task was ever scheduled.
    pub(super) timers: OnceLock<Box<dyn PoolTimers>>,
}

/// Work that was not accepted, and why.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) work: Work,
    /// Why no thread could be created for it; `None` if the pool is shut down.
    cause: Option<Failure>,
}

impl Refused {
    pub(super) const fn shut_down(work: Work) -> Self {
        Self { work, cause: None }
    }

    pub(super) const fn no_thread(work: Work, cause: Failure) -> Self {
        Self {
            work,
            cause: Some(cause),
        }
    }

    /// Returns whether the pool has no worker, and no thread could be created.
    pub(super) const fn is_for_want_of_a_thread(&self) -> bool {
        self.cause.is_some()
    }

    /// Converts it into a rejection. Jobs are never rejected: the submitter runs them.
    pub(super) fn into_rejection(self) -> RejectedExecution {
        let task = self.work.into_task().unwrap_or_else(|| Task::new(|| ()));
        match self.cause {
            None => RejectedExecution::new(task, RejectionReason::Shutdown),
            Some(cause) => RejectedExecution::new(task, RejectionReason::NoThread)
                .with_source(to_io_error(&cause)),
        }
    }
}

/// Which thread runs submitted work.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    ByWorkers,
    /// The pool has a parallelism of zero: the submitter runs it.
    WithoutWorkers,
}

impl Shared {
    pub(super) fn new(config: Config, parallelism: usize) -> Arc<Self> {
        let census = Census::new(parallelism, config.max_spares);
        Arc::new(Self {
            tracker: Tracker::new(config.times),
            rejections: AtomicU64::new(0),
            config,
            roster: Roster::new(),
            sleep: Sleep::new(&census),
            state: Mutex::new(State::new(census)),
            submission_count: AtomicUsize::new(0),
            run_state: AtomicU8::new(RunState::Running as u8),
            termination: Termination::default(),
            refusals: Refusals::default(),
            clock: Clock::current(),
            limits: Arc::new(LimitCounts::new()),
            cancels: Arc::default(),
            timers: OnceLock::new(),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        state::lock(&self.state)
    }

    #[inline]
    pub(super) fn run_state(&self) -> RunState {
        RunState::from_u8(self.run_state.load(Ordering::Acquire))
    }

    pub(super) fn set_run_state(&self, state: &mut State, run_state: RunState) {
        state.run_state = run_state;
        self.run_state.store(run_state as u8, Ordering::Release);
    }

    /// Returns whether the pool runs no further tasks.
    #[inline]
    pub(super) fn is_stopping(&self) -> bool {
        self.run_state() > RunState::Shutdown
    }

    /// Returns whether no worker runs or searches work; one that is being started counts as one.
    pub(super) fn is_stalled(&self) -> bool {
        self.lock().census.is_stalled()
    }

    /// Returns whether it is [stalled](Self::is_stalled), and work is queued.
    pub(super) fn is_stalled_with_work(&self, state: &State) -> bool {
        state.census.is_stalled() && (!state.injector.is_empty() || self.roster.has_queued())
    }

    /// Queues work from outside, and wakes no worker; returns it if the pool is shut down.
    pub(super) fn inject(&self, work: Work) -> Result<Accepted, Refused> {
        self.inject_until(RunState::Running, work)
    }

    /// As [`inject`](Self::inject), but returns the work only if the pool is beyond this state.
    pub(super) fn inject_until(&self, last: RunState, work: Work) -> Result<Accepted, Refused> {
        let mut state = self.lock();
        if state.run_state > last {
            return Err(Refused::shut_down(work));
        }
        state.injector.push(work);
        self.submission_count.fetch_add(1, Ordering::Relaxed);
        Ok(if state.census.parallelism == 0 {
            Accepted::WithoutWorkers
        } else {
            Accepted::ByWorkers
        })
    }

    /// Returns how many workers run at a time.
    pub(super) fn parallelism(&self) -> usize {
        self.lock().census.parallelism
    }

    /// Returns whether submitted work is queued.
    pub(super) fn has_submissions(&self, state: &State) -> bool {
        !state.injector.is_empty()
    }

    /// Returns the number of submissions so far.
    pub(super) fn submission_count(&self) -> usize {
        self.submission_count.load(Ordering::Relaxed)
    }

    /// Takes the oldest submission.
    pub(super) fn take_submission(&self) -> Option<Work> {
        state::lock_to_take(&self.state).injector.pop()
    }

    /// Takes the oldest submission that is wanted.
    pub(super) fn take_submission_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        self.lock().injector.pop_if(wanted)
    }

    /// Takes a job of this waiter that was moved from a deque to the injector.
    pub(super) fn take_moved_job(&self, waiter: WaiterId) -> Option<Work> {
        // Under the lock: jobs are moved under it too, so one that is missing in its deque is here.
        let mut state = self.lock();
        if !state.injector.has_moved() {
            return None;
        }
        state.injector.pop_if(|work| work.is_for(waiter))
    }

    /// Queues work that was stolen from the deque of a blocked worker, as if it had been submitted.
    pub(super) fn inject_stolen(&self, work: Work) {
        self.lock().injector.push_moved(work);
    }

    /// Steals the oldest work of any worker.
    pub(super) fn steal(&self) -> Option<Work> {
        self.roster.snapshot().steal(0)
    }

    /// Records the time of submission on the task, if the hooks want times or its wait is timed; else reads
    /// no clock.
    #[inline]
    pub(super) fn record_submission_time(&self, task: Task) -> Task {
        let hooks = self.config.hooks.as_ref();
        let is_wanted = hooks.is_some_and(|hooks| hooks.takes_times);
        self.tracker.record_submission(task, &self.clock, is_wanted)
    }

    /// Counts a task that was not accepted.
    pub(super) fn count_rejection(&self) {
        self.rejections.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many tasks were not accepted.
    pub(super) fn rejections(&self) -> u64 {
        self.rejections.load(Ordering::Relaxed)
    }

    /// Calls the uncaught handler with a failure that no handle receives.
    pub(super) fn report(&self, failure: Failure) {
        if let Some(uncaught) = &self.config.uncaught {
            ignore_panic(|| uncaught(&failure));
        }
        discard(failure);
    }
}

impl Drop for Shared {
    /// Cancels submitted tasks for which no worker could be started.
    fn drop(&mut self) {
        let injector = std::mem::take(&mut self.lock().injector);
        for task in injector.filter_map(Work::into_task) {
            ignore_panic(|| task.abandon(Cancellation::PoolDropped));
        }
    }
}
