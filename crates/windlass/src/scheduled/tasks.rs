//! Builds tasks with timers, and submits them.

use std::sync::Arc;
use std::time::Duration;

use super::executor::ScheduledThreadPoolExecutor;
use super::handle::ScheduledHandle;
use super::period::Period;
use super::periodic::PeriodicTask;
use super::retry::{Progress, Retry};
use super::shared::{Decorate, TimerKind};
use crate::executor::{RejectedExecution, RejectionReason};
use crate::submit::Submit;
use crate::task::{Failure, RunCount, Task, TaskBuilder, TimedTask, Timer};
use crate::unwind::catch;

/// The handle of a scheduled task; or, if it was rejected, task and handle.
pub(super) type Scheduled<T> = Result<ScheduledHandle<T>, RejectedExecution<ScheduledHandle<T>>>;

impl ScheduledThreadPoolExecutor {
    /// Submits a task that runs once, after `delay`.
    pub(super) fn submit_one_shot<T: Send + 'static>(
        &self,
        builder: TaskBuilder,
        delay: Duration,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Scheduled<T> {
        let due = self.shared().due_after(delay);
        let (timer, handle) = self.build_one_shot(builder, due, body);
        self.submit_once(due, timer, handle)
    }

    /// Submits a task that runs once, after `delay`, and that others wait for: it is cancelled as soon as it is
    /// returned to a caller, who may keep it for any time.
    pub(crate) fn submit_awaited(
        &self,
        delay: Duration,
        body: impl FnOnce() + Send + 'static,
    ) -> Scheduled<()> {
        let (shared, (_, builder)) = (self.shared(), self.task().into_parts());
        let due = shared.due_after(delay);
        let timer = || Timer::one_shot(due, Arc::clone(&shared.timers));
        let run = move || {
            body();
            Ok(())
        };
        let (timer, handle) = match shared.options.decorate.clone() {
            None => builder.build_scheduled_scoped(timer, run),
            Some(decorate) => {
                builder.build_scheduled_scoped(timer, move || decorated(&decorate, run))
            }
        };
        self.submit_once(due, timer, ScheduledHandle::new(handle))
    }

    /// Submits a task that repeats until a run fails.
    pub(super) fn submit_periodic(
        &self,
        builder: TaskBuilder,
        period: Period,
        mut body: impl FnMut() -> Result<(), Failure> + Send + 'static,
    ) -> Scheduled<()> {
        let shared = self.shared();
        let reason = if period.is_zero() {
            RejectionReason::ZeroPeriod
        } else {
            RejectionReason::NeverDue
        };
        let first = match period.first(&shared.timers.clock) {
            Some(first) if !period.is_zero() => first,
            _ => {
                // A task that runs once, so that the caller can run the rejected task.
                let (timer, handle) =
                    self.build_one_shot(builder, shared.due_after(Duration::ZERO), body);
                let rejected = RejectedExecution::new(timer.into_task(), reason);
                return Err(rejected.with_handle(handle));
            }
        };
        let run_count = Arc::new(RunCount::default());
        let timer = Timer::periodic(first.at, Arc::clone(&shared.timers), Arc::clone(&run_count));
        let decorate = shared.options.decorate.clone();
        let run = move || {
            // Counted before the end of the run is published, also if it panics.
            let _count = CountOnDrop(&run_count);
            match &decorate {
                None => body(),
                Some(decorate) => decorated(decorate, &mut body),
            }
        };
        let (cell, handle) = builder.build_periodic(timer, run);
        let task = PeriodicTask::new(cell, period, first, shared);
        let (task, handle) = (Task::of_runnable(task), ScheduledHandle::new(handle));
        self.submit_with_handle(task, handle, TimerKind::Periodic)
    }

    /// Submits a task that runs until an attempt succeeds, or the policy gives up.
    pub(super) fn submit_attempts<T: Send + 'static>(
        &self,
        builder: TaskBuilder,
        policy: &Retry,
        mut body: impl FnMut() -> Result<T, Failure> + Send + 'static,
    ) -> Scheduled<T> {
        let shared = self.shared();
        let now = shared.now();
        let run_count = Arc::new(RunCount::of_attempts());
        let timer = Timer::periodic(now, Arc::clone(&shared.timers), Arc::clone(&run_count));
        let progress = Arc::new(Progress::new(
            policy,
            &shared.timers.clock,
            shared.new_salt(),
        ));
        let (decorate, theirs) = (shared.options.decorate.clone(), Arc::clone(&progress));
        let run = move || {
            // Due in time, but no worker was free.
            if theirs.is_over() {
                if let Some(last) = run_count.last_failure() {
                    return Err(last);
                }
            }
            let attempt = catch(|| match &decorate {
                None => body(),
                Some(decorate) => decorated(decorate, &mut body),
            });
            let attempts = run_count.increment();
            let failure = match attempt {
                Ok(Ok(value)) => return Ok(Some(value)),
                Ok(Err(failure)) => failure,
                Err(payload) => Failure::from_panic(payload),
            };
            let failure = failure.after_attempts(attempts);
            run_count.set_last_failure(failure.clone());
            theirs.decide(attempts, failure).map(|()| None)
        };
        let (cell, handle) = builder.build_until_result(timer, run);
        let task = PeriodicTask::until_result(cell, progress, shared);
        let (task, handle) = (Task::of_runnable(task), ScheduledHandle::new(handle));
        let kind = TimerKind::of(&task);
        self.submit_with_handle(task, handle, kind)
    }

    #[inline]
    fn build_one_shot<T: Send + 'static>(
        &self,
        builder: TaskBuilder,
        due: u64,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (TimedTask, ScheduledHandle<T>) {
        let shared = self.shared();
        let timer = || Timer::one_shot(due, Arc::clone(&shared.timers));
        let (timer, handle) = match &shared.options.decorate {
            None => builder.build_scheduled(timer, body),
            Some(decorate) => {
                let decorate = Arc::clone(decorate);
                builder.build_scheduled(timer, move || decorated(&decorate, body))
            }
        };
        (timer, ScheduledHandle::new(handle))
    }

    #[inline]
    fn submit_once<T: Send + 'static>(
        &self,
        due: u64,
        timer: TimedTask,
        handle: ScheduledHandle<T>,
    ) -> Scheduled<T> {
        match self.submit_timer(handle.id(), due, timer) {
            Ok(()) => Ok(handle),
            Err(rejected) => Err(rejected.with_handle(handle)),
        }
    }

    fn submit_with_handle<T>(
        &self,
        task: Task,
        handle: ScheduledHandle<T>,
        kind: TimerKind,
    ) -> Scheduled<T> {
        match self.submit_task(task, kind) {
            Ok(()) => Ok(handle),
            Err(rejected) => Err(rejected.with_handle(handle)),
        }
    }
}

/// A guard that counts a run when it ends, also by a panic.
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
