//! Panics of user code that must not leave the place where they happen.
//!
//! Wakers, drops of values that nobody wants and the like run in the middle of our own work. Their
//! panics are contained; a panic payload whose own drop panics is leaked rather than dropped again.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; gives the payload of its panic.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    // What `f` may have left half done is user data, which its owner sees as it would after a
    // panic on its own thread; nothing of ours is lent to it.
    catch_unwind(AssertUnwindSafe(f))
}

/// Runs `f` and forgets its panic.
pub(crate) fn ignore_panic(f: impl FnOnce()) {
    if let Err(payload) = catch(f) {
        discard_payload(payload);
    }
}

/// Drops a value; a panic of its drop ends here.
pub(crate) fn discard<T>(value: T) {
    ignore_panic(|| drop(value));
}

/// Drops a panic's payload; a panic of *its* drop ends here too.
pub(crate) fn discard_payload(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch(|| drop(payload)) {
        std::mem::forget(again);
    }
}

/// A place for a value of the user's whose drop, should it panic, panics to nobody.
#[derive(Debug)]
pub(crate) struct DiscardOnDrop<V>(ManuallyDrop<Option<V>>);

impl<V> DiscardOnDrop<V> {
    pub(crate) const fn new(value: V) -> Self {
        Self(ManuallyDrop::new(Some(value)))
    }

    pub(crate) const fn empty() -> Self {
        Self(ManuallyDrop::new(None))
    }

    /// Keeps the value, in the place of one that was there.
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
        // Mostly empty by now, and then there is nothing to do, nor afterwards by the compiler.
        if self.0.is_some() {
            discard(self.0.take());
        }
    }
}
