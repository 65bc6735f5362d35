//! A guard that closes an executor.

use std::fmt;
use std::ops::Deref;

use super::service::ExecutorService;
use crate::unwind::ignore_panic;

/// A guard that closes its executor when it is dropped: it shuts it down, and waits until
/// everything that was submitted has ended.
///
/// Meant for `main`: unlike a Java process, a Rust process ends when `main` returns, and queued and
/// running tasks are lost. The guard dereferences to the executor.
///
/// # Deadlocks
///
/// If it is dropped inside a task of the same executor, it waits for that task forever.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use windlass::prelude::*;
///
/// let runs = Arc::new(AtomicU32::new(0));
/// {
///     let pool = CloseOnDrop::new(executors::fixed_thread_pool(2).unwrap());
///     for _ in 0..10 {
///         let runs = Arc::clone(&runs);
///         pool.execute(move || {
///             runs.fetch_add(1, Ordering::Relaxed);
///         })
///         .unwrap();
///     }
/// }
/// assert_eq!(runs.load(Ordering::Relaxed), 10);
/// ```
#[must_use = "it is closed when this is dropped, which would be at once"]
pub struct CloseOnDrop<E: ExecutorService>(E);

impl<E: ExecutorService> CloseOnDrop<E> {
    /// Creates a guard of this executor.
    pub const fn new(executor: E) -> Self {
        Self(executor)
    }
}

impl<E: ExecutorService> Deref for CloseOnDrop<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E: ExecutorService> Drop for CloseOnDrop<E> {
    fn drop(&mut self) {
        ignore_panic(|| self.0.close());
    }
}

impl<E: ExecutorService + fmt::Debug> fmt::Debug for CloseOnDrop<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloseOnDrop").field(&self.0).finish()
    }
}
