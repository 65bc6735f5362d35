//! A pause: workers take no tasks from the queue for some time.
//!
//! A worker compares the number of workers with the maximum before it takes a task. While the pool is
//! paused it compares with zero instead, so a pause costs a pool that is not paused nothing. A worker that
//! may not take a task, and one that was started for a task, sleeps until the pause ends by itself, or until
//! it is nudged: by a resumption, a change of settings or a shutdown.
//!
//! A worker that was about to take a task when the pause began runs it. So does a thread that waits for a
//! queued task inside a task: a task that runs is not affected by a pause, whatever it waits for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::interrupt::{ThreadContext, sleep};
use crate::sync::clock::MAX_TIMEOUT;
use crate::task::{instant, nanos};

impl Shared {
    /// Lets workers take no tasks from the queue for this long, unless the pool is shut down. Replaces a
    /// pause that has not ended.
    pub(crate) fn pause(&self, time: Duration) {
        let until = self.clock().now() + time.min(MAX_TIMEOUT);
        self.settings.pause(nanos(until));
        // Those that wait on the queue would take the next task.
        self.roster.nudge_all();
    }

    /// Ends a pause.
    pub(crate) fn resume(&self) {
        self.settings.resume(None);
        self.roster.nudge_all();
    }

    /// Returns when the pause ends; `None` if the pool is not paused. A pause ends with a shutdown.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        let until = self.settings.paused_until()?;
        let has_ended = !self.ctl.load().is_running() || nanos(self.clock().now()) >= until;
        if has_ended {
            // Not another pause, which may have begun since.
            self.settings.resume(Some(until));
            return None;
        }
        Some(instant(until))
    }

    /// Sleeps while the pool is paused, or until something has changed; returns whether it slept.
    #[cold]
    pub(super) fn sleep_while_paused(&self, me: &Arc<ThreadContext>) -> bool {
        let Some(until) = self.paused_until() else {
            return false;
        };
        let left = until.saturating_duration_since(self.clock().now());
        // Whatever ends it, the state is read again. A nudge has to be taken, or it would end every later
        // sleep at once.
        me.accept_nudges(|| {
            if sleep(left).is_err() {
                me.take_wait_interrupt();
            }
        });
        true
    }
}
