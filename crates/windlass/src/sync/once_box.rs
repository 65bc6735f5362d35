//! A number, then a box that is created on first use, in one word.
//!
//! A `OnceLock<Box<T>>` takes two words, because threads wait in it while another creates the
//! value; and what identifies the owner, which is in the box as soon as there is one, would take a third.
//! Here each thread creates a value, and the first to publish it wins. Each word less per task
//! matters: the cost of a submission grows with the memory that it allocates.

#![expect(
    unsafe_code,
    reason = "a pointer that owns what it points to is shared"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use super::atomic::{AtomicU64, Ordering};

/// Set in the word as long as it is a number; the number is in the bits above.
const NUMBER: u64 = 1;

/// A number at first, and then a box with the same value forever.
pub(crate) struct OnceBox<T> {
    /// A number with [`NUMBER`], or the address of a box. Never changed once it is an address.
    word: AtomicU64,
    owned: PhantomData<Box<T>>,
}

impl<T> OnceBox<T> {
    /// Creates it with a number below 2^63.
    #[inline]
    pub(crate) fn new(number: u64) -> Self {
        const { assert!(align_of::<T>() > 1, "the lowest bit of an address is free") };
        debug_assert!(number < 1 << 63, "there is a bit for the kind of the word");
        Self {
            word: AtomicU64::new((number << 1) | NUMBER),
            owned: PhantomData,
        }
    }

    fn address_of(value: Box<T>) -> u64 {
        Box::into_raw(value).expose_provenance() as u64
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the address was a `usize` before"
    )]
    fn pointer_to(address: u64) -> *mut T {
        ptr::with_exposed_provenance_mut(address as usize)
    }
}

impl<T: Send + Sync> OnceBox<T> {
    /// Returns the value, or the number if there is none.
    pub(crate) fn get(&self) -> Result<&T, u64> {
        let word = self.word.load(Ordering::Acquire);
        if word & NUMBER != 0 {
            return Err(word >> 1);
        }
        // SAFETY: the address is that of a box, which lives as long as `self`; the acquire pairs with
        // the release of the exchange that published it.
        Ok(unsafe { &*Self::pointer_to(word) })
    }

    /// Returns the value; if there is none, creates one from the number, unless another thread is
    /// faster.
    pub(crate) fn get_or_init(&self, make: impl FnOnce(u64) -> T) -> &T {
        let number = match self.get() {
            Ok(value) => return value,
            Err(number) => number,
        };
        let mine = Self::address_of(Box::new(make(number)));
        let published = self.word.compare_exchange(
            (number << 1) | NUMBER,
            mine,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match published {
            // SAFETY: the box lives as long as `self` from now on.
            Ok(_) => unsafe { &*Self::pointer_to(mine) },
            Err(theirs) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(Self::pointer_to(mine)) });
                // SAFETY: it was published before, and the exchange has acquired it.
                unsafe { &*Self::pointer_to(theirs) }
            }
        }
    }
}

impl<T> From<Box<T>> for OnceBox<T> {
    fn from(value: Box<T>) -> Self {
        Self {
            word: AtomicU64::new(Self::address_of(value)),
            owned: PhantomData,
        }
    }
}

impl<T> Drop for OnceBox<T> {
    #[inline]
    fn drop(&mut self) {
        let word = self.word.load(Ordering::Acquire);
        if word & NUMBER == 0 {
            // SAFETY: it is the address of a box, and `&mut self` excludes other references to it.
            drop(unsafe { Box::from_raw(Self::pointer_to(word)) });
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
        let cell = Arc::new(OnceBox::new(7));
        let theirs = Arc::clone(&cell);
        let other = thread::Builder::new().spawn(move || body(&theirs));
        (cell, other.unwrap())
    }

    #[test]
    fn two_who_ask_first_get_the_same() {
        model(|| {
            let (cell, other) = cell_and_other(|cell| cell.get_or_init(|_| Watched::new(1)).read());
            let mine = cell.get_or_init(|_| Watched::new(2)).read();
            assert_eq!(mine, other.join().unwrap());
            assert_eq!(cell.get().map(Watched::read), Ok(mine));
        });
    }

    #[test]
    fn whoever_finds_it_finds_it_whole() {
        model(|| {
            let (cell, finder) = cell_and_other(|cell| cell.get().map(Watched::read));
            assert_eq!(cell.get_or_init(|_| Watched::new(1)).read(), 1);
            assert!(matches!(finder.join().unwrap(), Err(7) | Ok(1)));
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
                move |_| {
                    made.fetch_add(1, Ordering::Relaxed);
                    Counted(Arc::clone(&dropped))
                }
            };
            let cell = Arc::new(OnceBox::new(7));
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
