//! Shutdown, in order and at once, and the duties of the last to leave.

use super::ctl::RunState;
use super::shared::Shared;
use crate::sync::mutant;
use crate::task::{Cancellation, Task};
use crate::unwind::catch;

impl Shared {
    /// Takes nothing new; what is queued is still run.
    pub(crate) fn shutdown(&self) {
        self.shutdown_because(Cancellation::Shutdown);
    }

    /// Shuts down; tasks that are cancelled by it get this reason.
    pub(crate) fn shutdown_because(&self, reason: Cancellation) {
        self.ctl.advance_to(RunState::Shutdown);
        self.roster.nudge_all();
        self.nudge_blocked();
        if let Some(timers) = &self.options.timers {
            timers.pool_shut_down(reason);
        }
        self.try_terminate();
    }

    /// Takes nothing new, interrupts all workers, and gives back what is queued.
    pub(crate) fn shutdown_now(&self) -> Vec<Task> {
        // Mutant: what is queued after the drain stays in the queue.
        let early = mutant!(
            "pool_drains_before_it_stops",
            self.queue.drain_all(),
            vec![]
        );
        self.ctl.advance_to(RunState::Stop);
        self.roster.interrupt_all();
        self.nudge_blocked();
        let tasks = mutant!("pool_drains_before_it_stops", early, self.queue.drain_all());
        self.task_count.invalidate();
        for task in &tasks {
            task.set_drop_reason(Cancellation::Drained);
        }
        self.try_terminate();
        tasks
    }

    /// Ends the pool if it is shut down and nothing is left: called after everything that may have
    /// removed the last reason to go on.
    ///
    /// Where workers are left that may be waiting for tasks which will not come, one of them is
    /// nudged; it leaves, and does the same.
    ///
    /// # Panics
    ///
    /// If the `terminated` hook does; the pool is terminated all the same.
    pub(crate) fn try_terminate(&self) {
        loop {
            let seen = self.ctl.load();
            match seen.state() {
                RunState::Running | RunState::Tidying | RunState::Terminated => return,
                RunState::Shutdown if !self.queue.is_empty() => return,
                RunState::Shutdown | RunState::Stop => {}
            }
            if seen.workers() != 0 {
                // Mutant: nobody is told of the end.
                return mutant!("pool_ends_in_silence", (), self.roster.nudge_one());
            }
            if self.ctl.try_tidy(seen) {
                return self.terminate();
            }
        }
    }

    /// Runs the hook, in the state that it may ask for, and lets everybody go who waits.
    fn terminate(&self) {
        let ended = catch(|| {
            if let Some(hooks) = &self.options.hooks {
                hooks.terminated();
            }
        });
        self.ctl.advance_to(RunState::Terminated);
        self.termination.signal();
        if let Err(payload) = ended {
            std::panic::resume_unwind(payload);
        }
    }
}
