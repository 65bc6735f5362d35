//! A line with two ends, with or without a bound.

use std::collections::VecDeque;

use super::{Discipline, discipline};

#[derive(Debug)]
pub(super) struct Line<T> {
    pub(super) items: VecDeque<T>,
    pub(super) capacity: Option<usize>,
}

impl<T> Line<T> {
    pub(super) fn push_front(&mut self, item: T) {
        self.items.push_front(item);
    }

    pub(super) fn pop_back(&mut self) -> Option<T> {
        self.items.pop_back()
    }
}

impl<T: Send> Discipline for Line<T> {
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

    fn remove(&mut self, at: usize) -> T {
        self.items.remove(at).expect("the place comes from `iter`")
    }

    fn retain(&mut self, keep: &[bool]) -> Vec<T> {
        discipline::partition(&mut self.items, keep)
    }

    fn capacity(&self) -> Option<usize> {
        self.capacity
    }
}
