//! The Windlass pool as a subject.

mod plain;
mod scripted_task;
mod timed;

use std::sync::Arc;

use windlass::error::RejectionReason;
use windlass::task::{ExecutionError, Task};
use windlass::{Executor, ExecutorService, ScheduledThreadPoolExecutor, ThreadPoolExecutor};

use crate::format::{PoolSpec, Setting, Step, TaskId, TaskSpec};
use crate::outcome::Outcome;
use crate::state::{Phase, State};
use crate::subject::Subject;

use scripted_task::{Handle, ScriptedTasks};

type Handler = Arc<dyn windlass::pool::RejectedExecutionHandler>;

/// Makes a subject for one scenario.
#[must_use]
pub fn subject() -> Box<dyn Subject> {
    Box::new(Driver::default())
}

/// One scenario's pool, its tasks, and the halves of tasks that the scenario holds.
#[derive(Default)]
struct Driver {
    pool: Option<ThreadPoolExecutor>,
    /// The scheduled pool, where `pool` is the one behind it.
    scheduled: Option<ScheduledThreadPoolExecutor>,
    tasks: ScriptedTasks,
    /// Handed back by the pool: they are pending as long as somebody holds them.
    held: Vec<Task>,
}

impl Driver {
    fn build(&mut self, spec: &PoolSpec) -> Outcome {
        match spec {
            PoolSpec::ThreadPool(spec) => match plain::build(spec, self.tasks.hooks()) {
                Ok(pool) => self.pool = Some(pool),
                Err(_) => return Outcome::InvalidArgument,
            },
            PoolSpec::Scheduled(spec) => {
                let scheduled = timed::build(spec, self.tasks.hooks());
                self.pool = Some(scheduled.pool().clone());
                self.scheduled = Some(scheduled);
            }
        }
        Outcome::Ok
    }

    /// Submits the task to the pool, or to the scheduled pool in front of it.
    fn submit_task(&self, pool: &ThreadPoolExecutor, task: Task) -> Result<(), Task> {
        let taken = match &self.scheduled {
            Some(scheduled) => scheduled.execute_task(task),
            None => pool.execute_task(task),
        };
        taken.map_err(|rejected| rejected.into_task())
    }

    fn execute(&mut self, pool: &ThreadPoolExecutor, spec: &TaskSpec) -> Outcome {
        let task = self.tasks.task(spec);
        // A run on this thread unwinds out of the submission, as the JDK's does.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.submit_task(pool, task)
        }));
        match ended {
            Err(_) => Outcome::Failed,
            Ok(taken) => self.taken(taken),
        }
    }

    fn submit(&mut self, pool: &ThreadPoolExecutor, spec: &TaskSpec) -> Outcome {
        let task = self.tasks.task_with_handle(spec);
        let taken = self.submit_task(pool, task);
        self.taken(taken)
    }

    fn taken(&mut self, taken: Result<(), Task>) -> Outcome {
        match taken {
            Ok(()) => Outcome::Ok,
            Err(task) => {
                self.held.push(task);
                Outcome::Rejected
            }
        }
    }

    /// Notes a task that was scheduled, or not.
    fn scheduled(&mut self, spec: &TaskSpec, outcome: timed::Scheduled) -> Outcome {
        let timed::Scheduled { script, handle } = outcome;
        match handle {
            Ok(handle) => {
                let id = handle.id();
                self.tasks.register(spec, script, id, Some(handle));
                Outcome::Ok
            }
            Err(rejected) => {
                let invalid = rejected.reason() == RejectionReason::ZeroPeriod;
                let task = rejected.into_task();
                self.tasks.register(spec, script, task.id(), None);
                self.held.push(task);
                if invalid {
                    Outcome::InvalidArgument
                } else {
                    Outcome::Rejected
                }
            }
        }
    }

    fn with_handle(&self, id: &TaskId, f: impl FnOnce(&Handle) -> Outcome) -> Outcome {
        match self.tasks.handle(id) {
            Some(handle) => f(handle),
            None => Outcome::Impossible(format!("{id} has no handle")),
        }
    }

    fn remove(&mut self, pool: &ThreadPoolExecutor, id: &TaskId) -> Outcome {
        let removed = self.tasks.id_of(id).and_then(|id| pool.remove(id));
        let found = removed.is_some();
        self.held.extend(removed);
        Outcome::Flag(found)
    }

    fn shutdown_now(&mut self, pool: &ThreadPoolExecutor) -> Outcome {
        let tasks = pool.shutdown_now();
        let names = tasks.iter().map(named).collect();
        self.held.extend(tasks);
        Outcome::Tasks(names)
    }

    fn on_pool(&mut self, pool: &ThreadPoolExecutor, step: &Step) -> Outcome {
        match step {
            Step::Execute(spec) => self.execute(pool, spec),
            Step::Submit(spec) => self.submit(pool, spec),
            Step::Finish(id) => self.tasks.finish(id),
            Step::Fail(id) => self.tasks.fail(id),
            Step::Cancel {
                id,
                interrupt: false,
            } => self.with_handle(id, |handle| Outcome::Flag(handle.cancel())),
            Step::Cancel {
                id,
                interrupt: true,
            } => self.with_handle(id, |handle| Outcome::Flag(handle.cancel_now())),
            Step::Get { id, timeout } => {
                self.with_handle(id, |handle| got(handle.get_timeout(*timeout)))
            }
            Step::Future(id) => self.with_handle(id, future_state),
            Step::Set(setting) => set(pool, self.scheduled.as_ref(), *setting),
            Step::Prestart => Outcome::Flag(pool.prestart_core_thread()),
            Step::PrestartAll => Outcome::Count(pool.prestart_all_core_threads()),
            Step::Remove(id) => self.remove(pool, id),
            Step::Purge => {
                pool.purge();
                Outcome::Ok
            }
            Step::Shutdown => {
                pool.shutdown();
                Outcome::Ok
            }
            Step::ShutdownNow => self.shutdown_now(pool),
            Step::Await { timeout } => match pool.await_termination(*timeout) {
                Ok(ended) => Outcome::Flag(ended),
                Err(interrupted) => Outcome::Impossible(interrupted.to_string()),
            },
            Step::Schedule { task, .. }
            | Step::FixedRate { task, .. }
            | Step::FixedDelay { task, .. } => match self.scheduled.clone() {
                Some(scheduled) => {
                    let outcome = timed::schedule(&scheduled, step, self.tasks.script(task));
                    self.scheduled(task, outcome)
                }
                None => Outcome::Impossible("not for a thread pool".to_owned()),
            },
            Step::Pool(_) => Outcome::Impossible("there is a pool already".to_owned()),
        }
    }
}

fn named(task: &Task) -> TaskId {
    TaskId::new(task.name().unwrap_or("?"))
}

fn got(result: Result<TaskId, ExecutionError>) -> Outcome {
    match result {
        Ok(id) => Outcome::Value(id),
        Err(ExecutionError::Failed(_)) => Outcome::Failed,
        Err(ExecutionError::Cancelled(_)) => Outcome::Cancelled,
        Err(ExecutionError::TimedOut) => Outcome::Timeout,
        Err(other) => Outcome::Impossible(other.to_string()),
    }
}

fn future_state(handle: &Handle) -> Outcome {
    if handle.is_cancelled() {
        Outcome::Cancelled
    } else if handle.is_done() {
        Outcome::Done
    } else {
        Outcome::Pending
    }
}

fn set(
    pool: &ThreadPoolExecutor,
    scheduled: Option<&ScheduledThreadPoolExecutor>,
    setting: Setting,
) -> Outcome {
    let done = match setting {
        Setting::Core(core) => pool.set_core_pool_size(core),
        Setting::Max(max) => pool.set_maximum_pool_size(max),
        Setting::KeepAlive(time) => pool.set_keep_alive(time),
        Setting::CoreTimeout(allow) => pool.set_allow_core_thread_timeout(allow),
        Setting::Policy(policy) => {
            pool.set_rejection_handler(plain::policy(policy));
            Ok(())
        }
        Setting::RemoveOnCancel(_)
        | Setting::PeriodicAfterShutdown(_)
        | Setting::DelayedAfterShutdown(_) => {
            return timed::set(scheduled, setting);
        }
    };
    match done {
        Ok(()) => Outcome::Ok,
        Err(_) => Outcome::InvalidArgument,
    }
}

impl Subject for Driver {
    fn step(&mut self, step: &Step) -> Outcome {
        if let Step::Pool(spec) = step {
            return self.build(spec);
        }
        match self.pool.clone() {
            Some(pool) => self.on_pool(&pool, step),
            None => Outcome::Impossible("there is no pool".to_owned()),
        }
    }

    fn state(&self) -> State {
        let Some(pool) = &self.pool else {
            return State::default();
        };
        let stats = pool.stats();
        let mut state = self.tasks.state();
        state.phase = match stats.state {
            windlass::pool::PoolState::Terminated => Phase::Terminated,
            windlass::pool::PoolState::Running => Phase::Running,
            _ => Phase::Shutdown,
        };
        state.pool = stats.pool_size;
        state.active = stats.active_count;
        state.largest = stats.largest_pool_size;
        state.completed = stats.completed_task_count;
        state.total = stats.task_count;
        state.queue = match &self.scheduled {
            Some(scheduled) => timed::queue(scheduled),
            None => plain::queued(pool),
        };
        state
    }

    /// A pool that has no worker and gets no thread returns or cancels its tasks, where the JDK's
    /// keeps them for ever.
    fn differs_by_design(&self) -> bool {
        let stats = self.pool.as_ref().map(ThreadPoolExecutor::stats);
        stats.is_some_and(|stats| stats.refused_thread_count > 0 && stats.pool_size == 0)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.tasks.release_all();
        if let Some(pool) = &self.pool {
            drop(pool.shutdown_now());
        }
    }
}
