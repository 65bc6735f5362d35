//! Scheduling of closures: after a delay, at a time, repeatedly.

use std::error::Error;
use std::time::{Duration, SystemTime};

#[cfg(feature = "cron")]
use super::cron::ScheduleCronError;
use super::handle::ScheduledHandle;
use super::period::Period;
use super::retry::Retry;
use super::service::ScheduledExecutorService;
use crate::executor::RejectedExecution;
#[expect(unused_imports, reason = "named in the documentation")]
use crate::executor::RejectionReason;
use crate::submit::Submit;

/// The methods of every scheduled executor that take closures.
///
/// A rejected submission returns both the task and its handle: see
/// [`RejectedExecution::into_parts`].
///
/// A periodic task repeats until a run panics (or, in the `_fallible` forms, returns an error), it
/// is cancelled, its calendar ends, or the pool is shut down. The handle reports which.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let once = pool.schedule(Duration::from_millis(1), || 42).unwrap();
/// assert_eq!(once.join().unwrap(), 42);
///
/// let mut left = 3;
/// let mut ticks = pool
///     .schedule_at_fixed_rate_fallible(Duration::ZERO, Duration::from_millis(1), move || {
///         left -= 1;
///         if left > 0 { Ok(()) } else { Err("nothing left") }
///     })
///     .unwrap();
/// assert!(ticks.get().unwrap_err().is_failed());
/// assert_eq!(ticks.runs(), 3);
/// pool.close();
/// ```
pub trait Schedule: ScheduledExecutorService {
    /// Runs the closure once, after `delay`.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn schedule<T: Send + 'static>(
        &self,
        delay: Duration,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>> {
        self.task().schedule(delay, body)
    }

    /// Runs the closure once, after `delay`; an error that it returns is the task's failure.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    fn schedule_fallible<T, E>(
        &self,
        delay: Duration,
        body: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task().schedule_fallible(delay, body)
    }

    /// Runs the closure once, at a time of day; at once if that has passed.
    ///
    /// The time is converted to a delay when this is called: later changes of the system clock do
    /// not move it.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    fn schedule_at<T: Send + 'static>(
        &self,
        time: SystemTime,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>> {
        self.task().schedule_at(time, body)
    }

    /// Runs the closure after `initial`, and then every `period`, however long the runs take.
    ///
    /// Missed runs follow without a pause; for alternatives see [`MissedRuns`](super::MissedRuns). A
    /// run that panics is the last; the handle receives the failure.
    ///
    /// # Errors
    ///
    /// As [`schedule_periodic`](Self::schedule_periodic).
    fn schedule_at_fixed_rate(
        &self,
        initial: Duration,
        period: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        self.task().schedule_at_fixed_rate(initial, period, body)
    }

    /// Runs the closure as [`schedule_at_fixed_rate`](Self::schedule_at_fixed_rate); an error that it
    /// returns ends the repetition and is the task's failure.
    ///
    /// # Errors
    ///
    /// As [`schedule_periodic`](Self::schedule_periodic).
    fn schedule_at_fixed_rate_fallible<E>(
        &self,
        initial: Duration,
        period: Duration,
        body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task()
            .schedule_at_fixed_rate_fallible(initial, period, body)
    }

    /// Runs the closure after `initial`, and then `delay` after the end of each run.
    ///
    /// # Errors
    ///
    /// As [`schedule_periodic`](Self::schedule_periodic).
    fn schedule_with_fixed_delay(
        &self,
        initial: Duration,
        delay: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        self.task().schedule_with_fixed_delay(initial, delay, body)
    }

    /// Runs the closure as [`schedule_with_fixed_delay`](Self::schedule_with_fixed_delay); an error
    /// that it returns ends the repetition and is the task's failure.
    ///
    /// # Errors
    ///
    /// As [`schedule_periodic`](Self::schedule_periodic).
    fn schedule_with_fixed_delay_fallible<E>(
        &self,
        initial: Duration,
        delay: Duration,
        body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task()
            .schedule_with_fixed_delay_fallible(initial, delay, body)
    }

    /// Runs the closure repeatedly.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle; with [`RejectionReason::ZeroPeriod`] or
    /// [`RejectionReason::NeverDue`] for a period that has no next run: the task then runs once, if
    /// the caller runs it.
    fn schedule_periodic(
        &self,
        period: Period,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        self.task().schedule_periodic(period, body)
    }

    /// Runs the closure as [`schedule_periodic`](Self::schedule_periodic); an error that it returns
    /// ends the repetition and is the task's failure.
    ///
    /// # Errors
    ///
    /// As [`schedule_periodic`](Self::schedule_periodic).
    fn schedule_periodic_fallible<E>(
        &self,
        period: Period,
        body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task().schedule_periodic_fallible(period, body)
    }

    /// Runs the closure until it succeeds, or the policy gives up. The attempts are runs of their own:
    /// no worker waits between them.
    ///
    /// The handle returns the first value, or the failure of the last attempt, which says how many
    /// there were. [`ScheduledHandle::attempts`] and [`ScheduledHandle::last_failure`] show the progress.
    /// A cancel, or a shutdown after the first attempt, ends the attempts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::prelude::*;
    /// use windlass::scheduled::Retry;
    ///
    /// let pool = ScheduledThreadPoolExecutor::new(1);
    /// let policy = Retry::exponential(Duration::from_millis(1)).attempts(5);
    /// let mut answers = ["busy", "busy", "42"].into_iter();
    /// let answer = pool.submit_retry(&policy, move || answers.next().unwrap().parse::<u32>()).unwrap();
    /// assert_eq!(answer.join().unwrap(), 42);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    fn submit_retry<T, E>(
        &self,
        policy: &Retry,
        body: impl FnMut() -> Result<T, E> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.task().submit_retry(policy, body)
    }

    /// Runs the closure at the times of a cron expression in UTC; see [`Cron`](super::Cron) for its
    /// form.
    ///
    /// For a fallible closure, use [`schedule_periodic_fallible`](Self::schedule_periodic_fallible)
    /// with `Period::calendar(Cron::parse(..)?)`.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = ScheduledThreadPoolExecutor::new(1);
    /// let report = pool.schedule_cron("30 6 * * MON-FRI", || println!("good morning")).unwrap();
    /// assert!(report.is_periodic());
    /// assert!(pool.schedule_cron("half past six", || ()).unwrap_err().is_invalid());
    /// # pool.shutdown();
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScheduleCronError::Invalid`] if the expression is not valid, else as
    /// [`schedule_periodic`](Self::schedule_periodic).
    #[cfg(feature = "cron")]
    fn schedule_cron(
        &self,
        expression: &str,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, ScheduleCronError> {
        self.task().schedule_cron(expression, body)
    }

    /// Runs the closure at the times of a cron expression in a time zone of the IANA database, such
    /// as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// As [`schedule_cron`](Self::schedule_cron); also for an unknown time zone.
    #[cfg(feature = "cron")]
    fn schedule_cron_in(
        &self,
        expression: &str,
        zone: &str,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, ScheduleCronError> {
        self.task().schedule_cron_in(expression, zone, body)
    }
}

impl<E: ScheduledExecutorService + ?Sized> Schedule for E {}
