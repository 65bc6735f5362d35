//! The words between the library and an engine: tasks, deliveries, reports.

use crate::failure::Failure;
use crate::id::TaskId;
use crate::options::TaskOptions;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// No call to an engine has more elements than this, so that none holds up the others for long.
pub const MAX_BATCH: usize = 200;

/// A task on its way into the queue.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The id; a second task with it is the first one.
    pub id: TaskId,
    /// The wire name of the type.
    pub name: Arc<str>,
    /// The version of the payload.
    pub version: u16,
    /// The sealed payload.
    pub payload: Vec<u8>,
    /// The rules for the task.
    pub options: TaskOptions,
    /// How long it is not ready yet.
    pub delay: Duration,
    /// The client that hears of the outcome.
    pub reply_to: Option<Arc<str>>,
}

/// What became of a [`NewTask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is in the queue.
    Accepted,
    /// A task with this id was there already, in any state. Nothing was changed, and the client does
    /// not hear of its outcome unless it [looks it up](super::Engine::look_up).
    Duplicate,
    /// It was not taken.
    Refused(Refusal),
}

/// Why a queue refuses a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// As many tasks wait as the queue may hold.
    Full {
        /// How many the queue may hold.
        capacity: u64,
    },
    /// The queue was closed for everybody.
    Closed,
}

/// What a worker wants to fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest {
    /// How many tasks it has room for; 1 to [`MAX_BATCH`].
    pub count: usize,
    /// How long to wait for the first one.
    pub wait: Duration,
    /// How long the tasks are the worker's, unless it renews them.
    pub lease: Duration,
    /// Which priority to look at first.
    pub first: crate::Priority,
}

/// What a fetch returned.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The tasks, started: they are running now as far as the engine is concerned.
    pub deliveries: Vec<Delivery>,
    /// Whether the queue is paused. Then there are no deliveries, and the call did not wait.
    pub paused: bool,
}

/// The right to report the outcome of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub id: TaskId,
    /// Counts the deliveries of the task; an older number is an older delivery.
    pub fence: u64,
    /// Where the engine finds the delivery; of its own making.
    pub entry: String,
}

/// A task handed to a worker.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The right to report its outcome.
    pub lease: Lease,
    /// The wire name of the type.
    pub name: String,
    /// The version of the payload.
    pub version: u16,
    /// The sealed payload.
    pub payload: Vec<u8>,
    /// The rules for the task.
    pub options: TaskOptions,
    /// How often it has failed.
    pub failures: u32,
    /// How many workers vanished under it.
    pub worker_deaths: u32,
    /// How long ago a worker first gave it back because its type was unknown; zero if none did.
    pub unknown_for: Duration,
}

/// What a worker says about a delivery.
#[derive(Clone, Debug)]
pub struct Report {
    /// The delivery.
    pub lease: Lease,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It succeeded, with this sealed result.
    Done(Vec<u8>),
    /// It failed for good.
    Failed(Failure),
    /// It failed and is a dead letter now.
    Dead(Failure),
    /// It failed and is ready again after this time.
    Retry(Failure, Duration),
    /// The worker gives it back: this was no attempt.
    PutBack {
        /// How long it is not ready yet.
        delay: Duration,
        /// Whether that is because its type is unknown to the worker.
        unknown: bool,
    },
}

/// What the engine made of a [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// It counts.
    Accepted,
    /// It came too late: the task was cancelled, has an outcome, or is another worker's. It was counted as
    /// stale and has no other effect.
    Stale,
}

/// The final word about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sealed result.
    Done(Vec<u8>),
    /// It failed, or is a dead letter.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

/// Whether a task that runs is cancelled too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelMode {
    /// Only tasks that no worker has started.
    IfNotStarted,
    /// Running ones too: the task is cancelled at once, and its worker told.
    Now,
}

/// What became of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It had not started, and never will.
    BeforeStart,
    /// It was running. Its worker is told, and its result no longer counts.
    WhileRunning,
    /// It runs, and only tasks that had not started were meant.
    Running,
    /// It had an outcome already, or is not known (any more).
    Finished,
}

/// An outcome on its way to a client.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The task.
    pub id: TaskId,
    /// The outcome; `None` if it is too large for the way and has to be looked up.
    pub outcome: Option<Outcome>,
}

/// A message to the workers of a queue. It may get lost; what it says is also found in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// This task was cancelled while it ran.
    Cancel(TaskId),
    /// Settings or timers of the queue have changed: look again.
    Changed,
}

/// A sign of life of a worker, with the deliveries that it still has.
#[derive(Clone, Copy, Debug)]
pub struct Beat<'a> {
    /// Who.
    pub worker: &'a super::WorkerRecord,
    /// The deliveries to renew; at most [`MAX_BATCH`].
    pub leases: &'a [Lease],
    /// For how long.
    pub lease: Duration,
}

/// What became of a delivery that a worker wanted to renew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// It is still the worker's.
    Held,
    /// The task was cancelled, has an outcome or another worker: stop it.
    Lost,
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits for a time.
    Scheduled,
    /// It waits for a worker.
    Ready,
    /// A worker runs it.
    Running,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It is a dead letter.
    Dead,
}

impl TaskState {
    const CODES: [(Self, char); 7] = [
        (Self::Scheduled, 's'),
        (Self::Ready, 'r'),
        (Self::Running, 'x'),
        (Self::Done, 'd'),
        (Self::Failed, 'f'),
        (Self::Cancelled, 'c'),
        (Self::Dead, 'b'),
    ];

    /// Returns the letter that stands for this state in a record.
    pub fn code(self) -> char {
        Self::CODES
            .iter()
            .find(|(state, _)| *state == self)
            .map_or('s', |(_, code)| *code)
    }

    /// Returns the state for a letter.
    pub fn from_code(code: char) -> Option<Self> {
        Self::CODES
            .iter()
            .find(|(_, c)| *c == code)
            .map(|(state, _)| *state)
    }

    /// Returns whether the task has an outcome.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Done | Self::Failed | Self::Cancelled | Self::Dead
        )
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Dead => "dead",
        })
    }
}

/// The record of a task, as far as the engine still has it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskRecord {
    /// The id.
    pub id: TaskId,
    /// The wire name of the type.
    pub name: String,
    /// The version of the payload.
    pub version: u16,
    /// Where it is in its life.
    pub state: TaskState,
    /// How often it has failed.
    pub failures: u32,
    /// How many workers vanished under it.
    pub worker_deaths: u32,
    /// How often it was handed to a worker.
    pub deliveries: u64,
    /// The worker that runs it, while it runs.
    pub worker: Option<String>,
    /// The last failure, also that of an attempt which was not the last.
    pub failure: Option<Failure>,
    /// The outcome; `None` until there is one.
    pub outcome: Option<Outcome>,
    /// The sealed payload, until there is an outcome other than a dead letter.
    pub payload: Option<Vec<u8>>,
}

impl TaskRecord {
    /// Creates the record of a task that nothing has happened to yet.
    pub fn new(id: TaskId, name: String, version: u16, state: TaskState) -> Self {
        Self {
            id,
            name,
            version,
            state,
            failures: 0,
            worker_deaths: 0,
            deliveries: 0,
            worker: None,
            failure: None,
            outcome: None,
            payload: None,
        }
    }
}
