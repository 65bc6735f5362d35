//! A box whose memory is a recycled block, for closures that are too large for a task.

#![expect(unsafe_code, reason = "a value is stored in memory of another type")]

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, align_of, size_of};
use std::ptr;

use super::recycler::{Block, Slot, allocate, recycle};

/// A value in a recycled block.
///
/// Invariant: the block holds an initialised `F` until [`RecycledBox::into_inner`] or the drop takes it
/// out; each happens once, since both consume the `RecycledBox`.
pub(super) struct RecycledBox<F> {
    block: ManuallyDrop<Block>,
    kind: PhantomData<F>,
}

impl<F> RecycledBox<F> {
    /// Moves the value into a block; returns it if it does not fit.
    #[inline]
    pub(super) fn new(value: F) -> Result<Self, F> {
        let fits =
            const { size_of::<F>() <= size_of::<Slot>() && align_of::<F>() <= align_of::<Slot>() };
        if !fits {
            return Err(value);
        }
        let mut block = allocate();
        // SAFETY: `F` fits into the block, by size and by alignment.
        unsafe { block.as_mut_ptr().cast::<F>().write(value) };
        Ok(Self {
            block: ManuallyDrop::new(block),
            kind: PhantomData,
        })
    }

    #[inline]
    pub(super) fn get(&self) -> &F {
        // SAFETY: the value is there until the box is consumed, and is borrowed with `self`.
        unsafe { &*self.block.as_ptr().cast::<F>() }
    }

    /// Moves the value out; its block can be recycled before the value is used.
    #[inline]
    pub(super) fn into_inner(self) -> F {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `ManuallyDrop` prevents the drop, which would take the value too.
        unsafe { this.take() }
    }

    /// # Safety
    ///
    /// The last use of `self`.
    #[inline]
    unsafe fn take(&mut self) -> F {
        // SAFETY: the value is there, and by the contract of this function it is not used again.
        let value = unsafe { ptr::read(self.block.as_ptr().cast::<F>()) };
        // SAFETY: likewise for the block.
        recycle(unsafe { ManuallyDrop::take(&mut self.block) });
        value
    }
}

impl<F> Drop for RecycledBox<F> {
    fn drop(&mut self) {
        // SAFETY: `self` is not used after its drop.
        drop(unsafe { self.take() });
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;

    use super::RecycledBox;

    #[test]
    fn a_value_comes_out_as_it_went_in() {
        let value = std::array::from_fn::<_, 11, _>(|at| at as u64);
        assert_eq!(RecycledBox::new(value).ok().unwrap().into_inner(), value);
        assert_eq!(RecycledBox::new(7_u8).ok().unwrap().into_inner(), 7);
        RecycledBox::new(()).ok().unwrap().into_inner();
    }

    #[test]
    fn what_is_too_large_or_aligned_to_more_comes_back() {
        #[repr(align(16))]
        struct Aligned(u8);
        assert_eq!(RecycledBox::new([1_u64; 12]).err(), Some([1; 12]));
        assert_eq!(RecycledBox::new(Aligned(3)).err().unwrap().0, 3);
    }

    #[test]
    fn a_value_is_dropped_once_taken_out_or_not() {
        let witness = Arc::new(());
        let kept = [(); 3].map(|()| RecycledBox::new(Arc::clone(&witness)).ok().unwrap());
        let [first, second, third] = kept;
        drop(first);
        assert_eq!(Arc::strong_count(&witness), 3);
        drop(second.into_inner());
        assert_eq!(Arc::strong_count(&witness), 2);
        let taken = third.into_inner();
        assert_eq!(Arc::strong_count(&witness), 2);
        drop(taken);
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn a_drop_that_panics_is_one_panic_and_the_next_value_is_sound() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let kept = RecycledBox::new(Panics).ok().unwrap();
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(kept)));
        assert!(dropped.is_err());
        assert_eq!(RecycledBox::new(5).ok().unwrap().into_inner(), 5);
    }
}
