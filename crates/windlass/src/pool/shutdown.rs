//! Shutdown, orderly and immediate, and termination.

use std::panic::resume_unwind;

use super::ctl::RunState;
use super::shared::Shared;
use super::tally::Dropped;
use crate::task::{Cancellation, Task};
use crate::unwind::catch;

impl Shared {
    /// Stops accepting tasks; queued tasks still run.
    pub(crate) fn shutdown(&self) {
        self.shutdown_because(Cancellation::Shutdown);
    }

    /// Shuts down; `reason` is the reason of tasks that the shutdown cancels.
    pub(crate) fn shutdown_because(&self, reason: Cancellation) {
        self.ctl.advance_to(RunState::Shutdown);
        self.roster.nudge_all();
        self.nudge_blocked();
        if let Some(timers) = &self.options.timers {
            timers.pool_shut_down(reason);
        }
        self.options.cancels.shut_down(reason);
        self.try_terminate();
    }

    /// Accepts nothing new, interrupts all workers, and returns what is queued.
    pub(crate) fn shutdown_now(&self) -> Vec<Task> {
        self.ctl.advance_to(RunState::Stop);
        self.roster.interrupt_all();
        self.nudge_blocked();
        // A comparison of the user's that panics leaves the tasks in the queue. The pool ends.
        let drained = catch(|| self.queue.drain_left());
        self.task_count.invalidate();
        let count = drained.iter().flatten().count();
        self.tally.count_dropped(Dropped::ShutdownNow, count);
        for task in drained.iter().flatten() {
            task.set_drop_reason(Cancellation::Drained);
        }
        self.options.cancels.shut_down(Cancellation::Shutdown);
        // Whoever calls this gets the tasks, whatever the hook does.
        self.report_panic(catch(|| self.try_terminate()));
        drained.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Terminates the pool if it is shut down and neither tasks nor workers are left. Called after
    /// every operation that may have removed the last of them.
    ///
    /// While workers are left, one of them is nudged, since all of them may wait for a task. It
    /// retires, and calls this again. While a failure is being reported, the thread that does so calls
    /// this again afterwards.
    ///
    /// # Panics
    ///
    /// If the `terminated` hook panics; the pool is terminated nevertheless.
    pub(crate) fn try_terminate(&self) {
        loop {
            let seen = self.ctl.load();
            match seen.state() {
                RunState::Running | RunState::Tidying | RunState::Terminated => return,
                RunState::Shutdown if !self.queue.is_drained() => return,
                RunState::Shutdown | RunState::Stop => {}
            }
            if seen.workers() != 0 {
                return self.roster.nudge_one();
            }
            if self.has_unreported() {
                return;
            }
            if self.ctl.try_tidy(seen) {
                return self.terminate();
            }
        }
    }

    /// Runs the hook while the state is still `Tidying`, and wakes all threads that wait for
    /// termination.
    fn terminate(&self) {
        let ended = catch(|| {
            if let Some(hooks) = &self.options.hooks {
                hooks.terminated();
            }
        });
        self.ctl.advance_to(RunState::Terminated);
        self.termination.signal();
        if let Err(payload) = ended {
            resume_unwind(payload);
        }
    }
}
