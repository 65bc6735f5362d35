//! The `pool` step: how the pool under test is built.

use std::fmt;
use std::time::Duration;

/// Which pool to build, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolSpec {
    /// A thread pool.
    ThreadPool(ThreadPoolSpec),
    /// A scheduled thread pool.
    Scheduled(ScheduledSpec),
}

/// How a thread pool is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPoolSpec {
    /// The core pool size.
    pub core: usize,
    /// The maximum pool size; fewer than `core`, or none, is an invalid argument.
    pub max: usize,
    /// How long a surplus worker waits for a task.
    pub keep_alive: KeepAlive,
    /// The work queue.
    pub queue: QueueKind,
    /// What happens to a task that finds no room.
    pub policy: Policy,
    /// Whether core workers time out as well, where the scenario says so.
    pub core_timeout: Option<bool>,
    /// The thread factory makes this many threads and then fails.
    pub factory_limit: Option<usize>,
}

/// How a scheduled pool is built; an option left out keeps its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledSpec {
    /// The core pool size.
    pub core: usize,
    /// What happens to a task that comes after shutdown.
    pub policy: Policy,
    /// Whether a cancelled task leaves the queue at once.
    pub remove_on_cancel: Option<bool>,
    /// Whether periodic tasks go on after shutdown.
    pub periodic_after_shutdown: Option<bool>,
    /// Whether delayed tasks still run after shutdown.
    pub delayed_after_shutdown: Option<bool>,
}

/// How long an idle worker beyond the core waits for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// Longer than any scenario.
    Never,
    /// This long.
    After(Duration),
}

/// The work queues that a scenario can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// First in, first out, without bound.
    Linked,
    /// First in, first out, linked, with room for so many.
    LinkedBounded(usize),
    /// First in, first out, in an array with room for so many.
    Array(usize),
    /// No room at all: a task is handed to a waiting worker or not taken.
    Synchronous,
    /// The smallest priority first, without bound.
    Priority,
}

/// The rejection policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Refuse the task.
    Abort,
    /// Run it on the thread that brought it.
    CallerRuns,
    /// Drop it.
    Discard,
    /// Drop the head of the queue and try again.
    DiscardOldest,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 4] = [
        Policy::Abort,
        Policy::CallerRuns,
        Policy::Discard,
        Policy::DiscardOldest,
    ];

    pub(super) fn from_word(word: &str) -> Option<Policy> {
        Policy::ALL.into_iter().find(|policy| policy.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Policy::Abort => "abort",
            Policy::CallerRuns => "caller-runs",
            Policy::Discard => "discard",
            Policy::DiscardOldest => "discard-oldest",
        }
    }
}

impl QueueKind {
    pub(super) fn from_word(word: &str) -> Option<QueueKind> {
        let capacity = |text: &str| text.parse().ok();
        match word.split_once(':') {
            None => match word {
                "linked" => Some(QueueKind::Linked),
                "sync" => Some(QueueKind::Synchronous),
                "priority" => Some(QueueKind::Priority),
                _ => None,
            },
            Some(("linked", text)) => capacity(text).map(QueueKind::LinkedBounded),
            Some(("array", text)) => capacity(text).map(QueueKind::Array),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueKind::Linked => f.write_str("linked"),
            QueueKind::LinkedBounded(capacity) => write!(f, "linked:{capacity}"),
            QueueKind::Array(capacity) => write!(f, "array:{capacity}"),
            QueueKind::Synchronous => f.write_str("sync"),
            QueueKind::Priority => f.write_str("priority"),
        }
    }
}

impl fmt::Display for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepAlive::Never => f.write_str("never"),
            KeepAlive::After(time) => write!(f, "{}", time.as_millis()),
        }
    }
}

impl fmt::Display for PoolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolSpec::ThreadPool(spec) => spec.fmt(f),
            PoolSpec::Scheduled(spec) => spec.fmt(f),
        }
    }
}

impl fmt::Display for ThreadPoolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadPoolSpec {
            core,
            max,
            keep_alive,
            queue,
            policy,
            core_timeout,
            factory_limit,
        } = self;
        write!(
            f,
            "core={core} max={max} keep_alive={keep_alive} queue={queue} policy={policy}"
        )?;
        option(f, "core_timeout", *core_timeout)?;
        option(f, "factory_limit", *factory_limit)
    }
}

impl fmt::Display for ScheduledSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kind=scheduled core={} policy={}",
            self.core, self.policy
        )?;
        option(f, "remove_on_cancel", self.remove_on_cancel)?;
        option(f, "periodic_after_shutdown", self.periodic_after_shutdown)?;
        option(f, "delayed_after_shutdown", self.delayed_after_shutdown)
    }
}

fn option<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    value: Option<T>,
) -> fmt::Result {
    match value {
        Some(value) => write!(f, " {name}={value}"),
        None => Ok(()),
    }
}
