//! Tasks that run later, and again and again.
//!
//! A [`ScheduledThreadPoolExecutor`] is a [`ThreadPoolExecutor`] whose queue gives tasks when they
//! are due. However many workers wait, one of them sleeps until the next task is due, and the others
//! until they are needed.

#[cfg(feature = "cron")]
mod cron;
mod executor;
mod handle;
mod heap;
#[cfg(test)]
mod models;
mod period;
mod scheduler;
mod service;
mod timers;
mod turn;

#[cfg(feature = "cron")]
pub use cron::{Cron, CronError};
pub use executor::{Builder, QueuedTask, ScheduledThreadPoolExecutor};
pub use handle::ScheduledHandle;
pub use period::{Calendar, MissedRuns, Period};
pub use scheduler::Scheduler;
pub use service::{Schedule, ScheduledExecutorService};

#[expect(unused_imports, reason = "named in the documentation of this module")]
use crate::pool::ThreadPoolExecutor;
