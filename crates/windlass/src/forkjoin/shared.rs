//! What the workers of one fork-join pool share.
//!
//! Everything cold is under one lock, `state`: who sleeps, how many there are, what was submitted
//! from outside, how far the pool's run_state has come. What is hot is not: each worker's deque, and
//! `wakeable`, which tells a worker that has just forked whether somebody would take the work.
//! `workers` has a lock of its own, taken alone or inside `state`.
//!
//! No work is left beside a sleeping worker: a forker pushes and then reads `wakeable`; a worker that
//! is about to sleep writes `wakeable` (under the lock) and then looks at all deques once more. Between
//! the two steps of each stands a sequentially consistent fence, so one of both sees the other. A
//! worker that is about to wait in a task, and so leaves room for another, does the same.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::job::{JobRef, Work};
use super::roster::WorkerInfo;
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use crate::sync::clock::Clock;
use crate::sync::{Deadline, Mutex, MutexGuard, ParkResult, lock_with_backoff, mutant};
use crate::task::{Failure, Task, TaskId};
use crate::termination::Termination;
use crate::thread_factory::ThreadFactory;
use crate::waiting::WaitQueue;

/// The most workers a pool can be asked for.
pub(super) const MAX_WORKERS: usize = 32_767;

/// How far a pool's run_state has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunState {
    Running,
    /// Takes nothing new; ends when everything is done.
    Shutdown,
    /// Takes nothing new, drops what has not started.
    Stop,
    Terminated,
}

impl RunState {
    /// Back from `as u8`.
    #[inline]
    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Shutdown,
            2 => Self::Stop,
            _ => Self::Terminated,
        }
    }
}

/// Told of the failure of a task that has no handle.
pub(super) type Uncaught = Arc<dyn Fn(&Failure) + Send + Sync>;

/// What is fixed for a pool's run_state.
pub(super) struct Config {
    pub(super) order: LocalOrder,
    pub(super) keep_alive: Duration,
    /// Threads beyond parallelism that may stand in for blocked ones.
    pub(super) spares: usize,
    pub(super) factory: Arc<dyn ThreadFactory>,
    pub(super) uncaught: Option<Uncaught>,
}

/// All workers of a pool at one time.
pub(super) type Workers = Vec<Arc<WorkerInfo>>;

/// The oldest work of one of these; the one at this place is asked first.
pub(super) fn steal_from(workers: &Workers, first: usize) -> Option<Work> {
    let count = workers.len();
    (0..count).find_map(|offset| workers[(first % count + offset) % count].stealer.steal())
}

pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) state: Mutex<State>,
    /// All workers, for thieves; replaced as a whole when one comes or goes.
    workers: Mutex<Arc<Workers>>,
    /// How often the list was replaced, so that workers can keep it.
    epoch: AtomicUsize,
    /// How many workers would take work right now: those that sleep, and those that could be started.
    wakeable: AtomicUsize,
    /// How much was ever submitted: for workers that look out for more.
    submission_count: AtomicUsize,
    /// A copy of the state's `run_state`, written under its lock, for those that cannot wait for it.
    run_state: AtomicU8,
    pub(super) termination: Termination,
    clock: Clock,
}

pub(super) struct State {
    pub(super) run_state: RunState,
    pub(super) injector: VecDeque<Work>,
    /// Those that sleep for want of work, the newest last.
    pub(super) sleeping: Vec<Arc<WorkerInfo>>,
    /// Threads that are there or being made.
    pub(super) live: usize,
    /// Of those, how many wait for something that only others can bring about.
    pub(super) blocked: usize,
    /// Threads from outside that help.
    pub(super) helpers: usize,
    pub(super) parallelism: usize,
    pub(super) next_index: usize,
    pub(super) steals_of_retired: u64,
    /// Threads that wait for everything to come to rest.
    pub(super) quiescence_waiters: WaitQueue,
    /// Threads from outside that wait for a job of theirs, and have to do it when nobody is left.
    pub(super) callers: Vec<Arc<ThreadContext>>,
}

impl Shared {
    pub(super) fn new(config: Config, parallelism: usize) -> Arc<Self> {
        let state = State {
            run_state: RunState::Running,
            injector: VecDeque::new(),
            sleeping: Vec::new(),
            live: 0,
            blocked: 0,
            helpers: 0,
            parallelism,
            next_index: 0,
            steals_of_retired: 0,
            quiescence_waiters: WaitQueue::default(),
            callers: Vec::new(),
        };
        Arc::new(Self {
            config,
            state: Mutex::new(state),
            workers: Mutex::new(Arc::new(Vec::new())),
            epoch: AtomicUsize::new(0),
            wakeable: AtomicUsize::new(parallelism),
            submission_count: AtomicUsize::new(0),
            run_state: AtomicU8::new(RunState::Running as u8),
            termination: Termination::default(),
            clock: Clock::current(),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Some(state) => state,
            None => lock_with_backoff(&self.state),
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn workers(&self) -> Arc<Workers> {
        Arc::clone(&self.workers.lock())
    }

    /// Lets others steal from this one.
    pub(super) fn enter(&self, info: &Arc<WorkerInfo>) {
        let mut workers = self.workers.lock();
        let mut new = workers.to_vec();
        new.push(Arc::clone(info));
        *workers = Arc::new(new);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Takes one off the list; under the lock of the state, so that no steal is counted twice.
    pub(super) fn exit(&self, state: &mut State, info: &Arc<WorkerInfo>) {
        let mut workers = self.workers.lock();
        let others = workers.iter().filter(|other| !Arc::ptr_eq(other, info));
        let others = Arc::new(others.cloned().collect());
        *workers = others;
        self.epoch.fetch_add(1, Ordering::Release);
        state.steals_of_retired += info.steals();
    }

    /// How far the pool's run_state has come.
    #[inline]
    pub(super) fn run_state(&self) -> RunState {
        RunState::from_number(self.run_state.load(Ordering::Acquire))
    }

    pub(super) fn set_run_state(&self, state: &mut State, run_state: RunState) {
        state.run_state = run_state;
        self.run_state.store(run_state as u8, Ordering::Release);
    }

    /// Whether the pool drops what has not started.
    #[inline]
    pub(super) fn is_stopping(&self) -> bool {
        self.run_state() > RunState::Shutdown
    }

    /// Whether somebody would take work; only a hint.
    #[inline]
    pub(super) fn has_wakeable(&self) -> bool {
        self.wakeable.load(Ordering::Relaxed) != 0
    }

    /// Whether a deque holds work.
    pub(super) fn has_forks(&self) -> bool {
        self.workers().iter().any(|info| info.stealer.len() > 0)
    }

    /// Has somebody take the work that was just pushed, if somebody would.
    #[inline]
    pub(super) fn notify_work(self: &Arc<Self>) {
        // Mutant: hunger is looked at before the work is there to be seen.
        if !mutant!("announce_has_no_fence") {
            fence(Ordering::SeqCst);
        }
        if self.has_wakeable() {
            self.wake_one();
        }
    }

    /// Has somebody take what is left when one has found work: a chain of wake-ups instead of a herd,
    /// which ends where the work does.
    pub(super) fn notify_more(self: &Arc<Self>) {
        fence(Ordering::SeqCst);
        if self.has_wakeable() && (self.has_forks() || !self.lock().injector.is_empty()) {
            self.wake_one();
        }
    }

    /// Wakes a sleeper, or starts a worker.
    #[cold]
    pub(super) fn wake_one(self: &Arc<Self>) {
        let mut state = self.lock();
        if let Some(sleeper) = state.sleeping.pop() {
            self.publish_wakeable(&state);
            drop(state);
            sleeper.wake();
        } else if state.may_grow(self.config.spares) {
            self.spawn(state);
        }
    }

    /// As many as there is work for, as far as they are missing.
    pub(super) fn wake_for_queued(self: &Arc<Self>) {
        let forked: usize = self.workers().iter().map(|m| m.stealer.len()).sum();
        let queued = self.lock().injector.len() + forked;
        for _ in 0..queued {
            let state = self.lock();
            if state.sleeping.is_empty() && !state.may_grow(self.config.spares) {
                return;
            }
            drop(state);
            self.wake_one();
        }
    }

    /// Writes `wakeable` after a change of what it depends on.
    pub(super) fn publish_wakeable(&self, state: &State) {
        let missing = (state.parallelism + state.blocked).saturating_sub(state.live);
        self.wakeable
            .store(state.sleeping.len() + missing, Ordering::SeqCst);
    }

    /// A worker found nothing. It sleeps, for as long as keep-alive, or ends.
    pub(super) fn sleep_or_retire(
        self: &Arc<Self>,
        info: &Arc<WorkerInfo>,
        me: &Arc<ThreadContext>,
    ) -> Idle {
        {
            let mut state = self.lock();
            if let Some(work) = state.injector.pop_front() {
                return Idle::Run(work);
            }
            let surplus = state.live - state.blocked > state.parallelism;
            if surplus || state.run_state > RunState::Shutdown {
                return Idle::Retire;
            }
            state.sleeping.push(Arc::clone(info));
            self.publish_wakeable(&state);
            self.try_terminate(state);
        }
        fence(Ordering::SeqCst);
        // Mutant: what was pushed before `wakeable` was written is not seen.
        if !mutant!("rest_looks_once") && self.has_forks() {
            self.cancel_sleep(info);
            return Idle::Search;
        }
        self.sleep(info, me)
    }

    fn sleep(&self, info: &Arc<WorkerInfo>, me: &Arc<ThreadContext>) -> Idle {
        let deadline = Deadline::after(self.config.keep_alive);
        loop {
            let woken = me.park_uninterruptibly(deadline);
            let mut state = self.lock();
            let Some(at) = state
                .sleeping
                .iter()
                .position(|idle| Arc::ptr_eq(idle, info))
            else {
                return Idle::Search;
            };
            if state.run_state > RunState::Shutdown || woken == ParkResult::TimedOut {
                state.sleeping.swap_remove(at);
                self.publish_wakeable(&state);
                return if state.injector.is_empty() {
                    Idle::Retire
                } else {
                    Idle::Search
                };
            }
        }
    }

    fn cancel_sleep(&self, info: &Arc<WorkerInfo>) {
        let mut state = self.lock();
        state.sleeping.retain(|idle| !Arc::ptr_eq(idle, info));
        self.publish_wakeable(&state);
    }

    /// Takes work from outside; gives it back if the pool takes none.
    pub(super) fn submit(self: &Arc<Self>, work: Work) -> Result<Accepted, Work> {
        let taken = self.submit_quietly(work)?;
        self.notify_work();
        Ok(taken)
    }

    /// The same, and wakes nobody.
    pub(super) fn submit_quietly(&self, work: Work) -> Result<Accepted, Work> {
        let mut state = self.lock();
        if state.run_state != RunState::Running {
            return Err(work);
        }
        state.injector.push_back(work);
        self.submission_count.fetch_add(1, Ordering::Relaxed);
        Ok(if state.parallelism == 0 {
            Accepted::WithoutWorkers
        } else {
            Accepted::ForWorkers
        })
    }

    /// A worker is about to wait for something that only others can bring about: another takes its
    /// place as soon as there is work for it.
    pub(super) fn begin_block(self: &Arc<Self>) {
        let submitted = {
            let mut state = self.lock();
            state.blocked += 1;
            self.publish_wakeable(&state);
            !state.injector.is_empty()
        };
        fence(Ordering::SeqCst);
        // Mutant: what is queued waits as long as the worker does.
        if !mutant!("block_feeds_nobody") && (submitted || self.has_forks()) {
            self.wake_one();
        }
    }

    pub(super) fn end_block(&self) {
        let mut state = self.lock();
        state.blocked -= 1;
        self.publish_wakeable(&state);
    }

    pub(super) fn set_parallelism(self: &Arc<Self>, parallelism: usize) -> usize {
        let mut state = self.lock();
        let former = std::mem::replace(&mut state.parallelism, parallelism);
        self.publish_wakeable(&state);
        drop(state);
        // Those that sleep look whether there are too many; those that are missing are started.
        self.wake_all();
        self.wake_for_queued();
        former
    }

    /// Wakes everybody who sleeps.
    pub(super) fn wake_all(&self) {
        let sleepers = {
            let mut state = self.lock();
            let sleepers = std::mem::take(&mut state.sleeping);
            self.publish_wakeable(&state);
            sleepers
        };
        for sleeper in sleepers {
            sleeper.wake();
        }
    }

    /// Somebody's work, oldest first.
    pub(super) fn steal(&self) -> Option<Work> {
        steal_from(&self.workers(), 0)
    }

    /// How often the list of workers was replaced; one that is taken after this is as new at least.
    #[inline]
    pub(super) fn epoch(&self) -> usize {
        self.epoch.load(Ordering::Acquire)
    }

    /// A part of what the worker with this number is at.
    pub(super) fn steal_join_job(&self, index: usize) -> Option<JobRef> {
        let workers = self.workers();
        let info = workers.iter().find(|info| info.index == index)?;
        info.stealer.steal_join_job()?.into_job()
    }

    /// The number of the worker that runs this task, as far as it is known.
    pub(super) fn runner_of(&self, id: TaskId) -> Option<usize> {
        let workers = self.workers();
        let runner = workers.iter().find(|info| info.runs(id.as_u64()));
        runner.map(|info| info.index)
    }

    /// Whether there is no worker; one that is being made counts.
    pub(super) fn has_no_workers(&self) -> bool {
        self.lock().live == 0
    }

    /// How much was ever submitted.
    pub(super) fn submission_count(&self) -> usize {
        self.submission_count.load(Ordering::Relaxed)
    }

    pub(super) fn take_submission(&self) -> Option<Work> {
        self.lock().injector.pop_front()
    }

    /// Takes out the first submission of this kind.
    pub(super) fn take_submission_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let mut state = self.lock();
        let at = state.injector.iter().position(wanted)?;
        state.injector.remove(at)
    }

    /// A job that [`shutdown_now`](Self::shutdown_now) has moved from its deque to the submissions.
    pub(super) fn take_moved(&self, waiter: usize) -> Option<Work> {
        // Under the lock, so that who misses a job finds it: it is moved under the lock too.
        if self.lock().run_state > RunState::Shutdown {
            return self.take_submission_if(|work| work.waiter() == Some(waiter));
        }
        None
    }

    pub(super) fn take_submitted_task(&self) -> Option<Task> {
        let taken = self.take_submission_if(|work| !work.is_job())?;
        self.try_terminate(self.lock());
        taken.into_task()
    }

    /// Reports a failure that nobody else will.
    pub(super) fn report(&self, failure: Failure) {
        if let Some(uncaught) = &self.config.uncaught {
            crate::unwind::ignore_panic(|| uncaught(&failure));
        }
        crate::unwind::discard(failure);
    }
}

/// Who is to do what was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    ForWorkers,
    /// There are to be no workers.
    WithoutWorkers,
}

/// What a worker that found nothing does next.
pub(super) enum Idle {
    Run(Work),
    Search,
    Retire,
}

impl State {
    /// Whether one more worker may be started.
    pub(super) fn may_grow(&self, spares: usize) -> bool {
        let is_open = match self.run_state {
            RunState::Running | RunState::Shutdown => true,
            // Somebody waits for what is still there.
            RunState::Stop => !self.injector.is_empty(),
            RunState::Terminated => false,
        };
        is_open
            && self.live - self.blocked < self.parallelism
            && self.live < self.parallelism + spares
    }

    pub(super) fn is_quiescent(&self) -> bool {
        self.injector.is_empty() && self.sleeping.len() == self.live && self.helpers == 0
    }
}
