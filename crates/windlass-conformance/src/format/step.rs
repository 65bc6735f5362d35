//! One step of a scenario.

use std::fmt;
use std::time::Duration;

use super::pool::{Policy, PoolSpec};

/// A task's name in its scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

impl TaskId {
    /// Takes a name; it should be one word without `=`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> TaskId {
        TaskId(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A task as a step brings it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name.
    pub id: TaskId,
    /// Its place in a priority queue, the smallest first.
    pub priority: Option<i32>,
    /// How a run of it ends.
    pub ending: Ending,
}

impl TaskSpec {
    /// Prints what stands at the end of a step, each word with the space before it.
    fn tail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(priority) = self.priority {
            write!(f, " priority={priority}")?;
        }
        f.write_str(match self.ending {
            Ending::Held => "",
            Ending::Instant => " instant",
            Ending::Failing => " failing",
        })
    }
}

/// How a run of a task ends. On the submitting thread no run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Each run waits for a `finish` or `fail` of its own.
    Held,
    /// At once and well.
    Instant,
    /// At once by a failure.
    Failing,
}

/// A change to the live pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The core pool size.
    Core(usize),
    /// The maximum pool size.
    Max(usize),
    /// The keep-alive time.
    KeepAlive(Duration),
    /// Whether core workers time out as well.
    CoreTimeout(bool),
    /// The rejection policy.
    Policy(Policy),
    /// Scheduled pools: whether a cancelled task leaves the queue at once.
    RemoveOnCancel(bool),
    /// Scheduled pools: whether periodic tasks go on after shutdown.
    PeriodicAfterShutdown(bool),
    /// Scheduled pools: whether delayed tasks still run after shutdown.
    DelayedAfterShutdown(bool),
}

/// What a scenario asks of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Build the pool.
    Pool(PoolSpec),
    /// Hand over a task that has no handle.
    Execute(TaskSpec),
    /// Hand over a task and keep its handle.
    Submit(TaskSpec),
    /// Run a task once, after a delay.
    Schedule {
        /// What to run.
        task: TaskSpec,
        /// When.
        delay: Duration,
    },
    /// Run a task again and again, its starts one period apart.
    FixedRate {
        /// What to run.
        task: TaskSpec,
        /// When it first starts.
        initial: Duration,
        /// From start to start.
        period: Duration,
    },
    /// Run a task again and again, with a pause after each run.
    FixedDelay {
        /// What to run.
        task: TaskSpec,
        /// When it first starts.
        initial: Duration,
        /// From the end of a run to the next start.
        delay: Duration,
    },
    /// Let one run of the task end well, be it under way or still to come.
    Finish(TaskId),
    /// Let one run of the task end; from now on its runs end by a failure.
    Fail(TaskId),
    /// Cancel the task's handle.
    Cancel {
        /// Which task.
        id: TaskId,
        /// Whether a run under way is interrupted.
        interrupt: bool,
    },
    /// Wait for the task's result.
    Get {
        /// Which task.
        id: TaskId,
        /// How long.
        timeout: Duration,
    },
    /// Look at the task's handle without waiting.
    Future(TaskId),
    /// Change the live pool.
    Set(Setting),
    /// Start one core worker.
    Prestart,
    /// Start all core workers.
    PrestartAll,
    /// Take a task out of the queue.
    Remove(TaskId),
    /// Drop the cancelled tasks from the queue.
    Purge,
    /// Take no more tasks.
    Shutdown,
    /// Take no more tasks, interrupt the workers and hand back what is queued.
    ShutdownNow,
    /// Wait for the pool to terminate.
    Await {
        /// How long.
        timeout: Duration,
    },
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        self.tail(f)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Core(n) => write!(f, "core={n}"),
            Setting::Max(n) => write!(f, "max={n}"),
            Setting::KeepAlive(time) => write!(f, "keep_alive={}", time.as_millis()),
            Setting::CoreTimeout(on) => write!(f, "core_timeout={on}"),
            Setting::Policy(policy) => write!(f, "policy={policy}"),
            Setting::RemoveOnCancel(on) => write!(f, "remove_on_cancel={on}"),
            Setting::PeriodicAfterShutdown(on) => write!(f, "periodic_after_shutdown={on}"),
            Setting::DelayedAfterShutdown(on) => write!(f, "delayed_after_shutdown={on}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Pool(spec) => write!(f, "pool {spec}"),
            Step::Execute(task) => write!(f, "execute {task}"),
            Step::Submit(task) => write!(f, "submit {task}"),
            Step::Schedule { task, delay } => timed(f, "schedule", task, &[("delay", *delay)]),
            Step::FixedRate {
                task,
                initial,
                period,
            } => timed(
                f,
                "fixed_rate",
                task,
                &[("initial", *initial), ("period", *period)],
            ),
            Step::FixedDelay {
                task,
                initial,
                delay,
            } => timed(
                f,
                "fixed_delay",
                task,
                &[("initial", *initial), ("delay", *delay)],
            ),
            Step::Finish(id) => write!(f, "finish {id}"),
            Step::Fail(id) => write!(f, "fail {id}"),
            Step::Cancel {
                id,
                interrupt: false,
            } => write!(f, "cancel {id}"),
            Step::Cancel {
                id,
                interrupt: true,
            } => write!(f, "cancel {id} interrupt"),
            Step::Get { id, timeout } => write!(f, "get {id} timeout={}", timeout.as_millis()),
            Step::Future(id) => write!(f, "future {id}"),
            Step::Set(setting) => write!(f, "set {setting}"),
            Step::Prestart => f.write_str("prestart"),
            Step::PrestartAll => f.write_str("prestart all"),
            Step::Remove(id) => write!(f, "remove {id}"),
            Step::Purge => f.write_str("purge"),
            Step::Shutdown => f.write_str("shutdown"),
            Step::ShutdownNow => f.write_str("shutdown_now"),
            Step::Await { timeout } => write!(f, "await timeout={}", timeout.as_millis()),
        }
    }
}

fn timed(
    f: &mut fmt::Formatter<'_>,
    verb: &str,
    task: &TaskSpec,
    times: &[(&str, Duration)],
) -> fmt::Result {
    write!(f, "{verb} {}", task.id)?;
    for (name, time) in times {
        write!(f, " {name}={}", time.as_millis())?;
    }
    task.tail(f)
}
