//! Backoff from a contended lock.

use super::backend::{self, Mutex, MutexGuard};
use super::spin::spin_limit;

/// How long a thread backs off from a taken lock before it looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backoff {
    /// Longer each time, some nanoseconds at first: from a lock that others need once.
    Exponential,
    /// A microsecond at once: from a lock that others need as often as this thread, such as the one under
    /// which all workers take their work. Meanwhile the other takes dozens of tasks from its own cache.
    Long,
}

/// Locks a contended mutex after backoff; without backoff on a machine with one core,
/// where nobody can release the lock meanwhile.
///
/// For locks that are held for some nanoseconds only. If two threads take such a lock again and
/// again, its cache line and those of the data move between the cores each time. A thread that
/// backs off lets the other take the lock dozens of times from its own cache. One that polls all
/// the while, as a mutex does before it blocks, moves the line with every poll.
#[cold]
pub(crate) fn lock_with_backoff<T>(mutex: &Mutex<T>, backoff: Backoff) -> MutexGuard<'_, T> {
    let first = match backoff {
        Backoff::Exponential => 0,
        Backoff::Long => backend::LONG_BACKOFF_ROUND,
    };
    let end = match spin_limit() {
        0 => 0,
        _ => backend::BACKOFF_ROUNDS,
    };
    let locked = (first..end).find_map(|round| {
        backend::backoff(round);
        mutex.try_lock()
    });
    locked.unwrap_or_else(|| mutex.lock())
}
