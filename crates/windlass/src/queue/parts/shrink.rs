//! Giving back the memory that a burst of elements took.
//!
//! A structure that has become mostly empty gives back half of its memory or more. After that it
//! has room for twice its elements: so before it moves its elements again, as many are inserted or
//! half as many removed, and the moves cost each of these a constant at most.

use std::collections::VecDeque;

/// Memory up to this is kept: what is used again soon costs less than it would bring.
const MAX_KEPT_BYTES: usize = 16 * 1024;

/// A structure in one allocation.
pub(crate) trait Shrink {
    const ELEMENT_BYTES: usize;

    fn len_and_capacity(&self) -> (usize, usize);

    fn shrink_to(&mut self, capacity: usize);

    /// Gives back memory, if the structure has room for more than `min_capacity` elements and for
    /// more than four times as many as it holds.
    #[inline]
    fn shrink_if_mostly_empty(&mut self, min_capacity: usize) {
        let (len, capacity) = self.len_and_capacity();
        if len < capacity / 4 && capacity > min_capacity {
            let kept = MAX_KEPT_BYTES / Self::ELEMENT_BYTES.max(1);
            let needed = min_capacity.max(kept).max(2 * len);
            if needed <= capacity / 2 {
                self.shrink_to(needed);
            }
        }
    }
}

macro_rules! shrink {
    ($($structure:ident),*) => {$(
        impl<T> Shrink for $structure<T> {
            const ELEMENT_BYTES: usize = size_of::<T>();

            #[inline]
            fn len_and_capacity(&self) -> (usize, usize) {
                (self.len(), self.capacity())
            }

            #[cold]
            fn shrink_to(&mut self, capacity: usize) {
                self.shrink_to(capacity);
            }
        }
    )*};
}

shrink!(Vec, VecDeque);

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::collections::VecDeque;

    use super::{MAX_KEPT_BYTES, Shrink};

    #[test]
    fn what_is_mostly_empty_shrinks_and_what_is_small_stays() {
        let mut items: VecDeque<u64> = (0..100_000).collect();
        let mut moves = 0;
        while items.pop_front().is_some() {
            let before = items.capacity();
            items.shrink_if_mostly_empty(0);
            moves += usize::from(items.capacity() != before);
            let is_fair = items.capacity() <= (4 * items.len() + 4).max(MAX_KEPT_BYTES / 4);
            assert!(is_fair, "{} in {}", items.len(), items.capacity());
        }
        assert!(moves < 10, "{moves}");
        assert!(items.capacity() > 0);
    }

    #[test]
    fn what_was_asked_for_stays() {
        let mut items: Vec<u64> = Vec::with_capacity(100_000);
        items.shrink_if_mostly_empty(100_000);
        assert_eq!(items.capacity(), 100_000);
        items.shrink_if_mostly_empty(40_000);
        assert_eq!(items.capacity(), 40_000);
    }

    #[test]
    fn elements_without_size_are_no_matter() {
        let mut items = vec![(); 10];
        items.shrink_if_mostly_empty(0);
        assert_eq!(items.len(), 10);
    }
}
