//! Exponential backoff at a contended lock.

use super::backend::{self, Mutex, MutexGuard};
use super::spin::spin_limit;

/// Locks a contended mutex after exponential backoff; without backoff on a machine with one core,
/// where nobody can release the lock meanwhile.
///
/// For locks that are held for some nanoseconds only. If two threads take such a lock again and
/// again, its cache line and those of the data move between the cores each time. A thread that
/// backs off lets the other take the lock dozens of times from its own cache. One that polls all
/// the while, as a mutex does before it blocks, moves the line with every poll.
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
