//! Scheduled submissions with options for their task.

use std::error::Error;
use std::time::{Duration, SystemTime};

#[cfg(feature = "cron")]
use super::cron::{Cron, ScheduleCronError};
use super::handle::ScheduledHandle;
use super::period::Period;
use super::retry::Retry;
use super::service::ScheduledExecutorService;
use crate::executor::RejectedExecution;
use crate::submit::Submission;
use crate::task::Failure;

/// The forms of [`Schedule`](crate::Schedule), for a task with options.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let report = pool.task().name("report").schedule(Duration::from_millis(1), || 42).unwrap();
/// assert_eq!(report.name(), Some("report"));
/// assert_eq!(report.join().unwrap(), 42);
/// ```
impl<S: ScheduledExecutorService + ?Sized> Submission<'_, S> {
    /// Runs the closure once, after `delay`; see
    /// [`Schedule::schedule`](crate::Schedule::schedule).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule<T: Send + 'static>(
        self,
        delay: Duration,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>> {
        let (executor, task) = self.into_parts();
        let pool = executor.scheduled_pool();
        pool.submit_one_shot(task, delay, move || Ok(body()))
    }

    /// Runs the closure once, after `delay`; an error is the task's failure; see
    /// [`Schedule::schedule_fallible`](crate::Schedule::schedule_fallible).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_fallible<T, E>(
        self,
        delay: Duration,
        body: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let pool = executor.scheduled_pool();
        pool.submit_one_shot(task, delay, move || body().map_err(Failure::from_error))
    }

    /// Runs the closure once, at a time of day; see
    /// [`Schedule::schedule_at`](crate::Schedule::schedule_at).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_at<T: Send + 'static>(
        self,
        time: SystemTime,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>> {
        let (executor, task) = self.into_parts();
        let pool = executor.scheduled_pool();
        let now = pool.shared().timers.clock.wall_now();
        let delay = time.duration_since(now).unwrap_or_default();
        pool.submit_one_shot(task, delay, move || Ok(body()))
    }

    /// Runs the closure after `initial`, and then every `period`; see
    /// [`Schedule::schedule_at_fixed_rate`](crate::Schedule::schedule_at_fixed_rate).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_at_fixed_rate(
        self,
        initial: Duration,
        period: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        self.schedule_periodic(Period::fixed_rate(period).starting_in(initial), body)
    }

    /// Runs the closure after `initial`, and then every `period`, until it returns an error; see
    /// [`Schedule::schedule_at_fixed_rate_fallible`](crate::Schedule::schedule_at_fixed_rate_fallible).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_at_fixed_rate_fallible<E>(
        self,
        initial: Duration,
        period: Duration,
        body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.schedule_periodic_fallible(Period::fixed_rate(period).starting_in(initial), body)
    }

    /// Runs the closure after `initial`, and then `delay` after the end of each run; see
    /// [`Schedule::schedule_with_fixed_delay`](crate::Schedule::schedule_with_fixed_delay).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_with_fixed_delay(
        self,
        initial: Duration,
        delay: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        self.schedule_periodic(Period::fixed_delay(delay).starting_in(initial), body)
    }

    /// Runs the closure after `initial`, and then `delay` after the end of each run, until it returns
    /// an error; see
    /// [`Schedule::schedule_with_fixed_delay_fallible`](crate::Schedule::schedule_with_fixed_delay_fallible).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_with_fixed_delay_fallible<E>(
        self,
        initial: Duration,
        delay: Duration,
        body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.schedule_periodic_fallible(Period::fixed_delay(delay).starting_in(initial), body)
    }

    /// Runs the closure repeatedly; see
    /// [`Schedule::schedule_periodic`](crate::Schedule::schedule_periodic).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_periodic(
        self,
        period: Period,
        mut body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        let body = move || {
            body();
            Ok(())
        };
        let (executor, task) = self.into_parts();
        executor
            .scheduled_pool()
            .submit_periodic(task, period, body)
    }

    /// Runs the closure repeatedly, until it returns an error; see
    /// [`Schedule::schedule_periodic_fallible`](crate::Schedule::schedule_periodic_fallible).
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn schedule_periodic_fallible<E>(
        self,
        period: Period,
        mut body: impl FnMut() -> Result<(), E> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let body = move || body().map_err(Failure::from_error);
        let (executor, task) = self.into_parts();
        executor
            .scheduled_pool()
            .submit_periodic(task, period, body)
    }

    /// Runs the closure until it succeeds, or the policy gives up; see
    /// [`Schedule::submit_retry`](crate::Schedule::submit_retry).
    ///
    /// A [`run_limit`](Self::run_limit) is that of an attempt, and one that takes longer is the last. No
    /// attempt starts after a [`deadline`](Self::deadline); a queue limit does not apply.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn submit_retry<T, E>(
        self,
        policy: &Retry,
        mut body: impl FnMut() -> Result<T, E> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let body = move || body().map_err(Failure::from_error);
        executor
            .scheduled_pool()
            .submit_attempts(task, policy, body)
    }

    /// Runs the closure at the times of a cron expression in UTC; see
    /// [`Schedule::schedule_cron`](crate::Schedule::schedule_cron).
    ///
    /// # Errors
    ///
    /// [`ScheduleCronError`].
    #[cfg(feature = "cron")]
    pub fn schedule_cron(
        self,
        expression: &str,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, ScheduleCronError> {
        let cron: Cron = expression.parse()?;
        Ok(self.schedule_periodic(Period::calendar(cron), body)?)
    }

    /// Runs the closure at the times of a cron expression in a time zone; see
    /// [`Schedule::schedule_cron_in`](crate::Schedule::schedule_cron_in).
    ///
    /// # Errors
    ///
    /// [`ScheduleCronError`].
    #[cfg(feature = "cron")]
    pub fn schedule_cron_in(
        self,
        expression: &str,
        zone: &str,
        body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, ScheduleCronError> {
        let cron = Cron::parse(expression, zone)?;
        Ok(self.schedule_periodic(Period::calendar(cron), body)?)
    }
}
