//! Elements in order, as a queue keeps them at each of its ends.

use std::collections::VecDeque;

/// A first-in-first-out sequence: pushed at the tail, popped at the head; any element can be read
/// and removed.
pub(crate) trait Sequence {
    type Item;

    fn len(&self) -> usize;

    /// Pushes the element that `make` returns, created in its slot.
    fn push_with(&mut self, make: impl FnOnce() -> Self::Item);

    #[inline]
    fn push(&mut self, item: Self::Item) {
        self.push_with(|| item);
    }

    fn pop(&mut self) -> Option<Self::Item>;

    fn iter(&self) -> impl Iterator<Item = &Self::Item>;

    /// Removes the element at this index in the order of [`iter`](Self::iter).
    fn remove(&mut self, index: usize) -> Option<Self::Item>;

    /// Keeps the elements for which the next `len` verdicts are true; returns the others in order.
    fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<Self::Item>;
}

/// A ring, which does not allocate while it holds no more than it was created for.
impl<T> Sequence for VecDeque<T> {
    type Item = T;

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn push_with(&mut self, make: impl FnOnce() -> T) {
        self.push_back(make());
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        self.pop_front()
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter()
    }

    fn remove(&mut self, index: usize) -> Option<T> {
        self.remove(index)
    }

    fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<T> {
        let verdicts: Vec<bool> = verdicts.take(self.len()).collect();
        retain_by_verdicts(self, &verdicts)
    }
}

/// Keeps the elements whose verdict is true, in one pass; returns the others in order.
pub(crate) fn retain_by_verdicts<T>(items: &mut VecDeque<T>, verdicts: &[bool]) -> Vec<T> {
    let mut removed = Vec::new();
    for &keep in verdicts {
        if let Some(item) = items.pop_front() {
            if keep {
                items.push_back(item);
            } else {
                removed.push(item);
            }
        }
    }
    removed
}
