//! What the workers of one fork-join pool share.
//!
//! Everything cold is under one lock, `state`: who sleeps, how many there are, what was submitted
//! from outside, how far the pool's life has come. What is hot is not: each worker's deque, and
//! `hungry`, which tells a worker that has just forked whether somebody would take the work.
//!
//! No work is left beside a sleeping worker: a forker pushes and then reads `hungry`; a worker that
//! is about to sleep writes `hungry` (under the lock) and then looks at all deques once more. Between
//! the two steps of each stands a sequentially consistent fence, so one of both sees the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::deque::{Deque, LocalOrder, Stealer};
use super::job::Work;
use super::worker;
use crate::containment::catch;
use crate::interrupt::Record;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::sync::clock::Clock;
use crate::sync::{Mutex, MutexGuard};
use crate::task::{Cancellation, Failure, Task, TaskId};
use crate::termination::Termination;
use crate::thread_factory::{ThreadBody, ThreadFactory};
use crate::waiting::{WaitQueue, Wakeup};

/// The most workers a pool can be asked for.
pub(super) const MOST_WORKERS: usize = 32_767;

/// How far a pool's life has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Life {
    Running,
    /// Takes nothing new; ends when everything is done.
    Shutdown,
    /// Takes nothing new, drops what has not started.
    Stop,
    Terminated,
}

/// Told of the failure of a task that has no handle.
pub(super) type Uncaught = Arc<dyn Fn(&Failure) + Send + Sync>;

/// What is fixed for a pool's life.
pub(super) struct Config {
    pub(super) order: LocalOrder,
    pub(super) keep_alive: Duration,
    /// Threads beyond parallelism that may stand in for blocked ones.
    pub(super) spares: usize,
    pub(super) factory: Arc<dyn ThreadFactory>,
    pub(super) uncaught: Option<Uncaught>,
}

pub(super) struct Core {
    pub(super) config: Config,
    state: Mutex<State>,
    /// All workers, for thieves; replaced as a whole when one comes or goes.
    members: Mutex<Arc<Vec<Arc<Member>>>>,
    /// How many workers would take work right now: those that sleep, and those that could be started.
    hungry: AtomicUsize,
    /// Whether the pool drops what has not started; a copy for workers that run.
    stopping: AtomicUsize,
    pub(super) termination: Termination,
    clock: Clock,
}

pub(super) struct State {
    pub(super) life: Life,
    pub(super) submissions: VecDeque<Work>,
    /// Those that sleep for want of work, the newest last.
    idle: Vec<Arc<Member>>,
    /// Threads that are there or being made.
    pub(super) live: usize,
    /// Of those, how many wait for something that only others can bring about.
    pub(super) blocked: usize,
    pub(super) parallelism: usize,
    next_number: usize,
    steals_by_gone: u64,
    /// Threads that wait for everything to come to rest.
    resting: WaitQueue,
}

/// One worker, as the others see it.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) number: usize,
    pub(super) stealer: Stealer,
    record: OnceLock<Arc<Record>>,
    /// The task that it runs, as a number; zero for none. Only a hint.
    current: AtomicU64,
    /// Work it has done that others had submitted or forked.
    steals: AtomicU64,
}

impl Member {
    pub(super) fn set_record(&self, record: Arc<Record>) {
        let _ = self.record.set(record);
    }

    pub(super) fn set_current(&self, id: u64) -> u64 {
        let former = self.current.load(Ordering::Relaxed);
        self.current.store(id, Ordering::Relaxed);
        former
    }

    pub(super) fn count_steal(&self) {
        self.steals
            .store(self.steals.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn wake(&self) {
        if let Some(record) = self.record.get() {
            record.unpark();
        }
    }
}

/// The figures of a pool at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) parallelism: usize,
    pub(super) live: usize,
    pub(super) active: usize,
    pub(super) running: usize,
    pub(super) steals: u64,
    pub(super) queued_tasks: usize,
    pub(super) queued_submissions: usize,
}

impl Core {
    pub(super) fn new(config: Config, parallelism: usize) -> Arc<Self> {
        let state = State {
            life: Life::Running,
            submissions: VecDeque::new(),
            idle: Vec::new(),
            live: 0,
            blocked: 0,
            parallelism,
            next_number: 0,
            steals_by_gone: 0,
            resting: WaitQueue::default(),
        };
        Arc::new(Self {
            config,
            state: Mutex::new(state),
            members: Mutex::new(Arc::new(Vec::new())),
            hungry: AtomicUsize::new(parallelism),
            stopping: AtomicUsize::new(0),
            termination: Termination::default(),
            clock: Clock::current(),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn members(&self) -> Arc<Vec<Arc<Member>>> {
        Arc::clone(&self.members.lock())
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) != 0
    }

    /// Whether somebody would take work; only a hint.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) != 0
    }

    /// Has somebody take the work that was just pushed, if somebody would.
    pub(super) fn announce_work(self: &Arc<Self>) {
        fence(Ordering::SeqCst);
        if self.is_hungry() {
            self.feed_one();
        }
    }

    /// Wakes a sleeper, or starts a worker.
    pub(super) fn feed_one(self: &Arc<Self>) {
        let mut state = self.lock();
        if let Some(sleeper) = state.idle.pop() {
            self.show_hunger(&state);
            drop(state);
            sleeper.wake();
        } else if state.life <= Life::Shutdown && state.lacks_workers(self.config.spares) {
            self.spawn(state);
        }
    }

    /// Writes `hungry` after a change of what it depends on.
    fn show_hunger(&self, state: &State) {
        let missing = (state.parallelism + state.blocked).saturating_sub(state.live);
        self.hungry
            .store(state.idle.len() + missing, Ordering::SeqCst);
    }

    /// Starts a worker; the state says that there may be one more.
    fn spawn(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.live += 1;
        state.next_number += 1;
        let number = state.next_number - 1;
        self.show_hunger(&state);
        drop(state);
        let deque = Deque::new(self.config.order);
        let member = Arc::new(Member {
            number,
            stealer: deque.stealer(),
            record: OnceLock::new(),
            current: AtomicU64::new(0),
            steals: AtomicU64::new(0),
        });
        let launch = Launch {
            core: Arc::clone(self),
            member: Some((member, deque)),
        };
        let factory = Arc::clone(&self.config.factory);
        // A factory that refuses, panics or drops the body: `Launch` takes the promise back.
        drop(catch(|| {
            factory.new_thread(ThreadBody::new(move || launch.run()))
        }));
    }

    fn enter(&self, member: &Arc<Member>) {
        let mut members = self.members.lock();
        let mut new = members.to_vec();
        new.push(Arc::clone(member));
        *members = Arc::new(new);
    }

    /// Takes a worker off the books; the last of a pool that is shut down ends it.
    fn leave(self: &Arc<Self>, member: &Arc<Member>) {
        {
            let mut members = self.members.lock();
            let new = members
                .iter()
                .filter(|other| !Arc::ptr_eq(other, member))
                .cloned();
            *members = Arc::new(new.collect());
        }
        let mut state = self.lock();
        state.live -= 1;
        state.steals_by_gone += member.steals.load(Ordering::Relaxed);
        self.show_hunger(&state);
        self.settle(state);
    }

    /// A worker found nothing. It sleeps, for as long as keep-alive, or ends.
    pub(super) fn rest(self: &Arc<Self>, member: &Arc<Member>, me: &Arc<Record>) -> Rest {
        {
            let mut state = self.lock();
            if let Some(work) = state.submissions.pop_front() {
                return Rest::Work(work);
            }
            let surplus = state.live - state.blocked > state.parallelism;
            if surplus || state.life > Life::Shutdown {
                return Rest::Leave;
            }
            state.idle.push(Arc::clone(member));
            self.show_hunger(&state);
            if self.settle(state) == Life::Terminated {
                return Rest::Leave;
            }
        }
        fence(Ordering::SeqCst);
        if self.members().iter().any(|other| other.stealer.len() > 0) {
            self.unrest(member);
            return Rest::Look;
        }
        let deadline = crate::sync::Deadline::after(self.config.keep_alive);
        loop {
            let woken = me.park_uninterruptibly(deadline);
            let mut state = self.lock();
            let Some(at) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, member)) else {
                return Rest::Look;
            };
            let is_over = state.life > Life::Shutdown || state.is_at_rest_for_good();
            if is_over || woken == crate::sync::Woken::TimedOut {
                state.idle.swap_remove(at);
                self.show_hunger(&state);
                return if state.submissions.is_empty() {
                    Rest::Leave
                } else {
                    Rest::Look
                };
            }
        }
    }

    fn unrest(&self, member: &Arc<Member>) {
        let mut state = self.lock();
        state.idle.retain(|idle| !Arc::ptr_eq(idle, member));
        self.show_hunger(&state);
    }

    /// Looks whether everything has come to rest, and whether that is the end.
    fn settle(&self, mut state: MutexGuard<'_, State>) -> Life {
        let mut wakeups: Vec<Wakeup> = Vec::new();
        let mut sleepers = Vec::new();
        let at_rest = state.is_at_rest() && self.members().iter().all(|m| m.stealer.len() == 0);
        if at_rest {
            wakeups = state.resting.signal(usize::MAX);
            if state.life != Life::Running {
                sleepers = std::mem::take(&mut state.idle);
            }
        }
        if at_rest && state.live == 0 && state.life > Life::Running {
            state.life = Life::Terminated;
        }
        let life = state.life;
        if at_rest && life == Life::Shutdown {
            // Nobody can submit any more: those that sleep have nothing to wait for.
            state.life = Life::Stop;
            self.stopping.store(1, Ordering::Release);
        }
        drop(state);
        drop(wakeups);
        for sleeper in sleepers {
            sleeper.wake();
        }
        if life == Life::Terminated {
            self.termination.signal();
        }
        life
    }

    /// Takes work from outside; gives it back if the pool takes none.
    pub(super) fn submit(self: &Arc<Self>, work: Work) -> Result<(), Work> {
        {
            let mut state = self.lock();
            if state.life != Life::Running {
                return Err(work);
            }
            state.submissions.push_back(work);
        }
        self.announce_work();
        Ok(())
    }

    pub(super) fn shutdown(&self) {
        let mut state = self.lock();
        state.life = state.life.max(Life::Shutdown);
        self.settle(state);
    }

    /// Stops: what has not started is dropped, what runs is interrupted.
    pub(super) fn shutdown_now(self: &Arc<Self>) {
        let mut dropped = Vec::new();
        let mut kept = VecDeque::new();
        {
            let mut state = self.lock();
            if state.life == Life::Terminated {
                return;
            }
            state.life = state.life.max(Life::Stop);
            self.stopping.store(1, Ordering::Release);
            let stolen = self.members();
            let stolen = stolen
                .iter()
                .flat_map(|m| std::iter::from_fn(|| m.stealer.steal()));
            for work in std::mem::take(&mut state.submissions)
                .into_iter()
                .chain(stolen)
            {
                match work {
                    Work::Task(task) => dropped.push(task),
                    // Somebody waits for it, with it on his stack: it is run.
                    Work::Job(job) => kept.push_back(Work::Job(job)),
                }
            }
            state.submissions = kept;
        }
        for task in dropped {
            task.abandon(Cancellation::Drained);
        }
        for member in self.members().iter() {
            if let Some(record) = member.record.get() {
                record.interrupt();
            }
        }
        self.feed_all();
        self.settle(self.lock());
    }

    /// Wakes everybody who sleeps.
    pub(super) fn feed_all(&self) {
        let sleepers = {
            let mut state = self.lock();
            let sleepers = std::mem::take(&mut state.idle);
            self.show_hunger(&state);
            sleepers
        };
        for sleeper in sleepers {
            sleeper.wake();
        }
    }

    /// A worker is about to wait for something that only others can bring about: another takes its
    /// place, if the pool would fall below its parallelism.
    pub(super) fn begin_block(self: &Arc<Self>) {
        let state = {
            let mut state = self.lock();
            state.blocked += 1;
            self.show_hunger(&state);
            state
        };
        drop(state);
        self.feed_one();
    }

    pub(super) fn end_block(&self) {
        let mut state = self.lock();
        state.blocked -= 1;
        self.show_hunger(&state);
    }

    pub(super) fn set_parallelism(self: &Arc<Self>, parallelism: usize) -> usize {
        let mut state = self.lock();
        let former = std::mem::replace(&mut state.parallelism, parallelism);
        self.show_hunger(&state);
        drop(state);
        self.feed_all();
        former
    }

    /// Whether nothing is queued and nobody works.
    pub(super) fn is_quiescent(&self) -> bool {
        let at_rest = self.lock().is_at_rest();
        at_rest
            && self
                .members()
                .iter()
                .all(|member| member.stealer.len() == 0)
    }

    /// Waits until nothing is queued and nobody works.
    pub(super) fn await_quiescence(&self, deadline: crate::sync::Deadline) -> bool {
        let mut state = self.lock();
        loop {
            let empty = self
                .members()
                .iter()
                .all(|member| member.stealer.len() == 0);
            if state.is_at_rest() && empty {
                return true;
            }
            if deadline.has_passed() {
                return false;
            }
            let waited =
                crate::waiting::wait(&self.state, state, |state| &mut state.resting, (), deadline);
            state = waited.guard;
            if waited.how == crate::waiting::Wait::Interrupted {
                // Quiescence does not report interrupts: they stay pending.
                Record::current().set_flag();
                return state.is_at_rest();
            }
        }
    }

    /// Somebody's work, oldest first.
    pub(super) fn steal(&self, from: usize) -> Option<Work> {
        let members = self.members();
        let count = members.len();
        (0..count).find_map(|offset| members[(from + offset) % count].stealer.steal())
    }

    /// Work of the worker with this number.
    pub(super) fn steal_from(&self, number: usize) -> Option<Work> {
        let members = self.members();
        members
            .iter()
            .find(|member| member.number == number)?
            .stealer
            .steal()
    }

    /// The number of the worker that runs this task, as far as it is known.
    pub(super) fn runner_of(&self, id: TaskId) -> Option<usize> {
        let members = self.members();
        let runs = |member: &&Arc<Member>| member.current.load(Ordering::Relaxed) == id.as_u64();
        members.iter().find(runs).map(|member| member.number)
    }

    /// Whether there is no worker, and none could be made.
    pub(super) fn has_no_workers(&self) -> bool {
        self.lock().live == 0
    }

    pub(super) fn take_submission(&self) -> Option<Work> {
        self.lock().submissions.pop_front()
    }

    pub(super) fn take_submitted_task(&self) -> Option<Task> {
        let mut state = self.lock();
        let at = state
            .submissions
            .iter()
            .position(|work| matches!(work, Work::Task(_)))?;
        match state.submissions.remove(at) {
            Some(Work::Task(task)) => Some(task),
            _ => None,
        }
    }

    pub(super) fn figures(&self) -> Figures {
        let members = self.members();
        let state = self.lock();
        let steals = members
            .iter()
            .map(|member| member.steals.load(Ordering::Relaxed));
        Figures {
            parallelism: state.parallelism,
            live: state.live,
            active: state.live.saturating_sub(state.idle.len()),
            running: state.live.saturating_sub(state.idle.len() + state.blocked),
            steals: state.steals_by_gone + steals.sum::<u64>(),
            queued_tasks: members.iter().map(|member| member.stealer.len()).sum(),
            queued_submissions: state.submissions.len(),
        }
    }

    pub(super) fn life(&self) -> Life {
        self.lock().life
    }

    /// Reports a failure that nobody else will.
    pub(super) fn report(&self, failure: &Failure) {
        if let Some(uncaught) = &self.config.uncaught {
            crate::containment::contain(|| uncaught(failure));
        }
    }
}

/// What a worker that found nothing does next.
pub(super) enum Rest {
    Work(Work),
    Look,
    Leave,
}

impl State {
    /// Whether one more worker may be started.
    fn lacks_workers(&self, spares: usize) -> bool {
        self.live - self.blocked < self.parallelism && self.live < self.parallelism + spares
    }

    fn is_at_rest(&self) -> bool {
        self.submissions.is_empty() && self.idle.len() == self.live
    }

    fn is_at_rest_for_good(&self) -> bool {
        self.life > Life::Running && self.is_at_rest()
    }
}

/// What a worker's thread runs; if it never does, the worker is taken off the books again.
struct Launch {
    core: Arc<Core>,
    member: Option<(Arc<Member>, Deque)>,
}

impl Launch {
    fn run(mut self) {
        if let Some((member, deque)) = self.member.take() {
            let core = Arc::clone(&self.core);
            core.enter(&member);
            let ended = catch(|| worker::run(&core, &member, deque));
            core.leave(&member);
            if let Err(payload) = ended {
                core.report(&Failure::from_panic(payload));
            }
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if self.member.is_some() {
            let mut state = self.core.lock();
            state.live -= 1;
            self.core.show_hunger(&state);
            self.core.settle(state);
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}
