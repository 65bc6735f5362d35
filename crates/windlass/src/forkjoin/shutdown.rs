//! How a pool is ended from outside.

use std::sync::Arc;

use super::shared::Shared;
use super::state::RunState;
use crate::task::Cancellation;
use crate::unwind::ignore_panic;

impl Shared {
    /// Accepts nothing more; what is queued is run.
    pub(super) fn shutdown(self: &Arc<Self>) {
        let mut state = self.lock();
        let run_state = state.run_state.max(RunState::Shutdown);
        self.set_run_state(&mut state, run_state);
        self.try_terminate(state);
        // Workers that could not be started earlier get another chance.
        self.wake_for_queued();
    }

    /// Stops: tasks that have not started are cancelled, those that run are interrupted.
    pub(super) fn shutdown_now(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.run_state == RunState::Terminated {
            return;
        }
        self.set_run_state(&mut state, RunState::Stop);
        let tasks = self.take_tasks(&mut state);
        let waiters = state.external_waiters.clone();
        drop(state);
        for task in tasks {
            ignore_panic(|| task.abandon(Cancellation::Drained));
        }
        for worker in self.roster.snapshot().iter() {
            worker.interrupt();
        }
        self.wake_all();
        self.wake_for_queued();
        waiters.iter().for_each(|waiter| waiter.unpark());
        self.try_terminate(self.lock());
    }
}
