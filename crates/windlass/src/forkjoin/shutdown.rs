//! How a fork-join pool comes to rest, and how it ends.

use std::collections::VecDeque;
use std::sync::Arc;

use super::job::Work;
use super::shared::{RunState, Shared, State};
use crate::interrupt::ThreadContext;
use crate::sync::{Deadline, MutexGuard, mutant};
use crate::task::{Cancellation, Task};
use crate::unwind::ignore_panic;
use crate::waiting::{Wait, Wakeup, wait};

impl Shared {
    /// Looks whether everything has come to rest, and whether that is the end.
    pub(super) fn try_terminate(&self, mut state: MutexGuard<'_, State>) {
        let mut wakeups: Vec<Wakeup> = Vec::new();
        let mut sleepers = Vec::new();
        if state.is_quiescent() && !self.has_forks() {
            wakeups = state.quiescence_waiters.signal(usize::MAX);
            if state.run_state == RunState::Shutdown {
                // Nobody can submit any more: those that sleep have nothing to wait for.
                self.set_run_state(&mut state, RunState::Stop);
                // Mutant: those that sleep are not told.
                if !mutant!("settle_wakes_nobody") {
                    sleepers = std::mem::take(&mut state.sleeping);
                }
            }
            if state.run_state == RunState::Stop && state.live == 0 {
                self.set_run_state(&mut state, RunState::Terminated);
            }
        }
        let is_over = state.run_state == RunState::Terminated;
        drop(state);
        drop(wakeups);
        for sleeper in sleepers {
            sleeper.wake();
        }
        if is_over {
            self.termination.signal();
        }
    }

    pub(super) fn shutdown(self: &Arc<Self>) {
        let mut state = self.lock();
        let run_state = state.run_state.max(RunState::Shutdown);
        self.set_run_state(&mut state, run_state);
        self.try_terminate(state);
        // What nobody could be found for so far gets another chance.
        self.wake_for_queued();
    }

    /// Stops: what has not started is dropped, what runs is interrupted.
    pub(super) fn shutdown_now(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.run_state == RunState::Terminated {
            return;
        }
        self.set_run_state(&mut state, RunState::Stop);
        let dropped = self.take_tasks(&mut state);
        let callers = state.callers.clone();
        drop(state);
        for task in dropped {
            ignore_panic(|| task.abandon(Cancellation::Drained));
        }
        for info in self.workers().iter() {
            info.interrupt();
        }
        self.wake_all();
        self.wake_for_queued();
        callers.iter().for_each(|caller| caller.unpark());
        self.try_terminate(self.lock());
    }

    /// Takes out all tasks that nobody has started. Jobs stay, as submissions: somebody waits for
    /// them, with them on his stack.
    fn take_tasks(&self, state: &mut State) -> Vec<Task> {
        let workers = self.workers();
        let deques = workers.iter().map(|info| &info.stealer);
        let forked = deques.flat_map(|stealer| std::iter::from_fn(|| stealer.steal()));
        let submitted = std::mem::take(&mut state.injector);
        let mut tasks = Vec::new();
        let mut jobs = VecDeque::new();
        for work in submitted.into_iter().chain(forked) {
            match work {
                Work::Job(_) => jobs.push_back(work),
                Work::Task(task, _) => tasks.push(task),
            }
        }
        state.injector = jobs;
        tasks
    }

    /// Hands over all tasks that nobody has started.
    pub(super) fn drain(self: &Arc<Self>) -> Vec<Task> {
        let mut state = self.lock();
        let tasks = self.take_tasks(&mut state);
        self.try_terminate(state);
        // Jobs that were in a deque are submissions now.
        self.wake_for_queued();
        tasks
    }

    /// Whether nothing is queued and nobody works.
    pub(super) fn is_quiescent(&self) -> bool {
        let state = self.lock();
        state.is_quiescent() && !self.has_forks()
    }

    /// Waits until nothing is queued and nobody works, whatever interrupts come.
    pub(super) fn await_quiescence(&self, deadline: Deadline) -> bool {
        let mut interrupted = false;
        let mut state = self.lock();
        let is_quiescent = loop {
            if state.is_quiescent() && !self.has_forks() {
                break true;
            }
            if deadline.has_passed() {
                break false;
            }
            let waited = wait(
                &self.state,
                state,
                |state| &mut state.quiescence_waiters,
                (),
                deadline,
            );
            state = waited.guard;
            interrupted |= waited.how == Wait::Interrupted;
        };
        drop(state);
        if interrupted {
            ThreadContext::current().set_interrupted();
        }
        is_quiescent
    }
}
