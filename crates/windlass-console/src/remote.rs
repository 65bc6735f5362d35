//! What a console shows of tasks on other machines.
//!
//! The console knows no engine. Whoever has one implements [`RemoteSource`] and attaches it with
//! [`Builder::remote`](crate::Builder::remote); the routes under `/api/v1/remote` then ask it. For engines
//! of `windlass-remote` that is done: `EngineSource`, with the feature `remote`.

use std::error::Error;
use std::fmt;

use serde::Serialize;

#[cfg(feature = "remote")]
#[cfg_attr(docsrs, doc(cfg(feature = "remote")))]
pub use crate::engine_source::EngineSource;
pub use crate::remote_figures::{Distribution, Figures, Operation, Traffic};

/// A distributed engine, as the console sees it.
///
/// The methods may block, as on a network: the console calls them on a thread that it keeps for that,
/// gives up waiting after two seconds, and never calls more than two of them at a time. A panic in one
/// of them is an error of that request.
///
/// ```
/// use windlass_console::remote::{
///     DeadPage, Engine, Overview, RemoteError, RemoteSource, RemoteTask,
/// };
///
/// /// An engine without queues.
/// struct Empty;
///
/// impl RemoteSource for Empty {
///     fn overview(&self) -> Result<Overview, RemoteError> {
///         let engine = Engine { kind: "memory".to_owned(), up: true, latency_seconds: None };
///         Ok(Overview { engine, queues: Vec::new(), workers: Vec::new() })
///     }
///     fn task(&self, _queue: Option<&str>, _id: &str) -> Result<RemoteTask, RemoteError> {
///         Err(RemoteError::NotFound)
///     }
///     fn dead(&self, _queue: Option<&str>, _cursor: Option<&str>) -> Result<DeadPage, RemoteError> {
///         Ok(DeadPage { tasks: Vec::new(), next: None })
///     }
///     fn cancel(&self, _id: &str) -> Result<(), RemoteError> {
///         Err(RemoteError::NotFound)
///     }
///     fn retry_dead(&self, _id: &str) -> Result<(), RemoteError> {
///         Err(RemoteError::NotFound)
///     }
///     fn delete_dead(&self, _id: &str) -> Result<(), RemoteError> {
///         Err(RemoteError::NotFound)
///     }
///     fn pause(&self, _queue: &str) -> Result<(), RemoteError> {
///         Err(RemoteError::NotFound)
///     }
///     fn resume(&self, _queue: &str) -> Result<(), RemoteError> {
///         Err(RemoteError::NotFound)
///     }
/// }
///
/// let console = windlass_console::Console::builder()
///     .bind("127.0.0.1:0")
///     .announce(false)
///     .remote(Empty)
///     .start()
///     .unwrap();
/// console.shutdown();
/// ```
pub trait RemoteSource: Send + Sync + 'static {
    /// Returns the engine, its queues and its workers.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](RemoteError::Unavailable) if that is not known. An engine that is known to be
    /// down is no error: its overview has `up` false.
    fn overview(&self) -> Result<Overview, RemoteError>;

    /// Returns one task. Without a queue, it is looked for in all of them.
    ///
    /// # Errors
    ///
    /// [`NotFound`](RemoteError::NotFound) if there is none, or the engine did not answer.
    fn task(&self, queue: Option<&str>, id: &str) -> Result<RemoteTask, RemoteError>;

    /// Returns one page of the dead letters, newest first, those of all queues without one; the first page
    /// without a cursor.
    ///
    /// # Errors
    ///
    /// [`NotFound`](RemoteError::NotFound) if there is no such queue,
    /// [`Refused`](RemoteError::Refused) if the cursor is none, or the engine did not answer.
    fn dead(&self, queue: Option<&str>, cursor: Option<&str>) -> Result<DeadPage, RemoteError>;

    /// Cancels a task.
    ///
    /// # Errors
    ///
    /// [`NotFound`](RemoteError::NotFound) if there is none, [`Refused`](RemoteError::Refused) if it has
    /// ended, or the engine did not answer.
    fn cancel(&self, id: &str) -> Result<(), RemoteError>;

    /// Makes a dead letter ready again.
    ///
    /// # Errors
    ///
    /// As of [`cancel`](Self::cancel).
    fn retry_dead(&self, id: &str) -> Result<(), RemoteError>;

    /// Deletes a dead letter.
    ///
    /// # Errors
    ///
    /// As of [`cancel`](Self::cancel).
    fn delete_dead(&self, id: &str) -> Result<(), RemoteError>;

    /// Stops workers from taking tasks of a queue.
    ///
    /// # Errors
    ///
    /// As of [`cancel`](Self::cancel).
    fn pause(&self, queue: &str) -> Result<(), RemoteError>;

    /// Lets workers take tasks of a queue again.
    ///
    /// # Errors
    ///
    /// As of [`cancel`](Self::cancel).
    fn resume(&self, queue: &str) -> Result<(), RemoteError>;

    /// Returns what this process has measured of its calls to the engine, for the metrics; `None` if nothing is measured.
    ///
    /// Unlike the others it must return at once, also while the engine is down.
    fn figures(&self) -> Option<Figures> {
        None
    }
}

/// Why a remote source does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteError {
    /// There is no such task or queue.
    NotFound,
    /// The task or queue is in a state that does not allow it; the text says which.
    Refused(String),
    /// The engine did not answer; the text says why, and is shown only if errors are.
    Unavailable(String),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such task or queue"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Unavailable(why) => write!(f, "the engine did not answer: {why}"),
        }
    }
}

impl Error for RemoteError {}

/// The engine, its queues and its workers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// The engine itself.
    pub engine: Engine,
    /// All queues, by name.
    pub queues: Vec<Queue>,
    /// All workers that are alive.
    pub workers: Vec<Worker>,
}

/// The state of an engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Engine {
    /// What it is: `redis`, `postgres` or `memory`.
    pub kind: String,
    /// Whether it answers.
    pub up: bool,
    /// How long its last answer took.
    pub latency_seconds: Option<f64>,
}

/// The state of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// How many tasks are ready, by priority, the highest first; one number for all of them if the engine
    /// does not count them apart.
    pub ready: Vec<u64>,
    /// How many tasks wait for their time.
    pub scheduled: u64,
    /// How many tasks run.
    pub running: u64,
    /// How many tasks are dead letters.
    pub dead: u64,
    /// What waits at each priority, the highest first; empty if the engine does not tell them apart. An engine may count a task
    /// that was cancelled until a worker passes over it, so the sum is not always that of `ready`.
    pub levels: Vec<Level>,
    /// How long the oldest ready task has waited.
    pub oldest_ready_seconds: Option<f64>,
    /// Whether workers take no tasks of it.
    pub paused: bool,
    /// How many workers serve it.
    pub workers: u64,
    /// How many tasks they can run at a time.
    pub slots: u64,
    /// How many tasks they could take now.
    pub slots_free: u64,
    /// What has happened to its tasks so far, if the engine counts it. For the metrics; the page has none of
    /// it.
    #[serde(skip)]
    pub totals: Option<QueueTotals>,
}

/// What waits at one priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Level {
    /// How many tasks are ready.
    pub ready: u64,
    /// How long the oldest of them has waited.
    pub oldest_ready_seconds: Option<f64>,
}

/// What has happened to the tasks of a queue so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueTotals {
    /// Tasks that were submitted and accepted.
    pub submitted: u64,
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
    /// Results that came too late and were dropped.
    pub stale: u64,
}

/// The state of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Worker {
    /// Its identity.
    pub id: String,
    /// The queue that it serves.
    pub queue: String,
    /// The machine that it runs on.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// How many tasks it can run at a time.
    pub slots: u64,
    /// How many tasks it could take now.
    pub free: u64,
    /// When it was last heard of, in Unix milliseconds.
    pub seen_ms: u64,
}

/// One task on the engine. Its payload is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteTask {
    /// Its identity.
    pub id: String,
    /// The queue that it was submitted to.
    pub queue: String,
    /// The name of its type.
    pub name: String,
    /// `scheduled`, `ready`, `running`, `done`, `failed`, `cancelled` or `dead`.
    pub state: String,
    /// How often it was started.
    pub attempts: u32,
    /// The worker that runs it.
    pub worker: Option<String>,
    /// When it was submitted, in Unix milliseconds.
    pub submitted_ms: Option<u64>,
    /// When it was last started.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// Why it failed or died. The console shows it only if errors are shown.
    pub error: Option<String>,
}

/// One page of dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeadPage {
    /// The tasks of this page.
    pub tasks: Vec<RemoteTask>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}
