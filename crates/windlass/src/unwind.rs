//! Catching panics of user code.
//!
//! Wakers and drops of user values run in the middle of the library's own operations. Their panics
//! are caught and discarded; a panic payload whose own drop panics is leaked rather than
//! dropped again.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`. Returns its result, or the payload of its panic.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    // `f` borrows no data of the library. User data that it leaves half changed is seen by its
    // owner as after a panic on its own thread.
    catch_unwind(AssertUnwindSafe(f))
}

/// Runs `f` and discards its panic.
pub(crate) fn ignore_panic(f: impl FnOnce()) {
    if let Err(payload) = catch(f) {
        discard_payload(payload);
    }
}

/// Drops a value, and discards a panic of its drop.
pub(crate) fn discard<T>(value: T) {
    ignore_panic(|| drop(value));
}

/// Drops a panic's payload, and leaks the payload of a panic of *its* drop.
pub(crate) fn discard_payload(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch(|| drop(payload)) {
        std::mem::forget(again);
    }
}

/// A slot for a user's value that is [discarded](discard) when the slot is dropped.
#[derive(Debug)]
pub(crate) struct DiscardOnDrop<V>(ManuallyDrop<Option<V>>);

impl<V> DiscardOnDrop<V> {
    pub(crate) const fn new(value: V) -> Self {
        Self(ManuallyDrop::new(Some(value)))
    }

    pub(crate) const fn empty() -> Self {
        Self(ManuallyDrop::new(None))
    }

    /// Sets the value; discards the former one.
    pub(crate) fn put(&mut self, value: V) {
        if let Some(former) = self.0.replace(value) {
            discard(former);
        }
    }

    pub(crate) fn take(&mut self) -> Option<V> {
        self.0.take()
    }

    pub(crate) fn get(&self) -> Option<&V> {
        self.0.as_ref()
    }
}

impl<V> Drop for DiscardOnDrop<V> {
    #[inline]
    fn drop(&mut self) {
        // Mostly empty by now. `ManuallyDrop` spares the compiler's second check.
        if self.0.is_some() {
            discard(self.0.take());
        }
    }
}
