//! Fork and join: work stealing for tasks that split themselves.
//!
//! [`ForkJoinPool`] is also a full [`ExecutorService`](crate::ExecutorService).
//!
//! # Waiting while joining
//!
//! A worker that joins runs what it waits for, if nobody has started it; or one side of a join inside
//! that; else another worker takes its place while it sleeps. It never runs unrelated work, and what
//! was only started inside is unrelated: nobody waits for it there. So a lock that is held across a
//! join cannot meet a task that wants the same lock on the same thread, as can happen with
//! [rayon](https://docs.rs/rayon), whose workers run whatever they find while they wait.
//!
//! # Panics
//!
//! Both sides of a [`join`](fn@join) and all that a [`scope`](ForkJoinPool::scope) has spawned run to their
//! ends; then the first panic goes on.

mod blocker;
mod builder;
mod common;
pub mod completer;
mod deque;
mod executor;
mod handle;
mod job;
mod join;
mod latch;
mod local;
mod roster;
mod scope;
mod shared;
mod shutdown;
mod spawn;
mod stats;
mod task;
mod worker;

pub use blocker::{ManagedBlocker, blocking, managed_block};
pub use builder::{Builder, ParallelismError};
pub use executor::ForkJoinPool;
pub use handle::ForkHandle;
pub use scope::Scope;
pub use stats::ForkJoinStats;
pub use task::{Cx, RecursiveTask};

/// Runs both closures, perhaps side by side, and gives both results.
///
/// On a worker of a pool in that pool; elsewhere in the [common pool](ForkJoinPool::common).
///
/// ```
/// use windlass::forkjoin::join;
///
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return u64::from(n);
///     }
///     let (a, b) = join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
///
/// assert_eq!(fib(20), 6765);
/// ```
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match join::join_here(a, b) {
        Ok(both) => both,
        Err((a, b)) => ForkJoinPool::common().join(a, b),
    }
}

/// The number of the worker that this is called on, which no other worker of its pool has or had;
/// `None` outside.
#[must_use]
#[doc(alias = "inForkJoinPool")]
#[doc(alias = "getPoolIndex")]
pub fn worker_index() -> Option<usize> {
    local::Local::with(|local| local.map(|local| local.info.index))
}

#[cfg(test)]
mod models;
