//! The task count that was reported last.
//!
//! A task that a worker has taken and not begun is neither queued nor active, so a read of the pool
//! yields only a lower and an upper bound. Only a removal lowers the count: without one, the count is
//! at least the one reported before.
//!
//! The low bits are the count, the high bits the number of removals. A count that was computed before
//! a removal is not stored after it, since the number of removals differs. The word is read before
//! the pool is read, and written afterwards.

use crate::sync::atomic::{AtomicU64, Ordering};

/// Bits of the count; more tasks than any pool ever runs.
const COUNT_BITS: u32 = 48;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// The last count, and the number of removals.
#[derive(Debug, Default)]
pub(crate) struct TaskCount(AtomicU64);

/// A snapshot of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskCountSnapshot(u64);

impl TaskCountSnapshot {
    fn count(self) -> u64 {
        self.0 & COUNT_MASK
    }

    fn removals(self) -> u64 {
        self.0 >> COUNT_BITS
    }

    fn with_count(self, count: u64) -> Self {
        Self((self.0 & !COUNT_MASK) | (count & COUNT_MASK))
    }
}

impl TaskCount {
    /// Returns the last report; called before the pool is read.
    pub(crate) fn last(&self) -> TaskCountSnapshot {
        TaskCountSnapshot(self.0.load(Ordering::SeqCst))
    }

    /// Returns the count, which lies between these bounds, and stores it as the last report.
    pub(crate) fn update(&self, last: TaskCountSnapshot, least: u64, most: u64) -> u64 {
        let count = last.count().min(most).max(least);
        let update = |word| {
            let now = TaskCountSnapshot(word);
            // A count below the last one means that tasks were removed from the queue directly.
            let changed = now == last || (now.removals() == last.removals() && now.count() < count);
            changed.then(|| now.with_count(count).0)
        };
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, update);
        count
    }

    /// Resets the last report, after tasks have been removed: the count may be lower now.
    pub(crate) fn invalidate(&self) {
        let forget = |word| {
            let removals = TaskCountSnapshot(word).removals().wrapping_add(1);
            Some(removals << COUNT_BITS)
        };
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, forget);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::TaskCount;

    #[test]
    fn the_count_does_not_fall_while_it_cannot_have() {
        let task_count = TaskCount::default();
        assert_eq!(task_count.update(task_count.last(), 5, 5), 5);
        assert_eq!(task_count.update(task_count.last(), 3, 6), 5);
        assert_eq!(task_count.update(task_count.last(), 7, 9), 7);
    }

    #[test]
    fn the_count_falls_when_it_must_have() {
        let task_count = TaskCount::default();
        task_count.update(task_count.last(), 5, 5);
        assert_eq!(task_count.update(task_count.last(), 3, 4), 4);
        assert_eq!(task_count.update(task_count.last(), 3, 9), 4);
    }

    #[test]
    fn a_count_from_before_a_removal_is_not_noted_after_it() {
        let task_count = TaskCount::default();
        let before = task_count.last();
        task_count.invalidate();
        assert_eq!(task_count.update(before, 5, 5), 5);
        assert_eq!(task_count.update(task_count.last(), 4, 9), 4);
    }

    #[test]
    fn removals_without_end_do_not_reach_the_count() {
        let task_count = TaskCount::default();
        for _ in 0..70_000 {
            task_count.invalidate();
        }
        assert_eq!(task_count.update(task_count.last(), 2, 9), 2);
    }
}
