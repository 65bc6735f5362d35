//! A run of elements in one piece of memory: in at the tail, out at the head.
//!
//! It does what a `VecDeque` that is never filled beyond its capacity does, without three things
//! that cost more than all the rest of a queue's hot path: it does not wrap around, it has no way
//! to grow that an element would have to be kept safe from, and it moves an element in one step
//! from where it lies to where it is wanted. A ring hands elements out in an `Option` that it puts
//! together from parts, and processors stall where parts are written and the whole is read at once.
//!
//! The invariant: `head <= tail <= slots.len()`, and exactly the slots from `head` to `tail` hold an
//! element.

#![expect(
    unsafe_code,
    reason = "elements lie in memory that is only partly filled"
)]

use std::mem::MaybeUninit;
use std::ptr;

/// The run of elements; as it is made it has no memory, and so no room.
#[derive(Debug)]
pub(super) struct Block<T> {
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
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: Box::new_uninit_slice(capacity),
            head: 0,
            tail: 0,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn len(&self) -> usize {
        self.tail - self.head
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether there is no room behind the last element.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.tail == self.slots.len()
    }

    /// Makes an element, in its place behind the last one; there is room.
    #[inline]
    pub(super) fn push_with(&mut self, make: impl FnOnce() -> T) {
        let slot = &mut self.slots[self.tail];
        slot.write(make());
        self.tail += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the slot at `head` holds an element, and belongs to it no longer after this.
        let item = unsafe { self.slots[self.head].assume_init_read() };
        self.head += 1;
        if self.head == self.tail {
            // From the start again, in memory that this core has at hand.
            (self.head, self.tail) = (0, 0);
        }
        Some(item)
    }

    pub(super) fn as_slice(&self) -> &[T] {
        let filled = &self.slots[self.head..self.tail];
        // SAFETY: these slots hold elements, and `MaybeUninit<T>` lies in memory as `T` does.
        unsafe { &*(ptr::from_ref(filled) as *const [T]) }
    }

    /// Takes out the element at this place; there is one.
    pub(super) fn remove(&mut self, at: usize) -> T {
        let filled = &mut self.slots[self.head..self.tail];
        // SAFETY: the slot holds an element, which the next line overwrites or leaves behind `tail`.
        let item = unsafe { filled[at].assume_init_read() };
        // Those behind it move up. To copy a slot is to move the element in it.
        filled[at..].rotate_left(1);
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
    fn elements_leave_in_the_order_in_which_they_came() {
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
        assert!(block.is_full(), "the place before the head is not room");
        assert!(block.pop().is_some());
        assert!(!block.is_full());
        block.push_with(|| Rc::new(3));
        block.push_with(|| Rc::new(4));
        assert_eq!(contents(&block), [3, 4]);
    }

    #[test]
    fn any_place_can_be_removed() {
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
    fn a_maker_that_panics_leaves_its_place_empty() {
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
