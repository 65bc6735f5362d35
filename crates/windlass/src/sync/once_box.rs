//! A box that is created on first use, in one word.
//!
//! A `OnceLock<Box<T>>` takes two words, because threads wait in it while another creates the
//! value. Here each of them creates one, and the first to publish it wins. One word less per task
//! matters: the cost of a submission grows with the memory that it allocates.

#![expect(
    unsafe_code,
    reason = "a pointer that owns what it points to is shared"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use super::atomic::{AtomicPtr, Ordering};

/// A box that is empty at first, and then has the same value forever.
pub(crate) struct OnceBox<T> {
    /// Null, or a pointer from `Box::into_raw`. Never changed once it is not null.
    ptr: AtomicPtr<T>,
    owned: PhantomData<Box<T>>,
}

impl<T: Send + Sync> OnceBox<T> {
    pub(crate) fn new() -> Self {
        Self {
            ptr: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: if it is not null it came from a box, which lives as long as `self`; the acquire
        // pairs with the release of the exchange that published it.
        unsafe { self.ptr.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the value; if there is none, creates one, unless another thread is faster.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let mine = Box::into_raw(Box::new(make()));
        let published =
            self.ptr
                .compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire);
        match published {
            // SAFETY: the box lives as long as `self` from now on.
            Ok(_) => unsafe { &*mine },
            Err(theirs) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: it was published before, and the exchange has acquired it.
                unsafe { &*theirs }
            }
        }
    }
}

impl<T> From<Box<T>> for OnceBox<T> {
    fn from(value: Box<T>) -> Self {
        Self {
            ptr: AtomicPtr::new(Box::into_raw(value)),
            owned: PhantomData,
        }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let ptr = self.ptr.load(Ordering::Acquire);
        if !ptr.is_null() {
            // SAFETY: it came from a box, and `&mut self` excludes other references to it.
            drop(unsafe { Box::from_raw(ptr) });
        }
    }
}

impl<T> fmt::Debug for OnceBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceBox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::OnceBox;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use crate::sync::{UnsafeCell, model, thread};

    /// Written before the box is published, and read by the thread that finds it.
    struct Watched(UnsafeCell<usize>);

    // SAFETY: the models write to it before they share it.
    unsafe impl Sync for Watched {}

    impl Watched {
        fn new(number: usize) -> Self {
            let watched = Self(UnsafeCell::new(0));
            // SAFETY: nobody else has it yet.
            watched
                .0
                .with_mut(|number_cell| unsafe { *number_cell = number });
            watched
        }

        fn read(&self) -> usize {
            // SAFETY: nobody writes to it any more.
            self.0.with(|number| unsafe { *number })
        }
    }

    /// Returns an empty cell, and another thread that runs `f` on it.
    fn cell_and_other<R: Send + 'static>(
        body: impl FnOnce(&OnceBox<Watched>) -> R + Send + 'static,
    ) -> (Arc<OnceBox<Watched>>, thread::JoinHandle<R>) {
        let cell = Arc::new(OnceBox::new());
        let theirs = Arc::clone(&cell);
        let other = thread::Builder::new().spawn(move || body(&theirs));
        (cell, other.unwrap())
    }

    #[test]
    fn two_who_ask_first_get_the_same() {
        model(|| {
            let (cell, other) = cell_and_other(|cell| cell.get_or_init(|| Watched::new(1)).read());
            let mine = cell.get_or_init(|| Watched::new(2)).read();
            assert_eq!(mine, other.join().unwrap());
            assert_eq!(cell.get().map(Watched::read), Some(mine));
        });
    }

    #[test]
    fn whoever_finds_it_finds_it_whole() {
        model(|| {
            let (cell, finder) = cell_and_other(|cell| cell.get().map(Watched::read));
            assert_eq!(cell.get_or_init(|| Watched::new(1)).read(), 1);
            assert!(matches!(finder.join().unwrap(), None | Some(1)));
        });
    }

    #[test]
    fn each_that_was_made_is_dropped_once() {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        model(|| {
            let (made, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let make = {
                let (made, dropped) = (Arc::clone(&made), Arc::clone(&dropped));
                move || {
                    made.fetch_add(1, Ordering::Relaxed);
                    Counted(Arc::clone(&dropped))
                }
            };
            let cell = Arc::new(OnceBox::new());
            let (theirs, theirs_to_make) = (Arc::clone(&cell), make.clone());
            let other = thread::Builder::new()
                .spawn(move || {
                    theirs.get_or_init(theirs_to_make);
                })
                .unwrap();
            cell.get_or_init(make);
            other.join().unwrap();
            drop(cell);
            assert_eq!(
                made.load(Ordering::Relaxed),
                dropped.load(Ordering::Relaxed)
            );
        });
    }
}
