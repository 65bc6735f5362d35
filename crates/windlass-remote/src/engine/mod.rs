//! What keeps the tasks: the [`Engine`] trait, and the engines.
//!
//! An engine is a small set of atomic transitions on batches. Everything else (threads, retries, decoding,
//! limits of size) is above it and the same for all engines. `docs/design/0027-remote.md` has the reasons.

mod api;
mod error;
mod figures;
mod measured;
mod memory;
mod model;
mod page;
#[cfg(feature = "postgres")]
mod postgres;
mod queue_model;
#[cfg(feature = "redis")]
mod redis;
mod shared;

pub use api::{ControlFeed, Engine, ReplyFeed, TaskFeed};
pub use error::EngineError;
pub use figures::{Distribution, EngineFigures, OperationFigures, QueueFigures};
pub use measured::MeasuredEngine;
pub use memory::MemoryEngine;
pub use model::{
    Beat, CancelMode, Cancelled, Control, Delivery, FetchRequest, Fetched, Lease, MAX_BATCH,
    NewTask, Outcome, Refusal, Renewed, Reply, Report, Reported, Submitted, TaskRecord, TaskState,
    Verdict,
};
pub use page::{MAX_PAGE, TaskPage};
#[cfg(feature = "postgres")]
pub use postgres::{InTransaction, PostgresEngine, PostgresEngineBuilder, PostgresReport};
pub use queue_model::{
    Backlog, DeadAction, Due, Fire, Overlap, QueuePatch, QueueStats, QueueStatus, ScheduleRecord,
    Tick, TypeLimit, WorkerRecord,
};
#[cfg(feature = "redis")]
pub use redis::{EnginePolicy, RedisEngine, RedisEngineBuilder, RedisReport};
#[cfg(feature = "postgres")]
pub use tokio_postgres;
