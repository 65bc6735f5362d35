//! A time at which something is told, whoever waits for it or does not.

use std::fmt;
use std::sync::Weak;
use std::time::Instant;

use super::id::TaskId;
use super::limit_timer::{TimeUp, Timeout, timers};
use crate::expiry::Key;
use crate::sync::clock::Clock;

/// An entry on the timer thread of a clock; removed when this is dropped.
#[must_use = "dropping it calls it off"]
pub(crate) struct Alarm {
    key: Key,
    clock: Clock,
}

impl Alarm {
    /// Tells the target at this time on the clock of the current thread.
    ///
    /// If the system has no thread for it, nobody is told.
    pub(crate) fn set(at: Instant, target: Weak<dyn TimeUp>) -> Self {
        let clock = Clock::current();
        let key = (at, TaskId::next().as_u64());
        let _ = timers(&clock).insert(key, Timeout::Alarm(target), &clock);
        Self { key, clock }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let entry = timers(&self.clock).remove(self.key, &self.clock);
        drop(entry);
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alarm").field(&self.key.0).finish()
    }
}
