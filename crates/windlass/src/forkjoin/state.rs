//! The part of a pool that is under one lock: its run state, the injector, the workers by what they do.
//!
//! None of this is on a hot path. The methods only answer questions about the state; their callers wake
//! and start threads.

use std::sync::Arc;

use super::injector::Injector;
use super::job::Work;
use super::roster::WorkerInfo;
use crate::interrupt::ThreadContext;
use crate::sync::{Backoff, Mutex, MutexGuard, lock_with_backoff};
use crate::waiting::WaitQueue;

/// The run state of a pool; it only advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunState {
    /// Accepts and runs work.
    Running,
    /// Accepts nothing; terminates once it is quiescent.
    Shutdown,
    /// Accepts nothing and runs no further tasks.
    Stop,
    /// Has no workers and never will.
    Terminated,
}

impl RunState {
    /// Converts back from `as u8`.
    #[inline]
    pub(super) const fn from_u8(number: u8) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Shutdown,
            2 => Self::Stop,
            _ => Self::Terminated,
        }
    }
}

/// The state under the pool's lock.
pub(super) struct State {
    pub(super) run_state: RunState,
    /// Work from outside the pool, oldest first.
    pub(super) injector: Injector,
    pub(super) census: Census,
    /// Threads from outside that currently run work of the pool.
    pub(super) helpers: usize,
    next_index: usize,
    /// Threads that wait, inside a task, for all other work to be done. Workers among them are listed as
    /// sleeping too.
    pub(super) quiescers: Vec<Arc<ThreadContext>>,
    /// Those of them that are helpers.
    quiescing_helpers: usize,
    /// Submitted tasks that were cancelled because there was no thread for them.
    pub(super) abandoned: u64,
    /// Closures that ran on the thread that called for a worker.
    pub(super) caller_runs: u64,
    /// Threads that wait for quiescence.
    quiescence_waiters: WaitQueue,
    /// Threads that wait for work of the pool, and run it themselves when the pool is
    /// [stalled](Census::is_stalled).
    pub(super) waiters: Vec<Arc<ThreadContext>>,
    /// Whether the pool has timers that may submit further tasks.
    pub(super) awaits_timers: bool,
}

impl State {
    pub(super) fn new(census: Census) -> Self {
        Self {
            run_state: RunState::Running,
            injector: Injector::default(),
            census,
            helpers: 0,
            next_index: 0,
            quiescers: Vec::new(),
            quiescing_helpers: 0,
            abandoned: 0,
            caller_runs: 0,
            quiescence_waiters: WaitQueue::default(),
            waiters: Vec::new(),
            awaits_timers: false,
        }
    }

    /// Returns whether one more worker may be started.
    pub(super) fn may_start_worker(&self) -> bool {
        let may_run = match self.run_state {
            RunState::Running | RunState::Shutdown => true,
            // Only jobs are left, and a thread waits for each.
            RunState::Stop => !self.injector.is_empty(),
            RunState::Terminated => false,
        };
        may_run && self.census.has_room()
    }

    /// Returns whether a worker that has found no work is to retire rather than to sleep.
    pub(super) fn must_retire_idle(&self) -> bool {
        self.census.has_surplus() || self.run_state > RunState::Shutdown
    }

    /// Returns whether the injector is empty and no thread runs work. The deques are not considered.
    pub(super) fn is_idle(&self) -> bool {
        self.injector.is_empty()
            && self.census.all_asleep()
            && self.helpers == 0
            && self.quiescers.is_empty()
    }

    /// Returns whether the injector is empty, and all threads in the pool wait: idle, inside a task for
    /// others, or for this. The deques are not considered.
    pub(super) fn is_quiet(&self) -> bool {
        self.injector.is_empty()
            && self.census.none_runs()
            && self.helpers == self.quiescing_helpers
    }

    /// Adds a thread that waits, inside a task, for all other work to be done.
    pub(super) fn add_quiescer(&mut self, thread: &Arc<ThreadContext>, is_worker: bool) {
        self.quiescers.push(Arc::clone(thread));
        self.quiescing_helpers += usize::from(!is_worker);
    }

    pub(super) fn remove_quiescer(&mut self, thread: &Arc<ThreadContext>, is_worker: bool) {
        let mut quiescers = self.quiescers.iter();
        if let Some(at) = quiescers.position(|other| Arc::ptr_eq(other, thread)) {
            self.quiescers.swap_remove(at);
            self.quiescing_helpers -= usize::from(!is_worker);
        }
    }

    /// Returns whether tasks were submitted that no worker will take, though the pool still runs tasks.
    pub(super) fn has_stranded_tasks(&self) -> bool {
        let is_running = self.run_state <= RunState::Shutdown;
        is_running && self.census.live == 0 && self.injector.has_tasks()
    }

    /// Takes the submitted tasks; the jobs stay.
    pub(super) fn take_submitted_tasks(&mut self) -> Vec<Work> {
        self.injector.take_tasks()
    }

    /// Returns the queue of threads that wait for quiescence.
    pub(super) fn quiescence_waiters(&mut self) -> &mut WaitQueue {
        &mut self.quiescence_waiters
    }

    /// Returns an index that no worker of the pool has had.
    pub(super) fn next_worker_index(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }
}

/// How many workers there are, and what they do.
///
/// Every change goes through [`Sleep::update`](super::sleep::Sleep::update), which publishes how many
/// workers can be woken.
#[derive(Debug)]
pub(super) struct Census {
    /// Workers that sleep because they found no work, in the order in which they fell asleep.
    pub(super) sleeping: Vec<Arc<WorkerInfo>>,
    /// Workers that exist or are being started.
    pub(super) live: usize,
    /// The live workers that search: woken, started or spinning ones that have not yet found work. While
    /// there is one, none is woken.
    pub(super) searching: usize,
    /// The live workers that wait inside a task for other threads.
    pub(super) blocked: usize,
    /// Those of them that wait for a join job, each with the index of the worker that runs it. They can
    /// run jobs of joins that this worker has entered since.
    pub(super) joiners: Vec<(usize, Arc<WorkerInfo>)>,
    /// Workers that were removed from `joiners` to run such a job, and still count as blocked.
    pub(super) recalled: usize,
    pub(super) parallelism: usize,
    /// How many workers beyond the parallelism may replace blocked ones.
    max_spares: usize,
    /// The highest value of `live` so far.
    pub(super) most_live: usize,
}

impl Census {
    pub(super) const fn new(parallelism: usize, max_spares: usize) -> Self {
        Self {
            sleeping: Vec::new(),
            live: 0,
            searching: 0,
            blocked: 0,
            joiners: Vec::new(),
            recalled: 0,
            parallelism,
            max_spares,
            most_live: 0,
        }
    }

    /// Returns how many workers may be woken for work that is queued now: those that sleep, and those that
    /// are missing; none while another searches.
    pub(super) fn wakeable(&self) -> usize {
        if self.searching > 0 {
            return 0;
        }
        self.sleeping.len() + self.missing()
    }

    /// Returns how many workers fewer than the parallelism are not blocked.
    pub(super) fn missing(&self) -> usize {
        (self.parallelism + self.blocked).saturating_sub(self.live + self.recalled)
    }

    fn has_room(&self) -> bool {
        self.missing() > 0 && self.live < self.parallelism + self.max_spares
    }

    fn has_surplus(&self) -> bool {
        self.live - self.blocked > self.parallelism
    }

    /// Returns whether no worker runs or searches work: all that there are wait inside a task.
    ///
    /// If work is queued, it stays so until one of them returns, for one could not be started: whoever
    /// queues work, blocks or retires starts one if it can.
    pub(super) fn is_stalled(&self) -> bool {
        self.live + self.recalled == self.blocked
    }

    /// Returns whether each worker sleeps or is blocked.
    fn none_runs(&self) -> bool {
        self.sleeping.len() + self.blocked >= self.live + self.recalled
    }

    fn all_asleep(&self) -> bool {
        self.sleeping.len() == self.live
    }
}

/// Locks the state, backing off while others hold it.
pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    match state.try_lock() {
        Some(state) => state,
        None => lock_with_backoff(state, Backoff::Exponential),
    }
}

/// Locks the state for a worker that takes one submission after the other.
pub(super) fn lock_to_take(state: &Mutex<State>) -> MutexGuard<'_, State> {
    match state.try_lock() {
        Some(state) => state,
        None => lock_with_backoff(state, Backoff::Long),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Census, RunState, State};
    use crate::forkjoin::job::Work;
    use crate::task::Task;

    fn state(parallelism: usize, spares: usize, live: usize, blocked: usize) -> State {
        let mut state = State::new(Census::new(parallelism, spares));
        (state.census.live, state.census.blocked) = (live, blocked);
        state
    }

    #[test]
    fn workers_are_started_up_to_the_parallelism() {
        assert!(state(2, 0, 1, 0).may_start_worker());
        assert!(!state(2, 0, 2, 0).may_start_worker());
    }

    #[test]
    fn a_blocked_worker_is_replaced_while_there_are_spares() {
        assert!(state(2, 1, 2, 1).may_start_worker());
        assert!(!state(2, 0, 2, 1).may_start_worker());
        assert_eq!(state(2, 1, 2, 1).census.wakeable(), 1);
    }

    #[test]
    fn a_surplus_worker_retires_when_it_is_idle() {
        assert!(state(1, 1, 2, 0).must_retire_idle());
        assert!(!state(1, 1, 2, 1).must_retire_idle());
    }

    #[test]
    fn a_stopped_pool_starts_workers_only_for_what_is_left() {
        let mut state = state(1, 0, 0, 0);
        state.run_state = RunState::Stop;
        assert!(!state.may_start_worker());
        state.injector.push(Work::task(Task::new(|| ())));
        assert!(state.may_start_worker());
        state.run_state = RunState::Terminated;
        assert!(!state.may_start_worker());
    }
}
