//! Builds the scheduled pool that a scenario asks for, and schedules its tasks.

use std::sync::Arc;

use windlass::error::RejectedExecution;
use windlass::pool::Hooks;
use windlass::scheduled::{QueuedTask, ScheduledHandle};
use windlass::{ScheduledThreadPoolExecutor, Submit};

use super::plain;
use super::scripted_task::{Handle, ScriptedTask};
use crate::format::{ScheduledSpec, Setting, Step, TaskId, TaskSpec};
use crate::outcome::Outcome;

pub(super) fn build(spec: &ScheduledSpec, hooks: Arc<dyn Hooks>) -> ScheduledThreadPoolExecutor {
    let pool = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(spec.core)
        .rejection_handler(plain::policy(spec.policy))
        .hooks(hooks)
        .build();
    if let Some(yes) = spec.remove_on_cancel {
        pool.set_remove_on_cancel(yes);
    }
    if let Some(yes) = spec.periodic_after_shutdown {
        pool.set_continue_periodic_after_shutdown(yes);
    }
    if let Some(yes) = spec.delayed_after_shutdown {
        pool.set_run_delayed_after_shutdown(yes);
    }
    pool
}

/// The outcome of a step that schedules a task.
pub(super) struct Scheduled {
    pub(super) script: Arc<ScriptedTask>,
    pub(super) handle: Result<Handle, RejectedExecution>,
}

pub(super) fn schedule(
    pool: &ScheduledThreadPoolExecutor,
    step: &Step,
    script: Arc<ScriptedTask>,
) -> Scheduled {
    let (body, again) = (Arc::clone(&script), Arc::clone(&script));
    let again = move || {
        again.run();
    };
    let named = |task: &TaskSpec| pool.task().name(task.id.as_str());
    let handle = match step {
        Step::Schedule { task, delay } => named(task)
            .schedule(*delay, move || body.run())
            .map(|handle| Handle::Value(handle.share()))
            .map_err(RejectedExecution::from),
        Step::FixedRate {
            task,
            initial,
            period,
        } => periodic(named(task).schedule_at_fixed_rate(*initial, *period, again)),
        Step::FixedDelay {
            task,
            initial,
            delay,
        } => periodic(named(task).schedule_with_fixed_delay(*initial, *delay, again)),
        _ => unreachable!("only steps that schedule come here"),
    };
    Scheduled { script, handle }
}

fn periodic(
    scheduled: Result<ScheduledHandle<()>, RejectedExecution<ScheduledHandle<()>>>,
) -> Result<Handle, RejectedExecution> {
    scheduled
        .map(|handle| Handle::Periodic(handle.share()))
        .map_err(RejectedExecution::from)
}

pub(super) fn queue(pool: &ScheduledThreadPoolExecutor) -> Vec<TaskId> {
    let name = |task: QueuedTask| TaskId::new(task.name.unwrap_or_default());
    pool.queued_tasks().into_iter().map(name).collect()
}

pub(super) fn set(pool: Option<&ScheduledThreadPoolExecutor>, setting: Setting) -> Outcome {
    let Some(pool) = pool else {
        return Outcome::Impossible("not for a thread pool".to_owned());
    };
    match setting {
        Setting::RemoveOnCancel(yes) => pool.set_remove_on_cancel(yes),
        Setting::PeriodicAfterShutdown(yes) => pool.set_continue_periodic_after_shutdown(yes),
        Setting::DelayedAfterShutdown(yes) => pool.set_run_delayed_after_shutdown(yes),
        _ => return Outcome::Impossible("a setting of every pool".to_owned()),
    }
    Outcome::Ok
}
