//! Closures for every scheduled executor: after a delay, at a time, at a rate, with a pause.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::handle::ScheduledHandle;
use super::period::{self, Period};
use super::periodic::PeriodicTask;
use super::scheduler::Scheduler;
use super::timers::Decorate;
use crate::executor::{ExecutorService, RejectedExecution, RejectionReason};
use crate::task::{Failure, RunCount, Task, TaskBuilder};

/// An executor service that also runs tasks later, and again and again.
///
/// What takes closures is in [`Schedule`], which every such service has.
pub trait ScheduledExecutorService: ExecutorService {
    /// What takes the tasks that are due later.
    fn scheduler(&self) -> &Arc<Scheduler>;
}

impl<E: ScheduledExecutorService + ?Sized> ScheduledExecutorService for &E {
    fn scheduler(&self) -> &Arc<Scheduler> {
        (**self).scheduler()
    }
}

impl<E: ScheduledExecutorService + ?Sized> ScheduledExecutorService for Arc<E> {
    fn scheduler(&self) -> &Arc<Scheduler> {
        (**self).scheduler()
    }
}

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
        once(self, delay, move || Ok(body()))
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
        once(self, delay, move || body().map_err(Failure::from_error))
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
        let now = self.scheduler().timers.clock.wall_now();
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
        periodic(self, period, body)
    }
}

impl<E: ScheduledExecutorService + ?Sized> Schedule for E {}

fn once<X, T>(
    executor: &X,
    delay: Duration,
    body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<ScheduledHandle<T>, RejectedExecution>
where
    X: ScheduledExecutorService + ?Sized,
    T: Send + 'static,
{
    let scheduler = executor.scheduler();
    let timer = scheduler.once(period::after(scheduler.timers.clock.now(), delay));
    let builder = executor.prepare(TaskBuilder::new());
    let (task, handle) = match scheduler.timers.decorate.clone() {
        None => builder.build_scheduled(timer, body),
        Some(decorate) => builder.build_scheduled(timer, move || decorated(&decorate, body)),
    };
    scheduler.submit(task)?;
    Ok(ScheduledHandle::new(handle))
}

fn periodic<X>(
    executor: &X,
    period: Period,
    mut body: impl FnMut() + Send + 'static,
) -> Result<ScheduledHandle<()>, RejectedExecution>
where
    X: ScheduledExecutorService + ?Sized,
{
    let scheduler = executor.scheduler();
    let reason = if period.is_zero() {
        RejectionReason::ZeroPeriod
    } else {
        RejectionReason::NeverDue
    };
    let tick = match period.first(&scheduler.timers.clock) {
        Some(tick) if !period.is_zero() => tick,
        _ => return Err(RejectedExecution::new(Task::new(body), reason)),
    };
    let run_count = Arc::new(RunCount::default());
    let timer = scheduler.periodic(tick.at, Arc::clone(&run_count));
    let decorate = scheduler.timers.decorate.clone();
    let run = move || {
        // Counted before the end of the run is announced, also if it panics.
        let _count = CountRun(&run_count);
        let mut once = || {
            body();
            Ok(())
        };
        match &decorate {
            None => once(),
            Some(decorate) => decorated(decorate, once),
        }
    };
    let builder = executor.prepare(TaskBuilder::new());
    let (cell, handle) = builder.build_periodic(timer, run);
    let task = PeriodicTask::new(cell, period, tick, scheduler);
    scheduler.submit(Task::of_cell(task))?;
    Ok(ScheduledHandle::new(handle))
}

/// Counts a run when it ends, in whatever way.
struct CountRun<'a>(&'a RunCount);

impl Drop for CountRun<'_> {
    fn drop(&mut self) {
        self.0.increment();
    }
}

/// RunCount the body inside the decoration, which has to call it once.
fn decorated<T>(
    decorate: &Decorate,
    body: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut body = Some(body);
    let mut outcome = None;
    decorate(&mut || {
        if let Some(body) = body.take() {
            outcome = Some(body());
        }
    });
    outcome.unwrap_or_else(|| Err(Failure::from_error("the decoration did not run the task")))
}
