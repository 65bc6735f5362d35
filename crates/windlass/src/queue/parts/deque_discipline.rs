//! A double-ended queue, with or without a bound, as a [`Discipline`].

use std::collections::VecDeque;

use super::sequence::retain_by_verdicts;
use super::shrink::Shrink;
use crate::queue::discipline::Discipline;

/// A first-in-first-out discipline with insertion at the head and removal at the tail too.
#[derive(Debug)]
pub(crate) struct DequeDiscipline<T> {
    pub(crate) items: VecDeque<T>,
    pub(crate) capacity: Option<usize>,
}

impl<T> DequeDiscipline<T> {
    /// As [`push_from`](Discipline::push_from), at the other end.
    pub(crate) fn push_front_from(&mut self, item: &mut Option<T>) {
        if let Some(item) = item.take() {
            self.items.push_front(item);
        }
    }

    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let item = self.items.pop_back();
        self.after_removal();
        item
    }

    /// Removes the element at this index from the head.
    pub(crate) fn remove_at(&mut self, index: usize) -> Option<T> {
        let item = self.items.remove(index);
        self.after_removal();
        item
    }

    #[inline]
    fn after_removal(&mut self) {
        self.items.shrink_if_mostly_empty(0);
    }
}

impl<T: Send> Discipline for DequeDiscipline<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front();
        self.after_removal();
        item
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn peek(&self) -> Option<&T> {
        self.items.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.items.iter())
    }

    fn remove(&mut self, index: usize) -> T {
        self.remove_at(index).expect("the index comes from `iter`")
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        let removed = retain_by_verdicts(&mut self.items, verdicts);
        self.after_removal();
        removed
    }

    fn take_all(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items).into()
    }

    fn capacity(&self) -> Option<usize> {
        self.capacity
    }
}
