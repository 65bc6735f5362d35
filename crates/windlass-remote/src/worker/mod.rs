//! The worker's side: fetches tasks of a queue and runs them on a local pool.
//!
//! Four threads beside the pool. The *fetcher* asks for as many tasks as there is room for. The *reporter* sends what
//! became of them, in batches, and keeps what it cannot send. The *keeper* gives signs of life, renews leases, hears of
//! cancelled tasks, and does what is due in the queue: delayed tasks, schedules, tasks of workers that vanished. A fourth
//! one ends runs that take too long (`run_limits`). None of them ends before the worker is shut down, whatever the engine answers.

mod builder;
mod fetcher;
mod handle;
mod keeper;
mod registry;
mod reporter;
mod room;
mod run;
mod run_limits;
mod shared;

pub use builder::{RemoteWorkerBuilder, StartError};
pub use handle::RemoteWorker;
pub use shared::WorkerStats;

pub(crate) use registry::Registry;
