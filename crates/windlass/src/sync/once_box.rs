//! A box that is made when it is first asked for, in one word.
//!
//! A `OnceLock<Box<T>>` takes two words, because it makes those wait who come while the value is being
//! made. Here they make one each, and the first to bring it in wins. A word less in each task is worth
//! it: most of what a submission costs in fresh memory is its size.

#![expect(
    unsafe_code,
    reason = "a pointer that owns what it points to is shared"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use super::atomic::{AtomicPtr, Ordering};

/// Nothing at first, then a value for ever.
pub(crate) struct OnceBox<T> {
    /// Null, or a box that was given up to this place. Never changed once it is not null.
    place: AtomicPtr<T>,
    owned: PhantomData<Box<T>>,
}

impl<T: Send + Sync> OnceBox<T> {
    pub(crate) fn new() -> Self {
        Self {
            place: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Mutant: the box is seen, but not what is in it.
        let seen = mutant!(
            "once_box_look_relaxed",
            Ordering::Relaxed,
            Ordering::Acquire
        );
        // SAFETY: not null means that it came from a box, which lives as long as `self`; the acquire
        // pairs with the release of whoever brought it in.
        unsafe { self.place.load(seen).as_ref() }
    }

    /// The value; if there is none, one that is made now, by this call or by another one.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let mine = Box::into_raw(Box::new(make()));
        let brought_in =
            self.place
                .compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire);
        match brought_in {
            // SAFETY: the box lives as long as `self` from now on.
            Ok(_) => unsafe { &*mine },
            Err(theirs) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: it was brought in before, and the exchange has acquired it.
                unsafe { &*theirs }
            }
        }
    }
}

impl<T> From<Box<T>> for OnceBox<T> {
    fn from(value: Box<T>) -> Self {
        Self {
            place: AtomicPtr::new(Box::into_raw(value)),
            owned: PhantomData,
        }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let place = self.place.load(Ordering::Acquire);
        if !place.is_null() {
            // SAFETY: it came from a box, and nobody can reach it any more.
            drop(unsafe { Box::from_raw(place) });
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

    /// Written before the box is brought in, and read by whoever finds it.
    struct Watched(UnsafeCell<usize>);

    // SAFETY: the models write to it before they share it.
    unsafe impl Sync for Watched {}

    impl Watched {
        fn new(number: usize) -> Self {
            let watched = Self(UnsafeCell::new(0));
            // SAFETY: nobody else has it yet.
            watched.0.with_mut(|place| unsafe { *place = number });
            watched
        }

        fn read(&self) -> usize {
            // SAFETY: nobody writes to it any more.
            self.0.with(|place| unsafe { *place })
        }
    }

    /// An empty place, and another thread that does this with it.
    fn place_and_other<R: Send + 'static>(
        body: impl FnOnce(&OnceBox<Watched>) -> R + Send + 'static,
    ) -> (Arc<OnceBox<Watched>>, thread::JoinHandle<R>) {
        let place = Arc::new(OnceBox::new());
        let theirs = Arc::clone(&place);
        let other = thread::Builder::new().spawn(move || body(&theirs));
        (place, other.unwrap())
    }

    #[test]
    fn two_who_ask_first_get_the_same() {
        model(|| {
            let (place, other) =
                place_and_other(|place| place.get_or_init(|| Watched::new(1)).read());
            let mine = place.get_or_init(|| Watched::new(2)).read();
            assert_eq!(mine, other.join().unwrap());
            assert_eq!(place.get().map(Watched::read), Some(mine));
        });
    }

    #[test]
    fn whoever_finds_it_finds_it_whole() {
        model(|| {
            let (place, finder) = place_and_other(|place| place.get().map(Watched::read));
            assert_eq!(place.get_or_init(|| Watched::new(1)).read(), 1);
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
            let place = Arc::new(OnceBox::new());
            let (theirs, theirs_to_make) = (Arc::clone(&place), make.clone());
            let other = thread::Builder::new()
                .spawn(move || {
                    theirs.get_or_init(theirs_to_make);
                })
                .unwrap();
            place.get_or_init(make);
            other.join().unwrap();
            drop(place);
            assert_eq!(
                made.load(Ordering::Relaxed),
                dropped.load(Ordering::Relaxed)
            );
        });
    }
}
