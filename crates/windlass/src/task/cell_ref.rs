//! A counted reference to a cell.
//!
//! The references are counted in the state word of the cell: a run that nobody waits for publishes its
//! result and releases the runner's reference in one step, which an `Arc` cannot. The cell is freed by
//! the release of the last reference.

#![expect(unsafe_code, reason = "a reference count that is part of another word")]

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::head::Head;
use super::runnable::{Awaitable, Untyped};

/// A type that a [`Ref`] can refer to.
///
/// # Safety
///
/// Every value of the type is a [`Cell`](super::cell::Cell), and so has its [`Head`] at its address.
pub(crate) unsafe trait Counted {}

// SAFETY: nothing but cells is `Awaitable`.
unsafe impl<T> Counted for dyn Awaitable<T> {}
// SAFETY: nothing but cells is `Untyped`.
unsafe impl Counted for dyn Untyped {}

/// A counted reference to a cell.
pub(crate) struct Ref<D: Counted + ?Sized>(NonNull<D>);

// SAFETY: a reference allows shared access, and the last one drops the cell, on any thread.
unsafe impl<D: Counted + Send + Sync + ?Sized> Send for Ref<D> {}
// SAFETY: as above.
unsafe impl<D: Counted + Send + Sync + ?Sized> Sync for Ref<D> {}

impl<D: Counted + ?Sized> Ref<D> {
    /// Creates a reference that is counted already.
    ///
    /// # Safety
    ///
    /// The cell comes from a box, and one reference of its count belongs to the caller.
    #[inline]
    pub(super) unsafe fn from_raw(cell: NonNull<D>) -> Self {
        Self(cell)
    }

    /// Converts the reference into a pointer, without releasing it.
    #[inline]
    pub(super) fn into_raw(self) -> NonNull<D> {
        ManuallyDrop::new(self).0
    }

    pub(crate) fn head(&self) -> &Head {
        // SAFETY: by the contract of `Counted`; the cell lives as long as there are references.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    /// Drops a reference whose count was released by [`State::finish`](super::state::State::finish).
    pub(super) fn drop_released(self, last: bool) {
        let cell = self.into_raw();
        if last {
            // SAFETY: cells are created as boxes, and no reference is left to this one.
            drop(unsafe { Box::from_raw(cell.as_ptr()) });
        }
    }
}

impl<T> Ref<dyn Awaitable<T>> {
    /// Converts the reference into one without the type of the result.
    pub(super) fn untyped(self) -> Ref<dyn Untyped> {
        let untyped = (*self).untyped();
        Ref(untyped(self.into_raw().cast()))
    }
}

impl<D: Counted + ?Sized> Drop for Ref<D> {
    fn drop(&mut self) {
        if self.head().state.release() {
            // SAFETY: cells are created as boxes, and this was the last reference.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<D: Counted + ?Sized> Clone for Ref<D> {
    fn clone(&self) -> Self {
        self.head().state.retain();
        Self(self.0)
    }
}

impl<D: Counted + ?Sized> Deref for Ref<D> {
    type Target = D;

    fn deref(&self) -> &D {
        // SAFETY: the cell lives as long as there are references.
        unsafe { self.0.as_ref() }
    }
}
