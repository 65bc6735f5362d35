//! Fork and join: work stealing for tasks that split themselves.
//!
//! [`ForkJoinPool`] is also a full [`ExecutorService`](crate::ExecutorService).
//!
//! # Waiting while joining
//!
//! A worker that joins a task runs the task itself if no thread has started it. Otherwise it runs
//! closures of joins that the task has entered, since the task waits for those. If there are none, it
//! sleeps, and another worker replaces it. It never runs unrelated work; tasks that the joined task has
//! only forked or spawned count as unrelated, since the joined task may end before they do. So a worker
//! that holds a lock across a join never runs another task that takes the same lock. That can happen
//! with [rayon](https://docs.rs/rayon), whose workers run any work while they wait.
//!
//! # Panics
//!
//! Both closures of a [`join`](fn@join) and all closures that a [`scope`](ForkJoinPool::scope) has
//! spawned run to their ends; then a panic is resumed. If both closures of a join panic, it is that of
//! the first. In a scope it is that of the body, or else the earliest of the spawned closures.

// # Map
//
// A file uses only files of rows above it, or to its left.
//
// | row | files |
// |---|---|
// | units of work | `latch`, `deque`, `timer_service`, `task_counts`, `limits`: nothing of this module; `job`: a task, or a job on a stack; `private_jobs`: those that their worker keeps to itself |
// | data of a pool | `roster`: the workers that thieves see; `injector`: work from outside; `state`: what is under the lock; `sleep`: the sleep and wake protocol; `shared`: all of it together |
// | workers come and go | `quiescence`: is all work done, and is that the end; `spawn`: wake, start, replace, retire |
// | a thread takes part | `local`: the worker's own side, run, push, steal; `assist`: waits for what is queued; `help_quiesce`: waits for the others; `helper`: threads from outside that run work; `worker`: the run loop |
// | work comes in | `context`: what travels from the thread that forks; `admission`: into a deque or the injector; `delayed`: tasks that are due; `external`: threads from outside that wait for a job |
// | splitting and waiting | `join`; `scope`; `blocker`; `handle`: of a forked task; `task`: `RecursiveTask` |
// | from outside | `stats`; `drain`; `shutdown`; `parallelism`; `executor`: the public face; `builder`; `common`; `completer` |
// | on top of `join` | `split`: a slice among workers; `sort`; `slice`: the loops; `several`: more than two closures |
//
// One cycle is broken by a function pointer: `worker` runs tasks, tasks push work, a push may start a
// worker, and that runs `worker`. So `spawn` calls the run loop through `shared::RunWorker`, which
// `builder` sets.

mod admission;
mod assist;
mod blocker;
mod builder;
mod common;
pub mod completer;
mod context;
mod delayed;
mod deque;
mod drain;
mod executor;
mod external;
mod handle;
mod help_quiesce;
mod helper;
mod injector;
mod job;
mod join;
mod latch;
mod limits;
mod local;
#[cfg(test)]
mod models;
mod observed;
mod parallelism;
mod private_jobs;
mod quiescence;
mod roster;
mod scope;
mod several;
mod shared;
mod shutdown;
mod sleep;
pub mod slice;
mod sort;
mod spawn;
mod split;
mod state;
mod stats;
mod task;
mod task_counts;
mod timer_service;
mod worker;

pub use blocker::{ManagedBlocker, blocking, managed_block};
pub use builder::Builder;
pub use common::join;
pub use executor::ForkJoinPool;
pub use handle::ForkHandle;
pub use local::worker_index;
pub use parallelism::ParallelismError;
pub use scope::Scope;
pub use several::{join_all, join3, join4};
pub use stats::{ForkJoinStats, ForkJoinWorker};
pub use task::{Cx, RecursiveTask};

pub(crate) use delayed::DueTasks;
pub(crate) use observed::ObservedForkJoin;
pub(crate) use timer_service::PoolTimers;
