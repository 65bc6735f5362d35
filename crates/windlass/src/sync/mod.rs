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

pub(crate) mod clock;
mod once_box;
mod parker;
mod unique;
mod worth;

#[cfg(test)]
pub(crate) use backend::model;
pub(crate) use backend::{
    Condvar, Mutex, MutexGuard, UnsafeCell, atomic, const_thread_local, give_way, linger,
    sharpen_timed_waits, thread, thread_local,
};
/// How many threads the machine runs at a time, and at least one.
pub(crate) fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How often a thread looks for what it waits for before it sleeps: never on a machine where
/// nobody can bring it meanwhile.
pub(crate) fn looks() -> u32 {
    static LOOKS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *LOOKS.get_or_init(|| match available_parallelism() {
        1 => 0,
        _ => backend::LOOKS,
    })
}

/// Locks, after having stayed away for a while, longer from round to round; not on a machine where
/// nobody can let go of the lock meanwhile.
///
/// For locks that are held for some nanoseconds only. If two threads want one again and again, its
/// cache line and those of the data go to and fro each time; a thread that stays away lets the other
/// one have it dozens of times at the speed of its own cache. One that looks all the while, as a
/// mutex does before it sleeps, would drag the line over with every look.
#[cold]
pub(crate) fn lock_from_afar<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let rounds = match looks() {
        0 => 0,
        _ => backend::ROUNDS_OF_STAYING_AWAY,
    };
    let locked = (0..rounds).find_map(|round| {
        backend::stay_away(round);
        mutex.try_lock()
    });
    locked.unwrap_or_else(|| mutex.lock())
}

pub(crate) use clock::Deadline;
pub(crate) use mutant;
pub(crate) use once_box::OnceBox;
pub(crate) use parker::{Parker, Woken};
pub(crate) use unique::unique;
pub(crate) use worth::Worth;
