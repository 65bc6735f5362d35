//! Watching and steering executors while they run.

mod change;
mod change_error;
mod fork_join;
mod limits;
mod policies;
mod registry;
mod settings;
mod snapshot;
mod source;
mod thread_pool;

pub use crate::times::{Ending, TaskRecord};
pub use change::{Change, ChangeOptions, Changed};
pub use change_error::ChangeError;
pub use limits::TuneLimits;
pub use registry::{RegisteredPool, Registry, register};
pub use settings::{Field, FieldChange, PoolSettings, Value};
pub use snapshot::{
    DropCounts, ForkJoinFigures, Kind, QueueFigures, ScheduledFigures, Snapshot, TaskFigures,
    ThreadFigures, WorkerThread,
};
pub use source::{Monitorable, Monitored, Source};
