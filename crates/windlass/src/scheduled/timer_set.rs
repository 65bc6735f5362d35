//! A set of timers in the order of due time and sequence, with removal from the middle.
//!
//! The timers that are due first are in a heap; the others in unsorted lists, one for each range of due
//! times, until all that are due before them have left. Most timers are cancelled long before they are
//! due: such a timer is appended to a list and removed from it, and never compared with another one.
//!
//! A heap that grows large is split into ranges by a sample of its due times. So the ranges fit the
//! timers, whatever their distribution, and there is no unit of time. A list whose turn comes moves into
//! the heap, or is split again if it is long. A timer moves `O(log n)` times, by a factor of sixty-four
//! each.
//!
//! The heap always has the first two timers: a worker sleeps until the first is due, another one until
//! the second.

use super::entry::Entry;
use super::far_ranges::FarRanges;
use super::near_heap::{Key, NearHeap};
use crate::task::Place;

/// A heap of more timers than this is split.
const LARGE_HEAP: usize = 256;
/// A list of no more timers than this moves into the heap at once.
const SHORT_LIST: usize = 128;
/// So many timers are in the heap, if there are as many.
const LEAST_NEAR: usize = 2;

/// The set.
#[derive(Debug)]
pub(super) struct TimerSet<E> {
    near: NearHeap<E>,
    far: FarRanges<E>,
    /// The heap is split when it has more than this.
    split_above: usize,
    last_sequence: u64,
}

impl<E> Default for TimerSet<E> {
    fn default() -> Self {
        Self {
            near: NearHeap::default(),
            far: FarRanges::default(),
            split_above: LARGE_HEAP,
            last_sequence: 0,
        }
    }
}

impl<E: Entry> TimerSet<E> {
    pub(super) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Returns the next sequence number; numbers start at one.
    #[inline]
    pub(super) fn next_sequence(&mut self) -> u64 {
        if self.last_sequence == Place::LAST_SEQUENCE {
            self.renumber();
        }
        self.last_sequence += 1;
        self.last_sequence
    }

    /// Inserts a timer, and returns its due time; one that has no sequence number is the last of those
    /// due at the same time.
    #[inline]
    pub(super) fn push(&mut self, entry: E) -> u64 {
        let (due, sequence) = entry.key();
        if sequence == 0 {
            self.push_new(due, entry);
        } else {
            self.insert(due, sequence, entry);
        }
        due
    }

    /// Inserts a timer that is due then and has no sequence number.
    #[inline]
    pub(super) fn push_new(&mut self, due: u64, entry: E) {
        let sequence = self.next_sequence();
        self.insert(due, sequence, entry);
    }

    #[inline]
    fn insert(&mut self, due: u64, sequence: u64, entry: E) {
        if self.far.covers(due) {
            self.far.push_new(due, sequence, entry);
            self.refill();
            return;
        }
        entry.set_sequence(sequence);
        self.near.push(Key {
            due,
            sequence,
            entry,
        });
        if self.near.len() > self.split_above {
            self.split_near();
        }
    }

    /// Returns due time and sequence number of the first timer.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.near.first().map(|key| (key.due, key.sequence))
    }

    /// Returns due time and sequence number of the second timer.
    pub(super) fn second(&self) -> Option<(u64, u64)> {
        self.near.second().map(|key| (key.due, key.sequence))
    }

    pub(super) fn peek(&self) -> Option<&E> {
        self.near.first().map(|key| &key.entry)
    }

    pub(super) fn pop(&mut self) -> Option<E> {
        let first = self.near.pop();
        self.refill();
        first
    }

    /// Removes the timer with this due time at this position, if it is the one that `is_wanted`.
    #[inline]
    pub(super) fn remove(
        &mut self,
        due: u64,
        at: usize,
        is_wanted: impl FnOnce(&E) -> bool,
    ) -> Option<E> {
        if self.far.covers(due) {
            return self.far.remove(due, at, is_wanted);
        }
        let key = self.near.keys().get(at)?;
        if !is_wanted(&key.entry) {
            return None;
        }
        let removed = self.near.remove(at);
        self.refill();
        Some(removed)
    }

    /// Iterates over all timers, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        let near = self.near.keys().iter().map(|key| &key.entry);
        near.chain(self.far.iter())
    }

    /// Takes all timers, in order.
    pub(super) fn take_all(&mut self) -> Vec<E> {
        let mut keys = self.take_keys();
        keys.sort_unstable_by_key(|key| (key.due, key.sequence));
        keys.into_iter().map(|key| key.entry).collect()
    }

    /// Keeps the timers whose verdict is true, in the order of [`iter`](Self::iter). Returns the others in
    /// that order.
    pub(super) fn retain(&mut self, verdicts: &[bool]) -> Vec<E> {
        let (near, far) = verdicts.split_at(self.near.len());
        let mut removed = self.near.retain(near);
        removed.extend(self.far.retain(far));
        self.refill();
        removed
    }

    /// Takes the keys of all timers, in the order of [`iter`](Self::iter).
    fn take_keys(&mut self) -> Vec<Key<E>> {
        let mut keys = self.near.take_keys();
        keys.extend(self.far.take_all().into_iter().map(Key::of));
        self.split_above = LARGE_HEAP;
        keys
    }

    /// Moves all but the first timers from the heap to ranges.
    #[cold]
    fn split_near(&mut self) {
        let keys = self.near.take_keys();
        let dues: Vec<u64> = keys.iter().map(|key| key.due).collect();
        let entries = keys.into_iter().map(|key| key.entry).collect();
        let earlier = self.far.split(&dues, entries);
        self.near.extend(earlier.into_iter().map(Key::of));
        // Many that are due at the same time stay, and are not looked at again for each that is inserted.
        self.split_above = LARGE_HEAP.max(2 * self.near.len());
        self.refill();
    }

    /// Moves timers into the heap until it has the first two.
    #[inline]
    fn refill(&mut self) {
        if self.near.len() < LEAST_NEAR && self.far.len() > 0 {
            self.refill_slow();
        }
    }

    #[cold]
    fn refill_slow(&mut self) {
        while self.near.len() < LEAST_NEAR {
            let Some(mut list) = self.far.take_earliest() else {
                return;
            };
            let mut former_len = usize::MAX;
            while list.len() > SHORT_LIST && list.len() < former_len {
                former_len = list.len();
                let dues: Vec<u64> = list.iter().map(Entry::due).collect();
                list = self.far.split(&dues, list);
            }
            self.near.extend(list.into_iter().map(Key::of));
        }
        self.split_above = LARGE_HEAP.max(2 * self.near.len());
    }

    /// Assigns new sequence numbers in the order of the old ones, after the last one was used.
    #[cold]
    fn renumber(&mut self) {
        let mut keys = self.take_keys();
        keys.sort_unstable_by_key(|key| key.sequence);
        self.last_sequence = 0;
        for key in &mut keys {
            self.last_sequence += 1;
            key.sequence = self.last_sequence;
            key.entry.set_sequence(key.sequence);
        }
        self.near.extend(keys);
        if self.near.len() > self.split_above {
            self.split_near();
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::{Entry, Place, TimerSet};

    /// A timer that others can look at while it is queued.
    #[derive(Clone, Debug)]
    struct Queued(Rc<Fields>);

    #[derive(Debug)]
    struct Fields {
        id: u64,
        due: u64,
        sequence: Cell<u64>,
        position: Cell<usize>,
    }

    impl Entry for Queued {
        fn due(&self) -> u64 {
            self.0.due
        }
        fn sequence(&self) -> u64 {
            self.0.sequence.get()
        }
        fn set_sequence(&self, sequence: u64) {
            self.0.sequence.set(sequence);
        }
        fn set_position(&self, position: usize) {
            self.0.position.set(position);
        }
    }

    /// A set, and a plain model of it: what is queued by due time and order of arrival.
    #[derive(Default)]
    struct Both {
        set: TimerSet<Queued>,
        model: BTreeMap<(u64, u64), Queued>,
        ids: u64,
    }

    impl Both {
        fn push(&mut self, due: u64) -> Queued {
            self.ids += 1;
            let queued = Queued(Rc::new(Fields {
                id: self.ids,
                due,
                sequence: Cell::new(0),
                position: Cell::new(usize::MAX),
            }));
            self.set.push(queued.clone());
            self.model.insert((due, queued.0.id), queued.clone());
            queued
        }

        fn pop(&mut self) {
            let expected = self.model.pop_first().map(|(_, queued)| queued.0.id);
            assert_eq!(self.set.pop().map(|queued| queued.0.id), expected);
        }

        fn remove(&mut self, queued: &Queued) {
            let expected = self.model.remove(&(queued.0.due, queued.0.id));
            let id = queued.0.id;
            let removed = self
                .set
                .remove(queued.0.due, queued.0.position.get(), |found| {
                    found.0.id == id
                });
            assert_eq!(removed.is_some(), expected.is_some());
            assert!(removed.is_none_or(|removed| removed.0.id == id));
        }

        fn retain(&mut self, keep: impl Fn(u64) -> bool) {
            let shown: Vec<u64> = self.set.iter().map(|queued| queued.0.id).collect();
            let verdicts: Vec<bool> = shown.iter().map(|id| keep(*id)).collect();
            let removed = self.set.retain(&verdicts);
            let removed: Vec<u64> = removed.iter().map(|queued| queued.0.id).collect();
            let expected: Vec<u64> = shown.into_iter().filter(|id| !keep(*id)).collect();
            assert_eq!(removed, expected);
            self.model.retain(|(_, id), _| keep(*id));
        }

        /// Compares what the workers of a pool rely on.
        fn check(&self) {
            assert_eq!(self.set.len(), self.model.len());
            let mut dues = self.model.keys().map(|(due, _)| *due);
            assert_eq!(self.set.first().map(|(due, _)| due), dues.next());
            assert_eq!(self.set.second().map(|(due, _)| due), dues.next());
            let first = self.model.values().next().map(|queued| queued.0.id);
            assert_eq!(self.set.peek().map(|queued| queued.0.id), first);
        }

        fn drain(mut self) {
            let expected: Vec<u64> = self.model.values().map(|queued| queued.0.id).collect();
            assert_eq!(self.set.iter().count(), expected.len());
            let taken = self.set.take_all();
            let taken: Vec<u64> = taken.iter().map(|queued| queued.0.id).collect();
            assert_eq!(taken, expected);
            assert_eq!((self.set.len(), self.set.first()), (0, None));
        }
    }

    /// Pseudo-random numbers (splitmix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % bound
        }
    }

    /// A due time of one of several distributions: from few different ones up to all of `u64`.
    fn due(random: &mut Random, kind: u64, now: u64) -> u64 {
        match kind {
            0 => now + random.below(3),
            1 => now + random.below(1_000_000),
            2 => {
                let bits = random.below(19);
                now + 1_000_000 - random.below(2 << bits)
            }
            3 => random.0.wrapping_mul(0x2545_F491_4F6C_DD1D),
            _ => u64::MAX - random.below(2),
        }
    }

    /// Random calls; `grows` of ten insert, the others remove in one of several ways.
    fn random_calls(seed: u64, calls: u64, grows: u64) {
        let mut random = Random(seed);
        let mut both = Both::default();
        let mut known = Vec::new();
        let kind = random.below(6);
        for call in 0..calls {
            let kind = if kind == 5 { random.below(5) } else { kind };
            match random.below(10) {
                n if n < grows => {
                    let due = due(&mut random, kind, call);
                    known.push(both.push(due));
                }
                n if n % 2 == 0 || known.is_empty() => both.pop(),
                _ => {
                    let at = random.below(known.len() as u64) as usize;
                    let queued = known.swap_remove(at);
                    both.remove(&queued);
                    // A second time: the position is another's by now, or nobody's.
                    both.remove(&queued);
                }
            }
            both.check();
            if random.below(5_000) == 0 {
                let keep = random.below(7);
                both.retain(|id| id % 7 < keep);
                both.check();
            }
        }
        both.drain();
    }

    #[test]
    fn random_calls_agree_with_a_sorted_map() {
        for seed in 0..60 {
            random_calls(seed, 2_000, 6);
        }
    }

    #[test]
    fn random_calls_on_many_timers_agree_with_a_sorted_map() {
        for seed in 60..72 {
            random_calls(seed, 20_000, 9);
        }
    }

    #[test]
    fn many_timers_leave_in_order_whatever_the_order_they_came_in() {
        const MANY: u64 = 12_000;
        let orders: [fn(u64) -> u64; 5] = [
            |n| n,
            |n| MANY - n,
            |n| n * 7_919 % MANY,
            |n| n % 2 * 1_000_000 + n / 2,
            |_| 7,
        ];
        for order in orders {
            let mut both = Both::default();
            (0..MANY).for_each(|n| drop(both.push(order(n))));
            for _ in 0..MANY {
                both.check();
                both.pop();
            }
            both.pop();
        }
    }

    /// Timers that come while others are due far later: the heap is split more than once.
    #[test]
    fn timers_that_are_due_ever_earlier_are_split_again() {
        let mut both = Both::default();
        for round in (0..6).rev() {
            for n in 0..3_000 {
                both.push(round * 1_000_000 + n * 7_919 % 100_000);
            }
            both.check();
        }
        for _ in 0..7_000 {
            both.pop();
        }
        both.check();
        both.drain();
    }

    #[test]
    fn equal_due_times_keep_their_order_when_the_numbers_run_out() {
        let mut both = Both::default();
        both.set.last_sequence = Place::LAST_SEQUENCE - 5_000;
        for n in 0..10_000 {
            both.push(n % 3);
        }
        assert!(both.set.last_sequence < 11_000);
        both.drain();
    }

    #[test]
    fn a_timer_that_is_queued_again_keeps_its_sequence_number() {
        let mut set = TimerSet::default();
        let mut both = Both::default();
        let (first, second) = (both.push(5), both.push(5));
        set.push(second);
        set.push(first.clone());
        assert_eq!(set.pop().map(|queued| queued.0.id), Some(first.0.id));
    }

    #[test]
    fn a_set_that_was_emptied_has_no_ranges() {
        let mut both = Both::default();
        let all: Vec<_> = (0..10_000_u64).map(|n| both.push(n * 13)).collect();
        assert!(both.set.far.len() > 0);
        all.iter().for_each(|queued| both.remove(queued));
        assert_eq!(both.set.len(), 0);
        assert!(!both.set.far.covers(u64::MAX));
    }
}
