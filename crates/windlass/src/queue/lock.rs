//! A lock that user code may run under, and that knows when that code comes back for it.
//!
//! Predicates, comparisons and disciplines are user code that a queue has to call while it is
//! locked. If such code uses the same queue again it would wait for itself; this lock remembers
//! who runs user code inside it and panics instead, with a message that says what happened.

use std::ops::{Deref, DerefMut};

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, lock_with_backoff, thread_local, unique_id};

thread_local! {
    static TOKEN: usize = unique_id();
}

/// A number that no other thread has or had, and never zero.
///
/// An address that is unique among the living will not do: the visitor is read without any order,
/// so a thread could meet its own number where a thread that has ended left it.
fn token() -> usize {
    TOKEN.try_with(|token| *token).unwrap_or(usize::MAX)
}

/// The mutex around a queue's data.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct QueueLock<S> {
    mutex: Mutex<S>,
    /// The thread that runs user code under the lock, or zero.
    ///
    /// Written by the holder of the lock only; another thread that reads it sees at worst a value
    /// that is not its own. So nothing needs ordering.
    visitor: AtomicUsize,
}

impl<S> QueueLock<S> {
    pub(crate) fn new(data: S) -> Self {
        Self {
            mutex: Mutex::new(data),
            visitor: AtomicUsize::new(0),
        }
    }

    /// The mutex itself, to wait in.
    pub(crate) fn mutex(&self) -> &Mutex<S> {
        &self.mutex
    }

    pub(crate) fn into_inner(self) -> S {
        self.mutex.into_inner()
    }

    /// Locks the data.
    ///
    /// # Panics
    ///
    /// If this thread runs user code under this very lock.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        match self.lock_unless_visiting() {
            Some(guard) => guard,
            None => misused(()),
        }
    }

    /// Locks the data, unless this thread runs user code under this very lock.
    #[inline]
    pub(crate) fn lock_unless_visiting(&self) -> Option<MutexGuard<'_, S>> {
        match self.mutex.try_lock() {
            Some(guard) => Some(guard),
            None => self.lock_slow(),
        }
    }

    #[cold]
    fn lock_slow(&self) -> Option<MutexGuard<'_, S>> {
        (self.visitor.load(Ordering::Relaxed) != token()).then(|| lock_with_backoff(&self.mutex))
    }

    /// Marks that the current thread, which holds `guard`, runs user code from now on.
    pub(crate) fn visit<'a, 'g>(&'a self, guard: &'a mut MutexGuard<'g, S>) -> Visit<'a, 'g, S> {
        self.visitor.store(token(), Ordering::Relaxed);
        Visit { lock: self, guard }
    }
}

/// Drops what it was given, and panics.
#[cold]
pub(crate) fn misused<T>(_item: T) -> ! {
    panic!("a queue was used from inside its own predicate, comparison or discipline")
}

/// The time during which user code runs under the lock.
pub(crate) struct Visit<'a, 'g, S> {
    lock: &'a QueueLock<S>,
    guard: &'a mut MutexGuard<'g, S>,
}

impl<S> Drop for Visit<'_, '_, S> {
    fn drop(&mut self) {
        self.lock.visitor.store(0, Ordering::Relaxed);
    }
}

impl<S> Deref for Visit<'_, '_, S> {
    type Target = S;
    fn deref(&self) -> &S {
        self.guard
    }
}

impl<S> DerefMut for Visit<'_, '_, S> {
    fn deref_mut(&mut self) -> &mut S {
        self.guard
    }
}
