//! Builds the scheduled pool that a scenario asks for, and schedules its tasks.

use std::sync::Arc;

use windlass::error::RejectedExecution;
use windlass::pool::Hooks;
use windlass::{Schedule, ScheduledThreadPoolExecutor};

use super::plain;
use super::scripted_task::{Handle, ScriptedTask};
use crate::format::{ScheduledSpec, Setting, Step, TaskId};
use crate::outcome::Outcome;

pub(super) fn build(spec: &ScheduledSpec, hooks: Arc<dyn Hooks>) -> ScheduledThreadPoolExecutor {
    // Tasks are known by the id of their handle; names are given by the map from ids to names.
    let pool = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(spec.core)
        .rejection_handler(plain::policy(spec.policy))
        .prepare_tasks(|task| match NAME.take() {
            Some(name) => task.name(name),
            None => task,
        })
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

thread_local! {
    /// The name of the task that is being scheduled on this thread.
    static NAME: std::cell::Cell<Option<String>> = const { std::cell::Cell::new(None) };
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
    let body = Arc::clone(&script);
    let again = move || {
        body.run();
    };
    let handle = match step {
        Step::Schedule { task, delay } => {
            NAME.set(Some(task.id.as_str().to_owned()));
            let body = Arc::clone(&script);
            let handle = pool.schedule(*delay, move || body.run());
            handle
                .map(|handle| Handle::Value(handle.into_handle().share()))
                .map_err(RejectedExecution::from)
        }
        Step::FixedRate {
            task,
            initial,
            period,
        } => {
            NAME.set(Some(task.id.as_str().to_owned()));
            let handle = pool.schedule_at_fixed_rate(*initial, *period, again);
            handle
                .map(|handle| Handle::Periodic(handle.into_handle().share()))
                .map_err(RejectedExecution::from)
        }
        Step::FixedDelay {
            task,
            initial,
            delay,
        } => {
            NAME.set(Some(task.id.as_str().to_owned()));
            let handle = pool.schedule_with_fixed_delay(*initial, *delay, again);
            handle
                .map(|handle| Handle::Periodic(handle.into_handle().share()))
                .map_err(RejectedExecution::from)
        }
        _ => unreachable!("only steps that schedule come here"),
    };
    NAME.set(None);
    Scheduled { script, handle }
}

pub(super) fn queue(pool: &ScheduledThreadPoolExecutor) -> Vec<TaskId> {
    let name = |task: windlass::scheduled::QueuedTask| TaskId::new(task.name.unwrap_or_default());
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
