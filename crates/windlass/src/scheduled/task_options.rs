//! Scheduling with options for one task: the timed methods of [`Submission`].

use std::error::Error;
use std::time::{Duration, SystemTime};

use super::handle::ScheduledHandle;
use super::period::Period;
use super::service::ScheduledExecutorService;
use crate::executor::RejectedExecution;
use crate::submit::Submission;
use crate::task::Failure;

/// For scheduled executors.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// let pool = executors::scheduled_thread_pool(1);
/// let late = pool.task().name("late").schedule(Duration::from_millis(1), || 7).unwrap();
/// assert_eq!(late.name(), Some("late"));
/// assert_eq!(late.join().unwrap(), 7);
/// ```
impl<E: ScheduledExecutorService + ?Sized> Submission<'_, E> {
    /// Runs the closure once, after `delay`; see [`Schedule::schedule`](super::Schedule::schedule).
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
        let body = move || Ok(body());
        executor.scheduled_pool().submit_one_shot(task, delay, body)
    }

    /// Runs the closure once, after `delay`; an error that it returns is the failure of the task.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    pub fn schedule_fallible<T, X>(
        self,
        delay: Duration,
        body: impl FnOnce() -> Result<T, X> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>
    where
        T: Send + 'static,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let body = move || body().map_err(Failure::from_error);
        executor.scheduled_pool().submit_one_shot(task, delay, body)
    }

    /// Runs the closure once, at a time of day; see
    /// [`Schedule::schedule_at`](super::Schedule::schedule_at).
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    pub fn schedule_at<T: Send + 'static>(
        self,
        time: SystemTime,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>> {
        let (executor, task) = self.into_parts();
        let pool = executor.scheduled_pool();
        let now = pool.shared().clock.wall_now();
        let delay = time.duration_since(now).unwrap_or_default();
        pool.submit_one_shot(task, delay, move || Ok(body()))
    }

    /// Runs the closure repeatedly; see
    /// [`Schedule::schedule_periodic`](super::Schedule::schedule_periodic).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn schedule_periodic(
        self,
        period: Period,
        mut body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>> {
        let (executor, task) = self.into_parts();
        let body = move || {
            body();
            Ok(())
        };
        executor
            .scheduled_pool()
            .submit_periodic(task, period, body)
    }

    /// Like [`schedule_periodic`](Self::schedule_periodic); an error that the closure returns ends
    /// the repetition and is the failure of the task.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn schedule_periodic_fallible<X>(
        self,
        period: Period,
        mut body: impl FnMut() -> Result<(), X> + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (executor, task) = self.into_parts();
        let body = move || body().map_err(Failure::from_error);
        executor
            .scheduled_pool()
            .submit_periodic(task, period, body)
    }
}
