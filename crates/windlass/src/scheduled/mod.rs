//! Tasks that run later, and again and again.
//!
//! A [`ScheduledThreadPoolExecutor`] is a [`ThreadPoolExecutor`] whose queue gives tasks when they
//! are due. However many workers wait, one of them sleeps until the next task is due, one until the
//! task after it is, and the others until they are needed.
//!
//! On Linux the threads of such a pool ask for a timer slack of one nanosecond (`/proc/TID/timerslack_ns`,
//! as `prctl(PR_SET_TIMERSLACK)`), so that tasks start tens of microseconds earlier after they are
//! due; what a task sleeps or spawns has that too. Where this is not allowed, tasks are that much later.

#[cfg(feature = "cron")]
mod cron;
mod executor;
mod handle;
mod heap;
#[cfg(test)]
mod models;
mod period;
mod periodic;
mod scheduler;
mod service;
mod timers;

#[cfg(feature = "cron")]
pub use cron::{Cron, CronError};
pub use executor::{Builder, QueuedTask, ScheduledThreadPoolExecutor};
pub use handle::ScheduledHandle;
pub use period::{Calendar, MissedRuns, Period};
pub use scheduler::Scheduler;
pub use service::{Schedule, ScheduledExecutorService};

#[expect(unused_imports, reason = "named in the documentation of this module")]
use crate::pool::ThreadPoolExecutor;
