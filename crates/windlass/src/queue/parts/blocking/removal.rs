//! Elements on their way from the queue to a caller.

use std::mem;

use super::state::State;
use crate::queue::discipline::Discipline;

/// What a call removes: one element at most, or any number.
pub(super) trait Removed<T>: Default + IntoIterator<Item = T> {
    fn count(&self) -> usize;
}

impl<T> Removed<T> for Option<T> {
    fn count(&self) -> usize {
        usize::from(self.is_some())
    }
}

impl<T> Removed<T> for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

/// Elements that have been removed, while user code may still panic. Unless they are
/// [delivered](Self::deliver), the queue keeps them.
pub(super) struct Removal<'a, D: Discipline, R: Removed<D::Item>> {
    pub(super) state: &'a mut State<D>,
    pub(super) removed: R,
}

impl<'a, D: Discipline, R: Removed<D::Item>> Removal<'a, D, R> {
    pub(super) fn new(state: &'a mut State<D>) -> Self {
        Self {
            state,
            removed: R::default(),
        }
    }

    pub(super) fn deliver(mut self) -> R {
        mem::take(&mut self.removed)
    }
}

impl<D: Discipline, R: Removed<D::Item>> Drop for Removal<'_, D, R> {
    fn drop(&mut self) {
        if self.removed.count() > 0 {
            self.state.items.keep(mem::take(&mut self.removed));
        }
    }
}
