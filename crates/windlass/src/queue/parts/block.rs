//! A run of elements in one allocation: pushed at the tail, popped at the head.
//!
//! It does what a `VecDeque` that is never filled beyond its capacity does, without three things
//! that cost more than the rest of a queue's hot path: it does not wrap around, it has no growth
//! path across which an element would have to be saved, and it moves an element in one copy from
//! its slot to its destination. A ring returns elements in an `Option` that it assembles from
//! parts, and processors stall where parts are written and the whole is read at once.
//!
//! The invariant: `head <= tail <= slots.len()`, and exactly the slots from `head` to `tail` hold
//! an element.

#![expect(
    unsafe_code,
    reason = "elements lie in memory that is only partly initialised"
)]

use std::mem::MaybeUninit;
use std::ptr;

use crate::sync::prefetch_for_write;

/// How many bytes ahead of a push memory is asked for: ten cache lines, 16 tasks, which may come within half
/// a microsecond.
const PREFETCHED: usize = 640;

/// A run of elements. By default it has no memory, and so no room.
#[derive(Debug)]
pub(crate) struct Block<T> {
    slots: Box<[MaybeUninit<T>]>,
    head: usize,
    tail: usize,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<T> Block<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: Box::new_uninit_slice(capacity),
            head: 0,
            tail: 0,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.tail - self.head
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Returns whether there is no room behind the last element.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.tail == self.slots.len()
    }

    /// Pushes the element that `make` returns, created in its slot.
    ///
    /// # Panics
    ///
    /// If the block is full.
    #[inline]
    pub(crate) fn push_with(&mut self, make: impl FnOnce() -> T) {
        let slot = &mut self.slots[self.tail];
        prefetch_for_write(slot.as_ptr().cast::<u8>().wrapping_add(PREFETCHED));
        slot.write(make());
        self.tail += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the slot at `head` holds an element; the next line excludes the slot from those
        // that do, so it is read once.
        let item = unsafe { self.slots[self.head].assume_init_read() };
        self.head += 1;
        if self.head == self.tail {
            // Reuse the first slots: they are in this core's cache.
            (self.head, self.tail) = (0, 0);
        }
        Some(item)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        let filled = &self.slots[self.head..self.tail];
        // SAFETY: these slots hold elements, and `MaybeUninit<T>` has the layout of `T`.
        unsafe { &*(ptr::from_ref(filled) as *const [T]) }
    }

    /// Removes the element at this index.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn remove(&mut self, index: usize) -> T {
        let filled = &mut self.slots[self.head..self.tail];
        // SAFETY: the slot holds an element. The rotation moves the slot behind the new `tail`, so
        // it is read once.
        let item = unsafe { filled[index].assume_init_read() };
        // Copying a slot moves the element in it.
        filled[index..].rotate_left(1);
        self.tail -= 1;
        item
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::rc::Rc;

    use super::Block;

    fn filled(capacity: usize, items: impl IntoIterator<Item = usize>) -> Block<Rc<usize>> {
        let mut block = Block::with_capacity(capacity);
        items
            .into_iter()
            .for_each(|item| block.push_with(|| Rc::new(item)));
        block
    }

    fn contents(block: &Block<Rc<usize>>) -> Vec<usize> {
        block.as_slice().iter().map(|item| **item).collect()
    }

    #[test]
    fn elements_are_popped_in_the_order_in_which_they_were_pushed() {
        let mut block = filled(3, [1, 2, 3]);
        assert!(block.is_full());
        assert_eq!((block.capacity(), block.len()), (3, 3));
        let popped = [(); 4].map(|()| block.pop().map(|item| *item));
        assert_eq!(popped, [Some(1), Some(2), Some(3), None]);
        assert!(block.is_empty());
    }

    #[test]
    fn an_emptied_block_has_all_its_room_again() {
        let mut block = filled(2, [1, 2]);
        assert!(block.pop().is_some());
        assert!(block.is_full(), "the slot before the head is not room");
        assert!(block.pop().is_some());
        assert!(!block.is_full());
        block.push_with(|| Rc::new(3));
        block.push_with(|| Rc::new(4));
        assert_eq!(contents(&block), [3, 4]);
    }

    #[test]
    fn any_element_can_be_removed() {
        for at in 0..4 {
            let mut block = filled(8, 0..5);
            assert_eq!(block.pop().as_deref(), Some(&0));
            let mut expected = vec![1, 2, 3, 4];
            assert_eq!(*block.remove(at), expected.remove(at));
            assert_eq!(contents(&block), expected);
            assert_eq!(block.len(), 3);
            block.push_with(|| Rc::new(9));
            expected.push(9);
            assert_eq!(contents(&block), expected);
        }
    }

    #[test]
    fn the_only_element_can_be_removed() {
        let mut block = filled(1, [7]);
        assert_eq!(*block.remove(0), 7);
        assert!(block.is_empty() && !block.is_full());
        assert_eq!(block.pop(), None);
    }

    #[test]
    fn what_is_left_is_dropped_once_and_what_was_taken_is_not() {
        let witness = Rc::new(1);
        let mut block = Block::with_capacity(4);
        (0..4).for_each(|_| block.push_with(|| Rc::clone(&witness)));
        let kept = (block.pop(), block.remove(1));
        assert_eq!(Rc::strong_count(&witness), 5);
        drop(block);
        assert_eq!(Rc::strong_count(&witness), 3);
        drop(kept);
        assert_eq!(Rc::strong_count(&witness), 1);
    }

    #[test]
    fn a_closure_that_panics_leaves_its_slot_empty() {
        let mut block = filled(2, [1]);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            block.push_with(|| panic!("no element"));
        }));
        assert!(made.is_err());
        assert_eq!(contents(&block), [1]);
    }

    #[test]
    #[should_panic = "index out of bounds"]
    fn a_full_block_takes_nothing() {
        filled(1, [1, 2]);
    }
}
