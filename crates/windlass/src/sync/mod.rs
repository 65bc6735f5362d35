//! The only module that uses threads, locks, atomics, parking and time directly.
//!
//! Nothing else in the library names `std::sync`'s locks and atomics, `std::thread` or
//! `Instant::now`, except for counters that order nothing: those of task ids, of
//! pool names, and of how often tasks are timed. `backend` is one of three files with the same items: the standard
//! library, [loom](https://docs.rs/loom) (`--cfg loom`: every interleaving and every ordering the
//! memory model allows) or [shuttle](https://docs.rs/shuttle) (`--cfg shuttle`: many random
//! schedules of larger systems). A model is therefore an ordinary test whose body is passed to
//! `model`, and it runs the code that ships, not a copy of it.
//!
//! On top of the backend: [`Parker`] (one thread waits, anyone wakes it), [`clock`] (time as the
//! current thread sees it), [`OnceBox`], spinning and backoff, and a prefetch.

mod adaptive_spin;
mod arc_dyn;
#[cfg_attr(all(not(loom), not(shuttle)), path = "std.rs")]
#[cfg_attr(loom, path = "loom.rs")]
#[cfg_attr(all(shuttle, not(loom)), path = "shuttle.rs")]
mod backend;
mod backoff;
pub(crate) mod clock;
mod cpu_time;
mod deadline;
mod memory;
mod numbered;
mod once_box;
mod parallelism;
mod parker;
mod prefetch;
mod spin;
pub(crate) mod timestamp;
mod unique_id;

pub(crate) use adaptive_spin::AdaptiveSpin;
pub(crate) use arc_dyn::{arc_dyn, downcast};
#[cfg(test)]
pub(crate) use backend::model;
pub(crate) use backend::{
    Condvar, Mutex, MutexGuard, UnsafeCell, atomic, const_thread_local, global, nap,
    reduce_timer_slack, thread, thread_local, yield_now, yield_until,
};
pub(crate) use backoff::{Backoff, lock_with_backoff};
pub(crate) use cpu_time::thread_cpu_time;
pub(crate) use deadline::{Deadline, park};
pub(crate) use memory::physical_memory;
pub(crate) use numbered::Numbered;
pub(crate) use once_box::OnceBox;
pub(crate) use parallelism::available_parallelism;
pub(crate) use parker::{ParkResult, Parker};
pub(crate) use prefetch::prefetch_for_write;
pub(crate) use spin::{SpinLength, Spun, spin_until};
/// The thread-locals of users, which no model replaces.
pub(crate) use std::thread::LocalKey;
pub(crate) use unique_id::unique_id;
