//! Tasks that run later, once or repeatedly.
//!
//! A [`ScheduledThreadPoolExecutor`] is a [`ThreadPoolExecutor`](crate::pool::ThreadPoolExecutor)
//! whose queue releases tasks when they are due. Of the waiting workers, one sleeps until the first
//! task is due, one until the second is due, and the others until they are woken.
//!
//! On Linux the threads of such a pool set a timer slack of one nanosecond
//! (`/proc/TID/timerslack_ns`, as `prctl(PR_SET_TIMERSLACK)`), so that tasks start tens of
//! microseconds earlier after they are due. The slack also applies to sleeps of tasks, and to threads
//! that tasks spawn. Where setting it is not permitted, tasks start that much later.
//!
//! | file | role |
//! |---|---|
//! | `schedule` | scheduling of closures, [`Schedule`] |
//! | `submission` | the same, with options for the task: [`Submission`](crate::Submission) |
//! | `service` | [`ScheduledExecutorService`], sealed |
//! | `tasks` | builds tasks with timers, and submits them |
//! | `builder` | the configuration of a pool |
//! | `executor` | the public type, [`ScheduledThreadPoolExecutor`] |
//! | `periodic` | a task that repeats: each run queues the next |
//! | `admission` | submits a task through the admission of the thread pool |
//! | `shutdown` | tasks that will not run: cancelled, or not eligible after a shutdown |
//! | `stats` | a snapshot of the queue |
//! | `shared` | the state that submitters and workers share; owns the parts below |
//! | `timers` | the queue with its clock and policies; timers own it |
//! | `settings` | the policies that can change while the pool runs |
//! | `timer_queue` | the order of the queue: tasks by due time |
//! | `timer_set`, `near_heap`, `far_ranges`, `far_list`, `entry` | timers in order, with removal from the middle |
//! | `period`, `cron` | when a periodic task is due next |
//! | `retry`, `backoff` | whether and when a failed attempt is followed by another |
//! | `observed` | what a monitor reads |
//! | `handle` | the handle of a scheduled task |
//! | `fork_join` | the same methods on [`ForkJoinPool`](crate::forkjoin::ForkJoinPool) |
//! | `forwarding` | a queue whose due tasks are forwarded to another pool |
//!
//! The thread pool and the tasks refer to a scheduled pool only through the traits `TimerOwner` and
//! `TimerService`, which are declared in `task`.

mod admission;
mod backoff;
mod builder;
#[cfg(feature = "cron")]
mod cron;
mod entry;
mod executor;
mod far_list;
mod far_ranges;
mod fork_join;
mod forwarding;
mod handle;
#[cfg(test)]
mod models;
mod near_heap;
mod observed;
mod period;
mod periodic;
mod retry;
mod schedule;
mod service;
mod settings;
mod shared;
mod shutdown;
mod stats;
mod submission;
mod tasks;
mod timer_queue;
mod timer_set;
mod timers;

pub use backoff::Jitter;
pub use builder::Builder;
#[cfg(feature = "cron")]
pub use cron::{Cron, CronError, ScheduleCronError};
pub use executor::ScheduledThreadPoolExecutor;
pub use handle::ScheduledHandle;
pub use period::{Calendar, MissedRuns, Period};
pub use retry::Retry;
pub use schedule::Schedule;
pub use service::ScheduledExecutorService;
pub use stats::QueuedTask;

pub(crate) use observed::WeakTimers;
pub(crate) use service::ScheduledPool;
