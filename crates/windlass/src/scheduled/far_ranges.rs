//! The timers that are not due for some time: unsorted lists, one for each range of due times.
//!
//! A range starts where the one before it ends; the last has no end. A timer is appended to the list of
//! its range, and its due time tells the range again when it is removed.

use super::entry::Entry;
use super::far_list::FarList;

/// How many ranges a list is split into at most.
const FAN_OUT: usize = 64;
/// How many timers a range gets at least, about: more ranges than that cost more memory and time than
/// they save.
const PER_RANGE: usize = 64;
/// How many due times are looked at for each range, to choose where the ranges start.
const SAMPLES_PER_RANGE: usize = 8;

/// The ranges, the latest first: the earliest is taken from the end.
#[derive(Debug)]
pub(super) struct FarRanges<E> {
    /// Where each range starts, in descending order.
    starts: Vec<u64>,
    /// The timers of each range.
    lists: Vec<FarList<E>>,
    len: usize,
}

impl<E> Default for FarRanges<E> {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            lists: Vec::new(),
            len: 0,
        }
    }
}

impl<E: Entry> FarRanges<E> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether a timer with this due time belongs to one of the ranges.
    #[inline]
    pub(super) fn covers(&self, due: u64) -> bool {
        self.starts.last().is_some_and(|start| *start <= due)
    }

    fn range_of(&self, due: u64) -> usize {
        self.starts.partition_point(|start| *start > due)
    }

    /// Inserts a timer that belongs to one of the ranges.
    #[inline]
    pub(super) fn push(&mut self, due: u64, entry: E) {
        let range = self.range_of(due);
        self.lists[range].push(entry);
        self.len += 1;
    }

    /// Inserts a timer that belongs to one of the ranges, with its sequence number.
    #[inline]
    pub(super) fn push_new(&mut self, due: u64, sequence: u64, entry: E) {
        let range = self.range_of(due);
        self.lists[range].push_new(sequence, entry);
        self.len += 1;
    }

    /// Removes the timer with this due time at this position, if it is the one that `is_wanted`.
    #[inline]
    pub(super) fn remove(
        &mut self,
        due: u64,
        at: usize,
        is_wanted: impl FnOnce(&E) -> bool,
    ) -> Option<E> {
        let range = self.range_of(due);
        let list = self.lists.get_mut(range)?;
        list.get(at).filter(|entry| is_wanted(entry))?;
        let removed = list.remove(at);
        self.len -= usize::from(removed.is_some());
        self.reset_if_empty();
        removed
    }

    /// Keeps the timers whose verdict is true, in the order of [`iter`](Self::iter). Returns the others in
    /// that order.
    pub(super) fn retain(&mut self, verdicts: &[bool]) -> Vec<E> {
        let mut removed = Vec::new();
        let mut verdicts = verdicts;
        for list in &mut self.lists {
            let (these, others) = verdicts.split_at(list.len());
            list.retain(these, &mut removed);
            verdicts = others;
        }
        self.len -= removed.len();
        self.reset_if_empty();
        removed
    }

    /// Forgets the ranges if they have no timers, so that the heap takes whatever comes.
    #[inline]
    fn reset_if_empty(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// Iterates over all timers, range by range.
    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.lists.iter().flat_map(FarList::iter)
    }

    /// Takes the timers of the earliest range that has any.
    pub(super) fn take_earliest(&mut self) -> Option<Vec<E>> {
        while let Some(list) = self.lists.pop() {
            self.starts.pop();
            if list.len() > 0 {
                self.len -= list.len();
                self.reset_if_empty();
                return Some(list.into_timers().collect());
            }
        }
        None
    }

    /// Takes all timers.
    pub(super) fn take_all(&mut self) -> Vec<E> {
        let all = std::mem::take(self);
        all.lists
            .into_iter()
            .flat_map(FarList::into_timers)
            .collect()
    }

    /// Distributes timers that are due before all ranges over new ranges, and returns those that are due
    /// before the new ones; all of them if all are due at the same time.
    ///
    /// `dues` are their due times, in the same order.
    pub(super) fn split(&mut self, dues: &[u64], timers: Vec<E>) -> Vec<E> {
        let starts = choose_starts(dues);
        let Some(first) = starts.last().copied() else {
            return timers;
        };
        let old = self.starts.len();
        self.lists.resize_with(old + starts.len(), FarList::default);
        self.starts.extend(starts);
        let mut earlier = Vec::new();
        for (due, timer) in dues.iter().zip(timers) {
            if *due < first {
                earlier.push(timer);
            } else {
                self.push(*due, timer);
            }
        }
        earlier
    }
}

/// Chooses where the ranges start that these due times are distributed over, in descending order: so that
/// each has about as many of them, and some are left before the first.
fn choose_starts(dues: &[u64]) -> Vec<u64> {
    let ranges = (dues.len() / PER_RANGE).clamp(2, FAN_OUT);
    let step = (dues.len() / (ranges * SAMPLES_PER_RANGE)).max(1);
    let mut samples: Vec<u64> = dues.iter().copied().step_by(step).collect();
    samples.sort_unstable();
    let least = samples.first().copied();
    let per_range = samples.len().div_ceil(ranges);
    let mut starts: Vec<u64> = samples.into_iter().step_by(per_range).collect();
    starts.dedup();
    starts.retain(|start| Some(*start) != least);
    starts.reverse();
    starts
}
