//! Turns closures into scheduled tasks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::executor::ScheduledThreadPoolExecutor;
use super::handle::ScheduledHandle;
use super::period::{self, Period};
use super::periodic::PeriodicTask;
use super::shared::Decorate;
use crate::executor::{RejectedExecution, RejectionReason};
use crate::task::{Failure, RunCount, Task, TaskBuilder, Timer, TimerService};

impl ScheduledThreadPoolExecutor {
    /// Submits a task that runs once, after `delay`.
    pub(super) fn submit_one_shot<T: Send + 'static>(
        &self,
        builder: TaskBuilder,
        delay: Duration,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<ScheduledHandle<T>, RejectedExecution> {
        let shared = self.shared();
        let timer = Timer::one_shot(period::after(shared.now(), delay), self.timer_service());
        let (task, handle) = match shared.options.decorate.clone() {
            None => builder.build_scheduled(timer, body),
            Some(decorate) => builder.build_scheduled(timer, move || decorated(&decorate, body)),
        };
        self.submit_task(task)?;
        Ok(ScheduledHandle::new(handle))
    }

    /// Submits a task that runs again and again.
    pub(super) fn submit_periodic(
        &self,
        builder: TaskBuilder,
        period: Period,
        mut body: impl FnMut() + Send + 'static,
    ) -> Result<ScheduledHandle<()>, RejectedExecution> {
        let shared = self.shared();
        let reason = if period.is_zero() {
            RejectionReason::ZeroPeriod
        } else {
            RejectionReason::NeverDue
        };
        let tick = match period.first(&shared.clock) {
            Some(tick) if !period.is_zero() => tick,
            _ => return Err(RejectedExecution::new(Task::new(body), reason)),
        };
        let run_count = Arc::new(RunCount::default());
        let timer = Timer::periodic(tick.at, Arc::clone(&run_count), self.timer_service());
        let decorate = shared.options.decorate.clone();
        let run = move || {
            // Counted before the end of the run is published, also if it panics.
            let _count = CountOnDrop(&run_count);
            let mut once = || {
                body();
                Ok(())
            };
            match &decorate {
                None => once(),
                Some(decorate) => decorated(decorate, once),
            }
        };
        let (cell, handle) = builder.build_periodic(timer, run);
        let task = PeriodicTask::new(cell, period, tick, shared);
        self.submit_task(Task::of_cell(task))?;
        Ok(ScheduledHandle::new(handle))
    }

    #[inline]
    fn timer_service(&self) -> Weak<dyn TimerService> {
        Arc::downgrade(self.shared()) as _
    }
}

/// Counts a run when it ends, in whatever way.
struct CountOnDrop<'a>(&'a RunCount);

impl Drop for CountOnDrop<'_> {
    fn drop(&mut self) {
        self.0.increment();
    }
}

/// Runs the body inside the decoration, which has to call it once.
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
