//! The words between the library and an engine: queues, workers, schedules.

use super::NewTask;
use crate::id::TaskId;
use std::time::Duration;

/// What is known of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerRecord {
    /// Its id: its name and a random part, so that two workers of one name are two.
    pub id: String,
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// How many tasks it may run at a time.
    pub slots: u32,
    /// How many it ran when it last gave a sign of life.
    pub busy: u32,
    /// The types that it knows: `name@version`.
    pub tasks: Vec<String>,
    /// How long ago its last sign of life was. Not sent, but computed by the engine.
    pub silent_for: Duration,
}

/// How many tasks a queue has had and has, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Tasks that wait for a time.
    pub scheduled: u64,
    /// Tasks that wait for a worker or for a limit of their type.
    pub ready: u64,
    /// Tasks that run.
    pub running: u64,
    /// Tasks taken so far.
    pub submitted: u64,
    /// Tasks refused so far: the queue was full or closed.
    pub refused: u64,
    /// Tasks that succeeded.
    pub done: u64,
    /// Tasks that failed for good.
    pub failed: u64,
    /// Tasks that were cancelled.
    pub cancelled: u64,
    /// Tasks that became dead letters.
    pub dead: u64,
    /// Attempts that failed and were followed by another.
    pub retried: u64,
    /// Deliveries to a further worker, since the one before vanished.
    pub redelivered: u64,
    /// Reports that came too late and were dropped.
    pub stale: u64,
    /// Dead letters that are kept.
    pub dead_letters: u64,
}

/// What waits for a worker at one priority, at one moment.
///
/// It is read from the list of that priority. So a task that was cancelled counts until a worker passes over it, some that have ended
/// count for a while on Redis, and one that waits for a limit of its type does not; [`QueueStats::ready`] is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// How many tasks wait.
    pub ready: u64,
    /// How long the first of them has been ready; `None` if there is none, or only cancelled ones are near the front.
    pub oldest: Option<Duration>,
}

/// The settings of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// Whether workers fetch nothing.
    pub paused: bool,
    /// Whether clients submit nothing.
    pub closed: bool,
    /// How many tasks may wait; `None` without a bound.
    pub capacity: Option<u64>,
}

/// A change to the settings of a queue; `None` leaves a setting alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePatch {
    /// Whether workers fetch nothing.
    pub paused: Option<bool>,
    /// Whether clients submit nothing.
    pub closed: Option<bool>,
    /// How many tasks may wait; `Some(None)` lifts the bound.
    pub capacity: Option<Option<u64>>,
}

/// The limits of a task type, for all workers of a queue together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeLimit {
    /// How many may run at a time; `None` without a limit.
    pub concurrency: Option<u32>,
    /// One start in this time, on average; `None` without a limit.
    pub interval: Option<Duration>,
    /// How many may start at once after a quiet time; at least 1.
    pub burst: u32,
}

/// What to do with dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadAction {
    /// Makes them ready again, as if they had never run.
    Retry,
    /// Forgets them.
    Drop,
}

/// What a schedule does when it is due and its last task has no outcome yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// Leaves this time out.
    #[default]
    Skip,
    /// Submits another task all the same.
    Allow,
    /// Submits another task as soon as the last one has its outcome. At most 1,000 times wait; then the oldest gives way.
    Queue,
}

/// A named schedule as an engine keeps it.
#[derive(Clone, Debug)]
pub struct ScheduleRecord {
    /// The name; a second schedule with it replaces the first.
    pub name: String,
    /// The rule for its times; engines keep it without reading it.
    pub rule: String,
    /// What is submitted each time. Its id and delay are not used.
    pub task: NewTask,
    /// What to do while the last task has no outcome.
    pub overlap: Overlap,
    /// If set, the next time is this long after the outcome of the last task.
    pub after_finish: Option<Duration>,
    /// The next time, in milliseconds of the engine's clock since 1970; `None` while it waits for an outcome.
    pub next: Option<u64>,
}

/// A schedule whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its name.
    pub name: String,
    /// Its rule.
    pub rule: String,
    /// The time that has come.
    pub at: u64,
}

/// Submits the tasks of a schedule that is due, and sets its next time: both, or nothing if somebody else was faster.
#[derive(Clone, Debug)]
pub struct Fire {
    /// The schedule.
    pub name: String,
    /// The time that has come; if the schedule has another one by now, nothing happens.
    pub at: u64,
    /// The next time; `None` to wait for the outcome, or for schedules that end.
    pub next: Option<u64>,
    /// The ids to submit; none if the time is left out.
    pub ids: Vec<TaskId>,
}

/// What a tick found.
#[derive(Clone, Debug, Default)]
pub struct Tick {
    /// The time of the engine, in milliseconds since 1970.
    pub now: u64,
    /// How long until the next delayed task or schedule is due; `None` if there is none.
    pub next_due: Option<Duration>,
    /// Schedules that are due.
    pub due: Vec<Due>,
}
