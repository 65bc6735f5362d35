//! The elements: those of the discipline, and those that have left it but could not be delivered.
//!
//! A discipline is user code, and any of its methods may panic. If one does after another has
//! removed an element, the panic takes the place of the element on the way to the caller. The
//! element is then kept here, is counted like all others, and is the next to leave.

use std::collections::VecDeque;
use std::mem;
use std::time::Instant;

use crate::queue::discipline::Discipline;
use crate::queue::parts::sequence::retain_by_verdicts;

/// A discipline, and the elements that could not be delivered.
pub(crate) struct Items<D: Discipline> {
    pub(crate) discipline: D,
    /// In the order in which they leave. Nearly always empty.
    undelivered: VecDeque<D::Item>,
}

impl<D: Discipline> Items<D> {
    pub(super) fn new(discipline: D) -> Self {
        Self {
            discipline,
            undelivered: VecDeque::new(),
        }
    }

    /// Converts into the discipline, with all elements.
    pub(super) fn into_discipline(mut self) -> D {
        for item in self.undelivered {
            self.discipline.push(item);
        }
        self.discipline
    }

    pub(super) fn len(&self) -> usize {
        self.undelivered.len() + self.discipline.len()
    }

    /// Returns how many elements can leave.
    pub(super) fn available(&self) -> usize {
        self.undelivered.len() + self.discipline.available()
    }

    /// Returns how many more elements there is room for.
    pub(super) fn room(&self) -> usize {
        self.discipline
            .capacity()
            .map_or(usize::MAX, |bound| bound.saturating_sub(self.len()))
    }

    /// Returns the time before which the next element must not leave; `None` if it may leave now.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        if self.undelivered.is_empty() {
            self.discipline.ready_at()
        } else {
            None
        }
    }

    pub(super) fn peek(&self) -> Option<&D::Item> {
        self.undelivered.front().or_else(|| self.discipline.peek())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &D::Item> {
        self.undelivered.iter().chain(self.discipline.iter())
    }

    /// Removes the next element: with `remove`, if the discipline has it.
    #[inline]
    pub(super) fn pop_with(
        &mut self,
        remove: impl FnOnce(&mut D) -> Option<D::Item>,
    ) -> Option<D::Item> {
        if self.undelivered.is_empty() {
            remove(&mut self.discipline)
        } else {
            self.undelivered.pop_front()
        }
    }

    /// Removes the first element, in the order of [`iter`](Self::iter), that is wanted.
    pub(super) fn remove_first(
        &mut self,
        wanted: &mut dyn FnMut(&D::Item) -> bool,
    ) -> Option<D::Item> {
        let index = self.iter().position(wanted)?;
        match index.checked_sub(self.undelivered.len()) {
            None => self.undelivered.remove(index),
            Some(index) => Some(self.discipline.remove(index)),
        }
    }

    /// Removes the elements that are not to be kept; returns them in the order of
    /// [`iter`](Self::iter).
    pub(super) fn retain(&mut self, keep: &mut dyn FnMut(&D::Item) -> bool) -> Vec<D::Item> {
        // All verdicts first, so that a predicate that panics changes nothing.
        let verdicts: Vec<bool> = self.iter().map(keep).collect();
        let (of_undelivered, of_discipline) = verdicts.split_at(self.undelivered.len());
        let from_discipline = self.discipline.retain(of_discipline);
        let mut removed = retain_by_verdicts(&mut self.undelivered, of_undelivered);
        removed.extend(from_discipline);
        removed
    }

    /// Removes all elements, whether they are ready or not.
    pub(super) fn take_all(&mut self) -> Vec<D::Item> {
        let from_discipline = self.discipline.take_all();
        if self.undelivered.is_empty() {
            return from_discipline;
        }
        let mut removed = Vec::from(mem::take(&mut self.undelivered));
        removed.extend(from_discipline);
        removed
    }

    /// Keeps what was removed by a call that panics. It leaves before all others.
    pub(super) fn keep(&mut self, removed: impl IntoIterator<Item = D::Item>) {
        let mut kept: VecDeque<_> = removed.into_iter().collect();
        kept.append(&mut self.undelivered);
        self.undelivered = kept;
    }
}
