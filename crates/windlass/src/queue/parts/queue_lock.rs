//! A lock under which user code may run, and which detects when that code acquires it again.
//!
//! Predicates, comparisons and disciplines are user code that a queue has to call while it is
//! locked. If such code uses the same queue again it would wait for itself; this lock records
//! which thread runs user code under it and panics instead, with a message that names the cause.

use std::ops::{Deref, DerefMut};

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Backoff, Mutex, MutexGuard, lock_with_backoff, thread_local, unique_id};

thread_local! {
    static THREAD_NUMBER: usize = unique_id();
}

/// Returns a number that no other thread has or had, and never zero.
///
/// An address that is unique among living threads does not suffice: the number is read without any
/// ordering, so a thread could read its own where a thread that has ended left it.
fn thread_number() -> usize {
    THREAD_NUMBER
        .try_with(|number| *number)
        .unwrap_or(usize::MAX)
}

/// The mutex around a queue's data.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct QueueLock<S> {
    mutex: Mutex<S>,
    /// The number of the thread that runs user code under the lock, or zero.
    ///
    /// Written by the holder of the lock only; another thread that reads it sees at worst a value
    /// that is not its own. So it needs no ordering.
    entered_by: AtomicUsize,
}

impl<S> QueueLock<S> {
    pub(crate) fn new(data: S) -> Self {
        Self {
            mutex: Mutex::new(data),
            entered_by: AtomicUsize::new(0),
        }
    }

    /// Returns the mutex itself, to wait in.
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
        match self.lock_unless_entered() {
            Some(guard) => guard,
            None => reentered(()),
        }
    }

    /// Locks the data as [`lock`](Self::lock) does, for a thread that takes one element after the other.
    #[inline]
    pub(crate) fn lock_to_take(&self) -> MutexGuard<'_, S> {
        match self.mutex.try_lock() {
            Some(guard) => guard,
            None => match self.lock_slow(Backoff::Long) {
                Some(guard) => guard,
                None => reentered(()),
            },
        }
    }

    /// Locks the data, unless this thread runs user code under this very lock.
    #[inline]
    pub(crate) fn lock_unless_entered(&self) -> Option<MutexGuard<'_, S>> {
        match self.mutex.try_lock() {
            Some(guard) => Some(guard),
            None => self.lock_slow(Backoff::Exponential),
        }
    }

    #[cold]
    fn lock_slow(&self, backoff: Backoff) -> Option<MutexGuard<'_, S>> {
        let is_mine = self.entered_by.load(Ordering::Relaxed) == thread_number();
        (!is_mine).then(|| lock_with_backoff(&self.mutex, backoff))
    }

    /// Marks that the current thread, which holds `guard`, runs user code until the result is
    /// dropped.
    pub(crate) fn enter<'a, 'g>(&'a self, guard: &'a mut MutexGuard<'g, S>) -> Entered<'a, 'g, S> {
        self.entered_by.store(thread_number(), Ordering::Relaxed);
        Entered { lock: self, guard }
    }
}

/// Drops its argument, and panics.
#[cold]
pub(crate) fn reentered<T>(_item: T) -> ! {
    panic!("a queue was used from inside its own predicate, comparison or discipline")
}

/// The data of a lock under which user code runs.
pub(crate) struct Entered<'a, 'g, S> {
    lock: &'a QueueLock<S>,
    guard: &'a mut MutexGuard<'g, S>,
}

impl<S> Drop for Entered<'_, '_, S> {
    fn drop(&mut self) {
        self.lock.entered_by.store(0, Ordering::Relaxed);
    }
}

impl<S> Deref for Entered<'_, '_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.guard
    }
}

impl<S> DerefMut for Entered<'_, '_, S> {
    fn deref_mut(&mut self) -> &mut S {
        self.guard
    }
}
