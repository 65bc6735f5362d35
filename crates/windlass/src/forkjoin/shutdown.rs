//! Shutdown, orderly and immediate.

use std::sync::Arc;

use super::shared::Shared;
use super::state::RunState;
use crate::task::{Cancellation, Task};

impl Shared {
    /// Stops accepting work; queued work still runs.
    pub(super) fn shutdown(self: &Arc<Self>) {
        let mut state = self.lock();
        let run_state = state.run_state.max(RunState::Shutdown);
        self.set_run_state(&mut state, run_state);
        self.try_terminate(state);
        // Tries again to start workers that could not be started earlier.
        self.wake_for_queued();
        if let Some(timers) = self.timers.get() {
            timers.pool_shut_down();
        }
    }

    /// Stops: returns the tasks that have not started, and interrupts those that run.
    ///
    /// A worker that has already taken a task runs it. Jobs stay: a thread waits for each.
    pub(super) fn shutdown_now(self: &Arc<Self>) -> Vec<Task> {
        let mut state = self.lock();
        if state.run_state == RunState::Terminated {
            return Vec::new();
        }
        // In this order: from `Shutdown` on nothing new is accepted; from `Stop` on workers cancel the
        // tasks that they find, which are then only those that were forked since.
        let run_state = state.run_state.max(RunState::Shutdown);
        self.set_run_state(&mut state, run_state);
        let tasks = self.take_tasks(&mut state);
        self.set_run_state(&mut state, RunState::Stop);
        let waiters = state.waiters.clone();
        drop(state);
        for task in &tasks {
            task.set_drop_reason(Cancellation::Drained);
        }
        for worker in self.roster.snapshot().iter() {
            worker.interrupt();
        }
        self.wake_all();
        self.wake_for_queued();
        waiters.iter().for_each(|waiter| waiter.unpark());
        if let Some(timers) = self.timers.get() {
            timers.pool_stopped();
        }
        self.cancels.shut_down(Cancellation::Shutdown);
        self.try_terminate(self.lock());
        tasks
    }
}
