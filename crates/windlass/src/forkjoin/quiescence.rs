//! Quiescence: nothing is queued and no thread runs work. After a shutdown it leads to termination.

use super::shared::Shared;
use super::state::{RunState, State};
use crate::interrupt::ThreadContext;
use crate::sync::{Deadline, MutexGuard};
use crate::task::{Cancellation, Failure};
use crate::unwind::catch;
use crate::waiting::{WaitOutcome, Wakeup, wait};

impl Shared {
    fn is_quiescent_now(&self, state: &State) -> bool {
        state.is_idle() && !self.roster.has_queued()
    }

    pub(super) fn is_quiescent(&self) -> bool {
        self.is_quiescent_now(&self.lock())
    }

    /// Checks whether the pool has become quiescent, signals those that wait for it, and advances a
    /// pool that was shut down.
    ///
    /// Called after every change that can make the pool quiescent: a worker falls asleep or retires, a
    /// helper ends, a queued task is removed. A worker that blocks calls only `signal_quiescers`.
    pub(super) fn try_terminate(&self, mut state: MutexGuard<'_, State>) {
        self.signal_quiescers(&state);
        let mut wakeups: Vec<Wakeup> = Vec::new();
        let mut sleepers = Vec::new();
        let was_terminated = state.run_state == RunState::Terminated;
        if self.is_quiescent_now(&state) {
            let may_end = !state.awaits_timers;
            wakeups = state.quiescence_waiters().signal(usize::MAX);
            if state.run_state == RunState::Shutdown && may_end {
                // Nothing can be submitted any more: sleeping workers have nothing to wait for.
                self.set_run_state(&mut state, RunState::Stop);
                sleepers = self.sleep.take_sleepers(&mut state.census);
            }
            if state.run_state == RunState::Stop && state.census.live == 0 && may_end {
                self.set_run_state(&mut state, RunState::Terminated);
            }
        }
        let is_terminated = state.run_state == RunState::Terminated && !was_terminated;
        drop(state);
        drop(wakeups);
        for sleeper in sleepers {
            sleeper.unpark();
        }
        if is_terminated {
            // Not at the shutdown: until now its own tasks could wake them.
            self.cancels.shut_down(Cancellation::Shutdown);
            if let Some(hooks) = &self.config.hooks {
                if let Err(payload) = catch(|| hooks.hooks.terminated()) {
                    self.report(Failure::from_panic(payload));
                }
            }
            self.termination.signal();
        }
    }

    /// Runs `f`, which may take work out of the pool and end it; the pool does not terminate in between.
    pub(super) fn while_open<R>(&self, f: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Shared);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.helpers -= 1;
                self.0.try_terminate(state);
            }
        }
        self.lock().helpers += 1;
        let _end = End(self);
        f()
    }

    /// Unparks the threads that wait inside a task until all other work is done, if it is.
    pub(super) fn signal_quiescers(&self, state: &State) {
        if !state.quiescers.is_empty() && state.is_quiet() && !self.roster.has_queued() {
            state.quiescers.iter().for_each(|thread| thread.unpark());
        }
    }

    /// Waits until the pool is quiescent, but not beyond the deadline; interrupts stay pending.
    ///
    /// Returns whether it is.
    pub(super) fn await_quiescence(&self, deadline: Deadline) -> bool {
        let mut interrupted = false;
        let mut state = self.lock();
        let is_quiescent = loop {
            if self.is_quiescent_now(&state) {
                break true;
            }
            if deadline.has_passed() {
                break false;
            }
            let queue = State::quiescence_waiters;
            let waited = wait(&self.state, state, queue, (), deadline);
            state = waited.guard;
            interrupted |= waited.outcome == WaitOutcome::Interrupted;
        };
        drop(state);
        if interrupted {
            ThreadContext::current().set_interrupted();
        }
        is_quiescent
    }
}
