//! Watching and steering executors while they run.
//!
//! An executor is [registered](register) in one line. A [`Monitor`] then takes a sample of it each second:
//! it keeps the past, tells rates, peaks and quantiles of the last seconds, remembers the slowest tasks and
//! the failed ones, raises [alerts](Alert), and changes [settings](Change) when asked to. Consoles and
//! exporters read the monitor and nothing else.
//!
//! ```
//! use windlass::monitor::{self, Exposition, Monitor, Registry};
//! use windlass::prelude::*;
//!
//! let pool = ThreadPoolExecutor::builder().name("api").core_pool_size(4).build().unwrap();
//! monitor::register(&pool);
//! let monitor = Monitor::start(Registry::global()).unwrap();
//! println!("{}", monitor.prometheus(Exposition::Windlass));
//! ```
//!
//! # What it costs
//!
//! A task that is accepted, runs and returns does nothing for the monitor that it would not do without: all
//! counters that were added are of what happens beside that. A run that is timed anyway is compared with one
//! more word. Of tasks that are so short that not all are timed, a sample that finds one running for more
//! than ten milliseconds has the next few timed. A sample takes some microseconds for each executor, on the
//! thread of the monitor, and so does each view of it; there is no timer for each task. The past of an
//! executor takes at most 375 kB.
//!
//! # Thresholds and times
//!
//! Runs and waits that take longer than a [threshold](Thresholds) are observed, not ended; for that there are
//! [limits](crate::Submission::run_limit). They are counted when they end, from the histograms of the pool:
//! to within a bucket of those, so that up to a fifth less can count, and of very short tasks as an estimate.
//! The alert on runs counts those that go on too, exactly. Of a queue whose next task was not
//! timed, [`QueueFigures::oldest`] is a lower bound.
//!
//! # Executors of users
//!
//! Whoever implements [`Monitored`] takes part. Everything but the snapshot has a default.
//!
//! # OpenTelemetry
//!
//! With the feature `tracing`, `TracedTasks` opens a span for each run. The crate `tracing-opentelemetry`
//! turns the spans of a program into those of OpenTelemetry; this library needs to know nothing of it. The
//! chapter on observability of the guide has a program that does so.
//!
//! # Implementation
//!
//! | file | role |
//! |---|---|
//! | `service`, `builder` | the public type, [`Monitor`], and its configuration |
//! | `sampler`, `sampling` | the thread that takes a sample once a second, and the sample |
//! | `shared` | the state of a monitor |
//! | `steering` | changes and commands: checked, carried out, recorded, undone |
//! | `track` | what is known of one executor |
//! | `history`, `window`, `recent`, `quantiles` | its past, counters of the last minutes, slow and failed tasks |
//! | `rules`, `thresholds`, `alert` | when alerts are raised and cleared |
//! | `reported` | alerts on what is outside of this process |
//! | `audit` | the last changes |
//! | `sinks` | telling others, each on a thread of its own |
//! | `view` | what a console shows |
//! | `exposition`, `metric_table` | the text for Prometheus; all metrics |
//! | `metrics_facade`, `traced` | the features `metrics` and `tracing` |
//! | `registry`, `policies` | executors and rejection policies by name |
//! | `source` | what an executor offers: [`Monitored`] |
//! | `thread_pool`, `fork_join` | the pools of this library |
//! | `snapshot`, `settings` | the figures and the settings of an executor |
//! | `change`, `change_error`, `limits` | a change of settings, why it is refused, its bounds |

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
#[cfg(feature = "metrics")]
mod metrics_facade;
mod policies;
mod quantiles;
mod recent;
mod registry;
mod reported;
mod rules;
mod sampler;
mod sampling;
mod service;
mod settings;
mod shared;
mod sinks;
mod snapshot;
mod source;
mod steering;
mod thread_pool;
mod thresholds;
#[cfg(feature = "tracing")]
mod traced;
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
pub use reported::Condition;
pub use service::Monitor;
pub use settings::{Field, FieldChange, PoolSettings, Value};
pub use sinks::Event;
pub use snapshot::{
    DropCounts, ForkJoinFigures, Kind, QueueFigures, ScheduledFigures, Snapshot, TaskFigures,
    ThreadFigures, WorkerThread,
};
pub use source::{Monitorable, Monitored, Source};
pub use thresholds::Thresholds;
#[cfg(feature = "tracing")]
pub use traced::{TracedPolicy, TracedTasks, TracedThreads, trace_submissions};
pub use view::{
    History, HistorySpan, Outcomes, PendingRevert, PoolView, Rates, Recent, RecentTask,
    Reconfigurations,
};
