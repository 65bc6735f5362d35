//! A counted reference to a cell.
//!
//! The references are counted in the state word of the cell: a run that nobody waits for publishes its
//! result and releases the runner's reference in one step, which an `Arc` cannot. The cell is freed by
//! the release of the last reference.

#![expect(unsafe_code, reason = "a reference count that is part of another word")]

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use super::cell_memory;
use super::error::ExecutionError;
use super::head::Head;
use super::runnable::{Awaitable, Untyped};

/// A type that a [`Ref`] can refer to.
///
/// # Safety
///
/// Every value of the type is a [`Cell`](super::cell::Cell) or its first field, and so has its [`Head`] at
/// its address.
pub(crate) unsafe trait Counted {
    /// Frees the cell.
    ///
    /// # Safety
    ///
    /// There is no reference to the cell any more.
    unsafe fn free(cell: NonNull<Self>);
}

// SAFETY: nothing but cells is `Awaitable`.
unsafe impl<T> Counted for dyn Awaitable<T> {
    unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: by the contract of this function.
        unsafe { cell_memory::drop_and_free(cell) };
    }
}

// SAFETY: nothing but cells is `Untyped`.
unsafe impl Counted for dyn Untyped {
    unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: by the contract of this function.
        unsafe { cell_memory::drop_and_free(cell) };
    }
}

/// The part of a cell that does not depend on the type of its body.
///
/// A reference to it is one word, where one to a `dyn Awaitable<T>` is two. Handles are kept by the
/// million, and copied more often than their cells, which have the other word.
#[repr(C)] // The head comes first: see `Counted`.
pub(crate) struct TypedHead<T> {
    pub(super) head: Head,
    /// A static. As a reference it would demand `T: 'static` of every handle.
    table: NonNull<Table<T>>,
}

// SAFETY: the table is only read, and what is in it are functions.
unsafe impl<T> Send for TypedHead<T> {}
// SAFETY: as above; the head is `Sync`.
unsafe impl<T> Sync for TypedHead<T> {}

/// The functions of one type of cell, which each take the address of a cell of that type. Those of
/// every task are there themselves; the others are called through `awaitable`.
pub(super) struct Table<T> {
    pub(super) awaitable: fn(NonNull<()>) -> NonNull<dyn Awaitable<T>>,
    pub(super) take_value: unsafe fn(NonNull<()>) -> Option<T>,
    pub(super) take_outcome: unsafe fn(NonNull<()>) -> Option<Result<T, ExecutionError>>,
    pub(super) free: unsafe fn(NonNull<()>),
}

impl<T> TypedHead<T> {
    /// # Safety
    ///
    /// It becomes the first field of a cell, and the table is that of the cell's type.
    #[inline]
    pub(super) unsafe fn new(head: Head, table: &'static Table<T>) -> Self
    where
        T: 'static,
    {
        let table = NonNull::from(table);
        Self { head, table }
    }

    #[inline]
    fn table(&self) -> &Table<T> {
        // SAFETY: it is a static.
        unsafe { self.table.as_ref() }
    }
}

// SAFETY: it is the first field of a cell, and `repr(C)` puts its head at its address.
unsafe impl<T> Counted for TypedHead<T> {
    #[inline]
    unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: the cell lives until the end of this function.
        let free = unsafe { cell.as_ref() }.table().free;
        // SAFETY: by the contract of this function.
        unsafe { free(cell.cast()) };
    }
}

impl<T> Ref<TypedHead<T>> {
    /// Returns the cell.
    pub(super) fn cell(&self) -> &dyn Awaitable<T> {
        let cell = (self.table().awaitable)(self.0.cast());
        // SAFETY: it is the same cell, which lives as long as there are references.
        unsafe { cell.as_ref() }
    }

    /// Moves the value out, if it is there and was left by the runner, as nearly always.
    ///
    /// Returned by itself, a small value stays in registers. An outcome is put together in memory, and a
    /// caller that moves it on would load as a whole what was stored in parts, which stalls.
    #[inline]
    pub(super) fn take_value(&self) -> Option<T> {
        if !self.head().state().has_value_of_runner() {
            return None;
        }
        // SAFETY: it is a cell of the type of the table, the runner has published its value, and there is
        // one handle that takes it.
        unsafe { (self.table().take_value)(self.0.cast()) }
    }

    /// See [`Awaitable::take_outcome`].
    #[inline]
    pub(super) fn take_outcome(&self) -> Option<Result<T, ExecutionError>> {
        // SAFETY: it is a cell of the type of the table.
        unsafe { (self.table().take_outcome)(self.0.cast()) }
    }

    /// Converts the reference into one of two words.
    pub(super) fn awaitable(self) -> Ref<dyn Awaitable<T>> {
        let awaitable = self.table().awaitable;
        Ref(awaitable(self.into_raw().cast()))
    }
}

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
    /// One reference of the cell's count belongs to the caller.
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
            // SAFETY: no reference is left to this one.
            unsafe { D::free(cell) };
        }
    }
}

impl<T> Ref<dyn Awaitable<T>> {
    /// Converts the reference into one without the type of the result.
    pub(super) fn untyped(self) -> Ref<dyn Untyped> {
        let untyped = (*self).pointer_from();
        Ref(untyped(self.into_raw().cast()))
    }
}

impl Ref<dyn Untyped> {
    /// Returns another reference to a cell.
    pub(super) fn of(cell: &(dyn Untyped + 'static)) -> Self {
        // Not from the reference itself, which does not allow the cell to be freed.
        let address = ptr::from_ref(cell).cast::<()>().addr();
        let exposed = NonNull::new(ptr::with_exposed_provenance_mut::<()>(address));
        let pointer = exposed.expect("the address of a cell is not null");
        // It is a cell, which nothing but references leads to: so it is counted at least once.
        let borrowed = ManuallyDrop::new(Self((cell.pointer_from())(pointer)));
        Self::clone(&borrowed)
    }
}

impl<D: Counted + ?Sized> Drop for Ref<D> {
    fn drop(&mut self) {
        if self.head().state.release() {
            // SAFETY: this was the last reference.
            unsafe { D::free(self.0) };
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
