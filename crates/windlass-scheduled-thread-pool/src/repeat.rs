//! A job that repeats: each run schedules the next.

use std::time::{Duration, Instant};

use windlass::clock;
use windlass::task::CancelToken;

use crate::pool::Timers;

/// From when the time to the next run counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// From when this run was due.
    Rate,
    /// From the end of this run.
    Delay,
}

/// A job that returns after each run how long it is to the next, or that there is none.
pub(crate) struct Repeating {
    pub(crate) body: Box<dyn FnMut() -> Option<Duration> + Send>,
    pub(crate) pace: Pace,
    pub(crate) due: Instant,
    pub(crate) token: CancelToken,
    pub(crate) timers: Timers,
}

impl Repeating {
    /// Schedules the next run.
    ///
    /// A pool that was dropped takes none: then, and after a panic of the body, the job is dropped.
    pub(crate) fn schedule(self) {
        let delay = self.due.saturating_duration_since(clock::now());
        let (timers, token) = (self.timers.clone(), self.token.clone());
        timers.run_after(delay, &token, move || self.run());
    }

    fn run(mut self) {
        let Some(wait) = (self.body)() else { return };
        if self.token.is_cancelled() || self.timers.is_closed() {
            return;
        }
        let from = match self.pace {
            Pace::Rate => self.due,
            Pace::Delay => clock::now(),
        };
        // A time that the clock cannot count is never reached.
        let Some(due) = from.checked_add(wait) else {
            return;
        };
        self.due = due;
        self.schedule();
    }
}
