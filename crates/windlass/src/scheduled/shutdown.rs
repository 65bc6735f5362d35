//! Tasks that will not run: cancelled, or not eligible after a shutdown.

use super::shared::{Shared, TimerKind};
use crate::pool::{self, RunState};
use crate::queue::BlockingQueue;
use crate::task::{Cancellation, TimerOwner};
use crate::unwind::{catch, discard_payload};

impl Shared {
    /// Sets whether periodic tasks continue after a shutdown; `false` takes effect at once.
    pub(super) fn set_continue_periodic(&self, pool: &pool::Shared, yes: bool) {
        self.timers.settings.set_continue_periodic(yes);
        if !yes {
            self.apply_settings(pool);
        }
    }

    /// Sets whether delayed tasks still run after a shutdown; `false` takes effect at once.
    pub(super) fn set_run_delayed(&self, pool: &pool::Shared, yes: bool) {
        self.timers.settings.set_run_delayed(yes);
        if !yes {
            self.apply_settings(pool);
        }
    }

    fn apply_settings(&self, pool: &pool::Shared) {
        if pool.is_shutdown() {
            self.cancel_ineligible(pool);
        }
    }

    /// Removes and cancels the tasks that do not run after a shutdown.
    ///
    /// # Panics
    ///
    /// If a done-callback panics: with the first of them, after all tasks are cancelled and the
    /// workers are nudged. Workers that are not would sleep until a task is due that is gone.
    fn cancel_ineligible(&self, pool: &pool::Shared) {
        let ineligible = self.timers.retain(&mut |task| {
            !task.is_cancelled() && self.may_run(RunState::Shutdown, TimerKind::of(task))
        });
        pool.task_count.invalidate();
        let mut panicked = None;
        for task in ineligible {
            if let Err(payload) = catch(|| self.cancel_for_shutdown(pool, &task)) {
                match &panicked {
                    None => panicked = Some(payload),
                    Some(_) => discard_payload(payload),
                }
            }
        }
        pool.try_terminate();
        if let Some(payload) = panicked {
            std::panic::resume_unwind(payload);
        }
    }
}

impl TimerOwner for Shared {
    fn pool_shut_down(&self, reason: Cancellation) {
        self.set_shutdown_reason(reason);
        self.timers.set_shut_down();
        if let Some(pool) = self.pool() {
            self.cancel_ineligible(&pool);
        }
    }
}
