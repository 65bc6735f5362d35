//! A double-ended queue, with or without a bound, as a [`Discipline`].

use std::collections::VecDeque;

use super::sequence::retain_by_verdicts;
use crate::queue::discipline::Discipline;

/// A first-in-first-out discipline with insertion at the head and removal at the tail too.
#[derive(Debug)]
pub(crate) struct DequeDiscipline<T> {
    pub(crate) items: VecDeque<T>,
    pub(crate) capacity: Option<usize>,
}

impl<T> DequeDiscipline<T> {
    pub(crate) fn push_front(&mut self, item: T) {
        self.items.push_front(item);
    }

    pub(crate) fn pop_back(&mut self) -> Option<T> {
        self.items.pop_back()
    }
}

impl<T: Send> Discipline for DequeDiscipline<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
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
        self.items
            .remove(index)
            .expect("the index comes from `iter`")
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        retain_by_verdicts(&mut self.items, verdicts)
    }

    fn capacity(&self) -> Option<usize> {
        self.capacity
    }
}
