//! Elements in order, as a queue with two ends keeps them in each of its boxes.

use std::collections::VecDeque;

use super::discipline;

/// In at the back, out at the front; anything can be looked at and taken out.
pub(super) trait Sequence {
    type Item;

    fn len(&self) -> usize;
    fn push_with(&mut self, make: impl FnOnce() -> Self::Item);

    #[inline]
    fn push(&mut self, item: Self::Item) {
        self.push_with(|| item);
    }

    fn pop(&mut self) -> Option<Self::Item>;
    fn iter(&self) -> impl Iterator<Item = &Self::Item>;

    /// Takes out the element at this place.
    fn remove(&mut self, at: usize) -> Option<Self::Item>;

    /// Keeps what the next `len` verdicts keep; the others come back in order.
    fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<Self::Item>;
}

/// A ring, which does not allocate as long as it is not filled beyond what it was made for.
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

    fn remove(&mut self, at: usize) -> Option<T> {
        self.remove(at)
    }

    fn retain(&mut self, verdicts: &mut impl Iterator<Item = bool>) -> Vec<T> {
        let verdicts: Vec<bool> = verdicts.take(self.len()).collect();
        discipline::partition(self, &verdicts)
    }
}
