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
pub(crate) fn lock_with_backoff<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    lock_from_round(0, mutex)
}

/// As [`lock_with_backoff`], but backs off for the longest time at once.
///
/// For a thread that has as much use for the lock as its holder, again and again: two that take work from one
/// queue. The one that does not wait gets dozens of elements from its own cache meanwhile.
pub(crate) fn lock_with_long_backoff<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    lock_from_round(backend::LONG_BACKOFF_ROUND, mutex)
}

#[cold]
fn lock_from_round<T>(first: u32, mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let rounds = match spin_limit() {
        0 => 0,
        _ => backend::BACKOFF_ROUNDS,
    };
    let locked = (first..rounds).find_map(|round| {
        backend::backoff(round);
        mutex.try_lock()
    });
    locked.unwrap_or_else(|| mutex.lock())
}
