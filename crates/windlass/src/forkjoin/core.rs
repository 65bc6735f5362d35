//! What the workers of one fork-join pool share.
//!
//! Everything cold is under one lock, `state`: who sleeps, how many there are, what was submitted
//! from outside, how far the pool's life has come. What is hot is not: each worker's deque, and
//! `hungry`, which tells a worker that has just forked whether somebody would take the work.
//! `members` has a lock of its own, taken alone or inside `state`.
//!
//! No work is left beside a sleeping worker: a forker pushes and then reads `hungry`; a worker that
//! is about to sleep writes `hungry` (under the lock) and then looks at all deques once more. Between
//! the two steps of each stands a sequentially consistent fence, so one of both sees the other. A
//! worker that is about to wait in a task, and so leaves room for another, does the same.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::job::{JobRef, Work};
use super::member::Member;
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use crate::sync::clock::Clock;
use crate::sync::{Deadline, Mutex, MutexGuard, ParkResult, lock_with_backoff, mutant};
use crate::task::{Failure, Task, TaskId};
use crate::termination::Termination;
use crate::thread_factory::ThreadFactory;
use crate::waiting::WaitQueue;

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

impl Life {
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

/// What is fixed for a pool's life.
pub(super) struct Config {
    pub(super) order: LocalOrder,
    pub(super) keep_alive: Duration,
    /// Threads beyond parallelism that may stand in for blocked ones.
    pub(super) spares: usize,
    pub(super) factory: Arc<dyn ThreadFactory>,
    pub(super) uncaught: Option<Uncaught>,
}

/// All workers of a pool at one time.
pub(super) type Members = Vec<Arc<Member>>;

/// The oldest work of one of these; the one at this place is asked first.
pub(super) fn steal_from(members: &Members, first: usize) -> Option<Work> {
    let count = members.len();
    (0..count).find_map(|offset| members[(first % count + offset) % count].stealer.steal())
}

pub(super) struct Core {
    pub(super) config: Config,
    pub(super) state: Mutex<State>,
    /// All workers, for thieves; replaced as a whole when one comes or goes.
    members: Mutex<Arc<Members>>,
    /// How often the list was replaced, so that workers can keep it.
    editions: AtomicUsize,
    /// How many workers would take work right now: those that sleep, and those that could be started.
    hungry: AtomicUsize,
    /// How much was ever submitted: for workers that look out for more.
    submitted: AtomicUsize,
    /// A copy of the state's `life`, written under its lock, for those that cannot wait for it.
    life: AtomicU8,
    pub(super) termination: Termination,
    clock: Clock,
}

pub(super) struct State {
    pub(super) life: Life,
    pub(super) submissions: VecDeque<Work>,
    /// Those that sleep for want of work, the newest last.
    pub(super) idle: Vec<Arc<Member>>,
    /// Threads that are there or being made.
    pub(super) live: usize,
    /// Of those, how many wait for something that only others can bring about.
    pub(super) blocked: usize,
    /// Threads from outside that help.
    pub(super) guests: usize,
    pub(super) parallelism: usize,
    pub(super) next_number: usize,
    pub(super) steals_by_gone: u64,
    /// Threads that wait for everything to come to rest.
    pub(super) resting: WaitQueue,
    /// Threads from outside that wait for a job of theirs, and have to do it when nobody is left.
    pub(super) callers: Vec<Arc<ThreadContext>>,
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
            guests: 0,
            parallelism,
            next_number: 0,
            steals_by_gone: 0,
            resting: WaitQueue::default(),
            callers: Vec::new(),
        };
        Arc::new(Self {
            config,
            state: Mutex::new(state),
            members: Mutex::new(Arc::new(Vec::new())),
            editions: AtomicUsize::new(0),
            hungry: AtomicUsize::new(parallelism),
            submitted: AtomicUsize::new(0),
            life: AtomicU8::new(Life::Running as u8),
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

    pub(super) fn members(&self) -> Arc<Members> {
        Arc::clone(&self.members.lock())
    }

    /// Lets others steal from this one.
    pub(super) fn enter(&self, member: &Arc<Member>) {
        let mut members = self.members.lock();
        let mut new = members.to_vec();
        new.push(Arc::clone(member));
        *members = Arc::new(new);
        self.editions.fetch_add(1, Ordering::Release);
    }

    /// Takes one off the list; under the lock of the state, so that no steal is counted twice.
    pub(super) fn exit(&self, state: &mut State, member: &Arc<Member>) {
        let mut members = self.members.lock();
        let others = members.iter().filter(|other| !Arc::ptr_eq(other, member));
        let others = Arc::new(others.cloned().collect());
        *members = others;
        self.editions.fetch_add(1, Ordering::Release);
        state.steals_by_gone += member.steals();
    }

    /// How far the pool's life has come.
    #[inline]
    pub(super) fn life(&self) -> Life {
        Life::from_number(self.life.load(Ordering::Acquire))
    }

    pub(super) fn set_life(&self, state: &mut State, life: Life) {
        state.life = life;
        self.life.store(life as u8, Ordering::Release);
    }

    /// Whether the pool drops what has not started.
    #[inline]
    pub(super) fn is_stopping(&self) -> bool {
        self.life() > Life::Shutdown
    }

    /// Whether somebody would take work; only a hint.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) != 0
    }

    /// Whether a deque holds work.
    pub(super) fn has_forked(&self) -> bool {
        self.members().iter().any(|member| member.stealer.len() > 0)
    }

    /// Has somebody take the work that was just pushed, if somebody would.
    #[inline]
    pub(super) fn announce_work(self: &Arc<Self>) {
        // Mutant: hunger is looked at before the work is there to be seen.
        if !mutant!("announce_has_no_fence") {
            fence(Ordering::SeqCst);
        }
        if self.is_hungry() {
            self.feed_one();
        }
    }

    /// Has somebody take what is left when one has found work: a chain of wake-ups instead of a herd,
    /// which ends where the work does.
    pub(super) fn announce_more(self: &Arc<Self>) {
        fence(Ordering::SeqCst);
        if self.is_hungry() && (self.has_forked() || !self.lock().submissions.is_empty()) {
            self.feed_one();
        }
    }

    /// Wakes a sleeper, or starts a worker.
    #[cold]
    pub(super) fn feed_one(self: &Arc<Self>) {
        let mut state = self.lock();
        if let Some(sleeper) = state.idle.pop() {
            self.show_hunger(&state);
            drop(state);
            sleeper.wake();
        } else if state.may_grow(self.config.spares) {
            self.spawn(state);
        }
    }

    /// As many as there is work for, as far as they are missing.
    pub(super) fn feed_queued(self: &Arc<Self>) {
        let forked: usize = self.members().iter().map(|m| m.stealer.len()).sum();
        let queued = self.lock().submissions.len() + forked;
        for _ in 0..queued {
            let state = self.lock();
            if state.idle.is_empty() && !state.may_grow(self.config.spares) {
                return;
            }
            drop(state);
            self.feed_one();
        }
    }

    /// Writes `hungry` after a change of what it depends on.
    pub(super) fn show_hunger(&self, state: &State) {
        let missing = (state.parallelism + state.blocked).saturating_sub(state.live);
        self.hungry
            .store(state.idle.len() + missing, Ordering::SeqCst);
    }

    /// A worker found nothing. It sleeps, for as long as keep-alive, or ends.
    pub(super) fn rest(self: &Arc<Self>, member: &Arc<Member>, me: &Arc<ThreadContext>) -> Rest {
        {
            let mut state = self.lock();
            if let Some(work) = state.submissions.pop_front() {
                return Rest::Submission(work);
            }
            let surplus = state.live - state.blocked > state.parallelism;
            if surplus || state.life > Life::Shutdown {
                return Rest::Leave;
            }
            state.idle.push(Arc::clone(member));
            self.show_hunger(&state);
            self.settle(state);
        }
        fence(Ordering::SeqCst);
        // Mutant: what was pushed before `hungry` was written is not seen.
        if !mutant!("rest_looks_once") && self.has_forked() {
            self.unrest(member);
            return Rest::Look;
        }
        self.doze(member, me)
    }

    fn doze(&self, member: &Arc<Member>, me: &Arc<ThreadContext>) -> Rest {
        let deadline = Deadline::after(self.config.keep_alive);
        loop {
            let woken = me.park_uninterruptibly(deadline);
            let mut state = self.lock();
            let Some(at) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, member)) else {
                return Rest::Look;
            };
            if state.life > Life::Shutdown || woken == ParkResult::TimedOut {
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

    /// Takes work from outside; gives it back if the pool takes none.
    pub(super) fn submit(self: &Arc<Self>, work: Work) -> Result<Taken, Work> {
        let taken = self.submit_quietly(work)?;
        self.announce_work();
        Ok(taken)
    }

    /// The same, and wakes nobody.
    pub(super) fn submit_quietly(&self, work: Work) -> Result<Taken, Work> {
        let mut state = self.lock();
        if state.life != Life::Running {
            return Err(work);
        }
        state.submissions.push_back(work);
        self.submitted.fetch_add(1, Ordering::Relaxed);
        Ok(if state.parallelism == 0 {
            Taken::ForNobody
        } else {
            Taken::ForWorkers
        })
    }

    /// A worker is about to wait for something that only others can bring about: another takes its
    /// place as soon as there is work for it.
    pub(super) fn begin_block(self: &Arc<Self>) {
        let submitted = {
            let mut state = self.lock();
            state.blocked += 1;
            self.show_hunger(&state);
            !state.submissions.is_empty()
        };
        fence(Ordering::SeqCst);
        // Mutant: what is queued waits as long as the worker does.
        if !mutant!("block_feeds_nobody") && (submitted || self.has_forked()) {
            self.feed_one();
        }
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
        // Those that sleep look whether there are too many; those that are missing are started.
        self.feed_all();
        self.feed_queued();
        former
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

    /// Somebody's work, oldest first.
    pub(super) fn steal(&self) -> Option<Work> {
        steal_from(&self.members(), 0)
    }

    /// How often the list of workers was replaced; one that is taken after this is as new at least.
    #[inline]
    pub(super) fn editions(&self) -> usize {
        self.editions.load(Ordering::Acquire)
    }

    /// A part of what the worker with this number is at.
    pub(super) fn steal_part(&self, number: usize) -> Option<JobRef> {
        let members = self.members();
        let member = members.iter().find(|member| member.number == number)?;
        member.stealer.steal_part()?.into_job()
    }

    /// The number of the worker that runs this task, as far as it is known.
    pub(super) fn runner_of(&self, id: TaskId) -> Option<usize> {
        let members = self.members();
        let runner = members.iter().find(|member| member.runs(id.as_u64()));
        runner.map(|member| member.number)
    }

    /// Whether there is no worker; one that is being made counts.
    pub(super) fn has_no_workers(&self) -> bool {
        self.lock().live == 0
    }

    /// How much was ever submitted.
    pub(super) fn submitted(&self) -> usize {
        self.submitted.load(Ordering::Relaxed)
    }

    pub(super) fn take_submission(&self) -> Option<Work> {
        self.lock().submissions.pop_front()
    }

    /// Takes out the first submission of this kind.
    pub(super) fn take_submission_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let mut state = self.lock();
        let at = state.submissions.iter().position(wanted)?;
        state.submissions.remove(at)
    }

    /// A job that [`shutdown_now`](Self::shutdown_now) has moved from its deque to the submissions.
    pub(super) fn take_kept(&self, group: usize) -> Option<Work> {
        // Under the lock, so that who misses a job finds it: it is moved under the lock too.
        if self.lock().life > Life::Shutdown {
            return self.take_submission_if(|work| work.group() == Some(group));
        }
        None
    }

    pub(super) fn take_submitted_task(&self) -> Option<Task> {
        let taken = self.take_submission_if(|work| !work.is_job())?;
        self.settle(self.lock());
        taken.into_task()
    }

    pub(super) fn figures(&self) -> Figures {
        let state = self.lock();
        let members = self.members();
        let steals: u64 = members.iter().map(|member| member.steals()).sum();
        Figures {
            parallelism: state.parallelism,
            live: state.live,
            active: state.live - state.idle.len(),
            running: state.live.saturating_sub(state.idle.len() + state.blocked),
            steals: state.steals_by_gone + steals,
            queued_tasks: members.iter().map(|member| member.stealer.len()).sum(),
            queued_submissions: state.submissions.len(),
        }
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
pub(super) enum Taken {
    ForWorkers,
    /// There are to be no workers.
    ForNobody,
}

/// What a worker that found nothing does next.
pub(super) enum Rest {
    Submission(Work),
    Look,
    Leave,
}

impl State {
    /// Whether one more worker may be started.
    pub(super) fn may_grow(&self, spares: usize) -> bool {
        let is_open = match self.life {
            Life::Running | Life::Shutdown => true,
            // Somebody waits for what is still there.
            Life::Stop => !self.submissions.is_empty(),
            Life::Terminated => false,
        };
        is_open
            && self.live - self.blocked < self.parallelism
            && self.live < self.parallelism + spares
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.submissions.is_empty() && self.idle.len() == self.live && self.guests == 0
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}
