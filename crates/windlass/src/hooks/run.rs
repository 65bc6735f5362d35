//! The run of a task between its hooks.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::around::{Hooks, Outcome, TaskInfo};
use crate::sync::clock;
use crate::task::{Failure, RunOutcome, Task, TimerView};
use crate::unwind::{catch, discard};

/// How a run has ended.
#[must_use]
pub(crate) enum RunEnd {
    /// The task has completed.
    Ended,
    /// The task was cancelled, or done already.
    Skipped,
    /// The task has failed, and its handle has the failure too.
    Failed(Failure),
    /// A panic that no handle receives: of the task, of one of its callbacks, or of a hook.
    Panicked { failure: Failure, by: Panicked },
}

/// What has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panicked {
    /// The task, or a hook of a task that has failed.
    Task,
    /// A hook of a task that has not failed.
    Hook,
}

/// Runs a task between its hooks.
///
/// One `catch_unwind` covers the hooks and the task. After a panic of the task, `after_execute` runs
/// inside a second one.
pub(crate) fn run_hooked(slot: &mut Option<Task>, hooks: &dyn Hooks, takes_times: bool) -> RunEnd {
    let Some(task) = slot else {
        return RunEnd::Skipped;
    };
    let waited = takes_times.then(|| queued_for(task)).flatten();
    let mut info = TaskInfo::of(task, waited);
    // In cells, to be read after a panic.
    let (stage, start) = (Cell::new(HookPhase::Before), Cell::new(None));
    let ended = catch(|| {
        hooks.before_execute(&info);
        stage.set(HookPhase::Task);
        start.set(takes_times.then(clock::now));
        let ran = Task::run_in(slot);
        info.set_ran_for(start.get().map(time_since));
        let (outcome, ended) = match ran {
            RunOutcome::Completed => (Outcome::Completed, RunEnd::Ended),
            RunOutcome::Failed(failure) => {
                (Outcome::Failed(failure.clone()), RunEnd::Failed(failure))
            }
            RunOutcome::Skipped => (Outcome::Cancelled, RunEnd::Skipped),
        };
        stage.set(HookPhase::After(match outcome {
            Outcome::Failed(_) => Panicked::Task,
            _ => Panicked::Hook,
        }));
        hooks.after_execute(&info, &outcome);
        ended
    });
    let payload = match ended {
        Ok(ended) => return ended,
        Err(payload) => payload,
    };
    let failure = Failure::from_panic(payload);
    let by = match stage.get() {
        HookPhase::Before => {
            discard(slot.take());
            Panicked::Hook
        }
        HookPhase::Task => {
            info.set_ran_for(start.get().map(time_since));
            let outcome = Outcome::Failed(failure.clone());
            if let Err(payload) = catch(|| hooks.after_execute(&info, &outcome)) {
                // The failure of the hook replaces that of the task.
                discard((outcome, failure));
                return RunEnd::Panicked {
                    failure: Failure::from_panic(payload),
                    by: Panicked::Task,
                };
            }
            Panicked::Task
        }
        HookPhase::After(by) => by,
    };
    RunEnd::Panicked { failure, by }
}

/// The phase of a run, to tell after a panic what has panicked.
#[derive(Debug, Clone, Copy)]
enum HookPhase {
    Before,
    Task,
    /// A panic here is of the hook, after a task that has failed or not.
    After(Panicked),
}

/// Returns how long the task has waited, if its submission time was recorded; a scheduled task since
/// it was due, not since it was scheduled.
fn queued_for(task: &Task) -> Option<Duration> {
    let queued = task.queued_at()?;
    let due = task.timer().map(TimerView::due);
    Some(time_since(due.map_or(queued, |due| due.max(queued))))
}

fn time_since(start: Instant) -> Duration {
    clock::now().saturating_duration_since(start)
}
