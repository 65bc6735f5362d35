//! The queue of work from outside the pool, which all workers take from.

use super::job::Work;
use crate::queue::{BlockList, Sequence};

/// Work from outside the pool, oldest first, and jobs that were moved out of deques.
///
/// It lies in blocks: it never moves what it holds, and gives back memory block by block.
#[derive(Debug, Default)]
pub(super) struct Injector {
    work: BlockList<Work>,
    /// Whether jobs were ever moved here from a deque.
    has_moved: bool,
}

impl Injector {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.work.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.work.len() == 0
    }

    #[inline]
    pub(super) fn push(&mut self, work: Work) {
        self.work.push(work);
    }

    /// Takes the oldest work.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Work> {
        self.work.pop()
    }

    /// Takes the oldest work that is wanted.
    pub(super) fn pop_if(&mut self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let at = self.work.iter().position(wanted)?;
        self.work.remove(at)
    }

    /// Returns whether there is a task.
    pub(super) fn has_tasks(&self) -> bool {
        !self.work.iter().all(Work::is_job)
    }

    /// Takes all tasks; the jobs stay.
    pub(super) fn take_tasks(&mut self) -> Vec<Work> {
        let (jobs, tasks): (Vec<Work>, Vec<Work>) =
            std::iter::from_fn(|| self.work.pop()).partition(Work::is_job);
        jobs.into_iter().for_each(|job| self.work.push(job));
        tasks
    }

    /// Adds a job that was in a deque; its owner looks for it here.
    pub(super) fn push_moved(&mut self, job: Work) {
        self.has_moved = true;
        self.push(job);
    }

    /// Returns whether jobs were ever moved here from a deque.
    pub(super) fn has_moved(&self) -> bool {
        self.has_moved
    }
}

impl Iterator for Injector {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        self.pop()
    }
}
