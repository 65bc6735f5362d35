//! Watching and steering executors while they run.

mod alert;
mod audit;
mod builder;
mod change;
mod change_error;
mod exposition;
mod fork_join;
mod history;
mod limits;
mod metric_table;
mod policies;
mod quantiles;
mod recent;
mod registry;
mod rules;
mod sampler;
mod service;
mod settings;
mod shared;
mod sinks;
mod snapshot;
mod source;
mod steering;
mod thread_pool;
mod thresholds;
mod track;
mod view;
mod window;

pub use crate::times::{Ending, TaskRecord};
pub use alert::{Alert, AlertKind};
pub use audit::{Action, AuditEntry, ChangeSource};
pub use builder::MonitorBuilder;
pub use change::{Change, ChangeOptions, Changed};
pub use change_error::ChangeError;
pub use exposition::{Exposition, expose};
pub use limits::TuneLimits;
pub use quantiles::Quantiles;
pub use registry::{RegisteredPool, Registry, register};
pub use service::Monitor;
pub use settings::{Field, FieldChange, PoolSettings, Value};
pub use sinks::Event;
pub use snapshot::{
    DropCounts, ForkJoinFigures, Kind, QueueFigures, ScheduledFigures, Snapshot, TaskFigures,
    ThreadFigures, WorkerThread,
};
pub use source::{Monitorable, Monitored, Source};
pub use thresholds::Thresholds;
pub use view::{
    History, HistorySpan, PendingRevert, PoolView, Rates, Recent, RecentTask, Reconfigurations,
};
