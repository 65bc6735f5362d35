//! The one door to threads, locks, atomics, parking and time.
//!
//! Nothing else in the library names `std::sync`'s locks and atomics, `std::thread` or
//! `Instant::now`. Behind the door stands one of three backends with the same names: the standard
//! library, [loom](https://docs.rs/loom) (`--cfg loom`: every interleaving and every ordering the
//! memory model allows) or [shuttle](https://docs.rs/shuttle) (`--cfg shuttle`: many random
//! schedules of larger systems). A model is therefore an ordinary test whose body is handed to
//! `model`, and it runs the code that ships, not a copy of it.

#[cfg_attr(all(not(loom), not(shuttle)), path = "std.rs")]
#[cfg_attr(loom, path = "loom.rs")]
#[cfg_attr(all(shuttle, not(loom)), path = "shuttle.rs")]
mod backend;

/// A seeded bug: `mutant!("name")` is true, and `mutant!("name", bad, good)` is `bad`, in a run
/// that carries the bug of that name. Only a build with `--cfg windlass_mutants` can, and no build
/// does that ships. `scripts/mutants.sh` runs the models with each, to show that they notice.
macro_rules! mutant {
    ($name:tt) => {
        cfg!(windlass_mutants) && $crate::sync::carries($name)
    };
    ($name:tt, $bad:expr, $good:expr) => {
        if $crate::sync::mutant!($name) {
            $bad
        } else {
            $good
        }
    };
}

/// Whether the environment asks for the seeded bug of that name.
pub(crate) fn carries(mutant: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("WINDLASS_MUTANT").ok());
    chosen.as_deref() == Some(mutant)
}

mod adaptive_spin;
mod arc_dyn;
pub(crate) mod clock;
mod once_box;
mod parker;
mod unique_id;

#[cfg(test)]
pub(crate) use backend::model;
pub(crate) use backend::{
    Condvar, Mutex, MutexGuard, UnsafeCell, atomic, const_thread_local, reduce_timer_slack,
    spin_until, thread, thread_local, yield_now,
};
/// Returns how many threads the machine runs at a time, and at least one.
pub(crate) fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns how often a thread checks for what it waits for before it parks: never on a machine with
/// one core, where nobody can bring it meanwhile.
pub(crate) fn spin_limit() -> u32 {
    static LIMIT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| match available_parallelism() {
        1 => 0,
        _ => backend::SPIN_LIMIT,
    })
}

/// Locks a contended mutex after exponential backoff; without backoff on a machine with one core,
/// where nobody can release the lock meanwhile.
///
/// For locks that are held for some nanoseconds only. If two threads take such a lock again and
/// again, its cache line and those of the data move between the cores each time. A thread that backs
/// off lets the other take the lock dozens of times from its own cache. One that polls all the while,
/// as a mutex does before it blocks, moves the line with every poll.
#[cold]
pub(crate) fn lock_with_backoff<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let rounds = match spin_limit() {
        0 => 0,
        _ => backend::BACKOFF_ROUNDS,
    };
    let locked = (0..rounds).find_map(|round| {
        backend::backoff(round);
        mutex.try_lock()
    });
    locked.unwrap_or_else(|| mutex.lock())
}

pub(crate) use adaptive_spin::AdaptiveSpin;
pub(crate) use arc_dyn::arc_dyn;
pub(crate) use clock::Deadline;
pub(crate) use mutant;
pub(crate) use once_box::OnceBox;
pub(crate) use parker::{ParkResult, Parker};
pub(crate) use unique_id::unique_id;
