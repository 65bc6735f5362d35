//! Closures for every scheduled executor: after a delay, at a time, repeatedly.

use std::error::Error;
use std::time::{Duration, SystemTime};

use super::handle::ScheduledHandle;
use super::period::Period;
use super::service::ScheduledExecutorService;
use crate::executor::RejectedExecution;
#[expect(unused_imports, reason = "named in the documentation")]
use crate::executor::RejectionReason;
use crate::task::{Failure, TaskBuilder};

/// What every scheduled executor can do with closures.
///
/// ```
/// use std::time::Duration;
/// use windlass::ExecutorService;
/// use windlass::scheduled::{Schedule, ScheduledThreadPoolExecutor};
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let mut once = pool.schedule(Duration::from_millis(1), || 42).unwrap();
/// assert_eq!(once.get().unwrap(), 42);
///
/// let mut left = 3;
/// let mut ticks = pool
///     .schedule_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), move || {
///         left -= 1;
///         assert!(left > 0, "a failure ends the repetition, and is not silent");
///     })
///     .unwrap();
/// assert!(ticks.get().unwrap_err().is_failed());
/// assert_eq!(ticks.runs(), 3);
/// pool.close();
/// ```
pub trait Schedule: ScheduledExecutorService {
    /// RunCount the closure once, after `delay`.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    fn schedule<T: Send + 'static>(
        &self,
        delay: Duration,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution> {
        self.scheduled_pool()
            .submit_one_shot(self.prepare(TaskBuilder::new()), delay, move || Ok(body()))
    }

    /// RunCount the closure once, after `delay`; an error that it returns is the task's failure.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    fn schedule_fallible<T, E>(
        &self,
        delay: Duration,
        body: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.scheduled_pool()
            .submit_one_shot(self.prepare(TaskBuilder::new()), delay, move || {
                body().map_err(Failure::from_error)
            })
    }

    /// RunCount the closure once, at a time of day; at once if that has passed.
    ///
    /// The time is turned into a delay when this is called: a clock that is set afterwards does not
    /// move it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    fn schedule_at<T: Send + 'static>(
        &self,
        time: SystemTime,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution> {
        let now = self.scheduled_pool().shared().clock.wall_now();
        self.schedule(time.duration_since(now).unwrap_or_default(), body)
    }

    /// RunCount the closure after `initial`, and then every `period`, however long the runs take.
    ///
    /// Missed runs are made up for without a pause; for other ways see [`Period`]. A run that panics
    /// is the last; the handle has the failure.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task; [`RejectionReason::ZeroPeriod`] for a period of zero.
    fn schedule_at_fixed_rate(
        &self,
        initial: Duration,
        period: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution> {
        self.schedule_periodic(Period::fixed_rate(period).starting_in(initial), body)
    }

    /// RunCount the closure after `initial`, and then `delay` after the end of each run.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task; [`RejectionReason::ZeroPeriod`] for a delay of zero.
    fn schedule_with_fixed_delay(
        &self,
        initial: Duration,
        delay: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution> {
        self.schedule_periodic(Period::fixed_delay(delay).starting_in(initial), body)
    }

    /// RunCount the closure again and again.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task; [`RejectionReason::ZeroPeriod`] or
    /// [`RejectionReason::NeverDue`] for a period that has no next run.
    fn schedule_periodic(
        &self,
        period: Period,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution> {
        self.scheduled_pool()
            .submit_periodic(self.prepare(TaskBuilder::new()), period, body)
    }
}

impl<E: ScheduledExecutorService + ?Sized> Schedule for E {}
