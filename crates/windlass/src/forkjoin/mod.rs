//! Fork and join: work stealing for tasks that split themselves.
//!
//! [`ForkJoinPool`] is also a full [`ExecutorService`](crate::ExecutorService).
//!
//! # Waiting while joining
//!
//! A worker that joins runs what it waits for, if that has not started, or else a side of a join inside
//! it; otherwise another worker replaces it while it sleeps. It never runs unrelated work, and what was
//! only started inside is unrelated, since nothing there waits for it. So a lock that is held across a
//! join cannot meet a task that wants the same lock on the same thread, as can happen with
//! [rayon](https://docs.rs/rayon), whose workers run whatever they find while they wait.
//!
//! # Panics
//!
//! Both sides of a [`join`](fn@join) and all that a [`scope`](ForkJoinPool::scope) has spawned run to their
//! ends; then the first panic is resumed.

// # Map
//
// A file uses only files of rows above it, or to its left.
//
// | row | files |
// |---|---|
// | units of work | `latch`, `deque`: nothing of this module; `job`: a task, or a job on a stack |
// | data of a pool | `roster`: the workers that thieves see; `state`: what is under the lock; `sleep`: the sleep and wake protocol; `shared`: all of it together |
// | workers come and go | `quiescence`: is all work done, and is that the end; `spawn`: wake, start, replace, retire |
// | a thread takes part | `local`: the worker's own side, run, push, steal; `helper`: threads from outside that run work; `worker`: the run loop |
// | work comes in | `admission`: into a deque or the injector; `external`: threads from outside that wait for a job |
// | splitting and waiting | `join`; `scope`; `blocker`; `handle`: of a forked task; `task`: `RecursiveTask` |
// | from outside | `stats`; `drain`; `shutdown`; `parallelism`; `executor`: the public face; `builder`; `common`; `completer` |
//
// One knot is cut by a pointer: `worker` runs tasks, tasks push, a push may start a worker, and that runs
// `worker`. So `spawn` calls the run loop through `shared::RunWorker`, which `builder` fills in.

mod admission;
mod blocker;
mod builder;
mod common;
pub mod completer;
mod deque;
mod drain;
mod executor;
mod external;
mod handle;
mod helper;
mod job;
mod join;
mod latch;
mod local;
#[cfg(test)]
mod models;
mod parallelism;
mod quiescence;
mod roster;
mod scope;
mod shared;
mod shutdown;
mod sleep;
mod spawn;
mod state;
mod stats;
mod task;
mod worker;

pub use blocker::{ManagedBlocker, blocking, managed_block};
pub use builder::Builder;
pub use common::join;
pub use executor::ForkJoinPool;
pub use handle::ForkHandle;
pub use local::worker_index;
pub use parallelism::ParallelismError;
pub use scope::Scope;
pub use stats::ForkJoinStats;
pub use task::{Cx, RecursiveTask};
