//! A binary min-heap in which equal elements keep their order of arrival.
//!
//! Unlike `std`'s heap it can remove from the middle, and it compares before it moves: every
//! operation first computes where elements will go, and only then moves anything. A comparison that
//! panics therefore leaves the heap as it was.

use std::cmp::Ordering;

use super::shrink::Shrink;

/// A binary min-heap. The order is a parameter of each operation, since the owner may store it as a
/// closure.
#[derive(Debug)]
pub(crate) struct StableHeap<T> {
    entries: Vec<Entry<T>>,
    next_sequence: u64,
    /// The elements that the heap was created with memory for, which is kept.
    min_capacity: usize,
}

#[derive(Debug)]
struct Entry<T> {
    item: T,
    sequence: u64,
}

impl<T> Default for StableHeap<T> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<T> StableHeap<T> {
    /// Creates a heap with room for `hint` elements, if there is memory for them.
    pub(crate) fn with_capacity(hint: usize) -> Self {
        let mut entries = Vec::new();
        // Only a hint: without it the heap grows as it is filled.
        let _ = entries.try_reserve_exact(hint);
        Self {
            min_capacity: entries.capacity(),
            entries,
            next_sequence: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn peek(&self) -> Option<&T> {
        self.entries.first().map(|entry| &entry.item)
    }

    /// Returns all elements, in the order of the structure.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &entry.item)
    }

    pub(crate) fn push(&mut self, item: T, compare: impl Fn(&T, &T) -> Ordering) {
        self.push_from(&mut Some(item), compare);
    }

    /// Inserts the element of `item`, which stays there if a comparison panics.
    pub(crate) fn push_from(&mut self, item: &mut Option<T>, compare: impl Fn(&T, &T) -> Ordering) {
        let sequence = self.next_sequence;
        let Some(new) = item.as_ref() else { return };
        let path = self.path_up(self.entries.len(), (new, sequence), &compare);
        let Some(item) = item.take() else { return };
        self.next_sequence += 1;
        self.entries.push(Entry { item, sequence });
        self.sift_along(self.entries.len() - 1, &path);
    }

    pub(crate) fn pop(&mut self, compare: impl Fn(&T, &T) -> Ordering) -> Option<T> {
        if self.entries.is_empty() {
            None
        } else {
            Some(self.remove(0, compare))
        }
    }

    /// Removes the element at this index in the order of [`iter`](Self::iter).
    pub(crate) fn remove(&mut self, at: usize, compare: impl Fn(&T, &T) -> Ordering) -> T {
        let last = self.entries.len() - 1;
        let mut path = Vec::new();
        if at < last {
            // The last element fills the gap, and sifts up or down from there.
            let filler = &self.entries[last];
            path = self.path_up(at, filler.as_key(), &compare);
            if path.is_empty() {
                path = self.path_down(at, last, filler, &compare);
            }
        }
        let removed = self.entries.swap_remove(at);
        self.sift_along(at, &path);
        self.entries.shrink_if_mostly_empty(self.min_capacity);
        removed.item
    }

    /// Keeps the elements whose verdict is true, in the order of [`iter`](Self::iter); returns the
    /// others.
    pub(crate) fn retain(
        &mut self,
        verdicts: &[bool],
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> Vec<T> {
        let (mut kept, removed): (Vec<usize>, Vec<usize>) =
            (0..self.entries.len()).partition(|at| verdicts.get(*at).is_none_or(|keep| *keep));
        if removed.is_empty() {
            return Vec::new();
        }
        for at in (0..kept.len() / 2).rev() {
            self.sift_down(&mut kept, at, &compare);
        }
        let mut entries = self.take_entries();
        let removed = entries.take(removed).map(|entry| entry.item).collect();
        self.entries.extend(entries.take(kept));
        removed
    }

    /// Removes everything, in the order of [`pop`](Self::pop).
    pub(crate) fn take_all(&mut self, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
        let mut heap: Vec<usize> = (0..self.entries.len()).collect();
        let mut order = Vec::with_capacity(heap.len());
        while !heap.is_empty() {
            order.push(heap.swap_remove(0));
            self.sift_down(&mut heap, 0, &compare);
        }
        let mut entries = self.take_entries();
        entries.take(order).map(|entry| entry.item).collect()
    }

    fn take_entries(&mut self) -> TakenEntries<T> {
        let taken = TakenEntries(self.entries.drain(..).map(Some).collect());
        self.entries.shrink_if_mostly_empty(self.min_capacity);
        taken
    }

    /// Moves the element at `at` down to its place, in a heap of indices of elements.
    fn sift_down(&self, heap: &mut [usize], mut at: usize, compare: &impl Fn(&T, &T) -> Ordering) {
        let precedes = |a: usize, b: usize| self.entries[a].precedes(&self.entries[b], compare);
        loop {
            let mut child = 2 * at + 1;
            if child >= heap.len() {
                return;
            }
            if child + 1 < heap.len() && precedes(heap[child + 1], heap[child]) {
                child += 1;
            }
            if !precedes(heap[child], heap[at]) {
                return;
            }
            heap.swap(at, child);
            at = child;
        }
    }

    /// Returns the indices that an element inserted at `at` passes on its way up.
    fn path_up(
        &self,
        mut at: usize,
        key: (&T, u64),
        compare: &impl Fn(&T, &T) -> Ordering,
    ) -> Vec<usize> {
        let mut path = Vec::new();
        while at > 0 {
            let parent = (at - 1) / 2;
            if !precedes(key, self.entries[parent].as_key(), compare) {
                break;
            }
            path.push(parent);
            at = parent;
        }
        path
    }

    /// Returns the indices that an element inserted at `at` passes on its way down, among the first
    /// `len`.
    fn path_down(
        &self,
        mut at: usize,
        len: usize,
        entry: &Entry<T>,
        compare: &impl Fn(&T, &T) -> Ordering,
    ) -> Vec<usize> {
        let mut path = Vec::new();
        loop {
            let mut child = 2 * at + 1;
            if child >= len {
                return path;
            }
            let right = child + 1;
            if right < len && self.entries[right].precedes(&self.entries[child], compare) {
                child = right;
            }
            if !self.entries[child].precedes(entry, compare) {
                return path;
            }
            path.push(child);
            at = child;
        }
    }

    /// Moves the element at `at` along the path; those on it move one step in the other direction.
    fn sift_along(&mut self, mut at: usize, path: &[usize]) {
        for &next in path {
            self.entries.swap(at, next);
            at = next;
        }
    }
}

/// The entries of a heap, which are taken out one by one, each once.
struct TakenEntries<T>(Vec<Option<Entry<T>>>);

impl<T> TakenEntries<T> {
    fn take(&mut self, indices: Vec<usize>) -> impl Iterator<Item = Entry<T>> {
        indices.into_iter().filter_map(|at| self.0[at].take())
    }
}

impl<T> Entry<T> {
    /// Returns what it is ordered by: the element, and its place in the order of arrival.
    fn as_key(&self) -> (&T, u64) {
        (&self.item, self.sequence)
    }

    fn precedes(&self, other: &Self, compare: &impl Fn(&T, &T) -> Ordering) -> bool {
        precedes(self.as_key(), other.as_key(), compare)
    }
}

fn precedes<T>(one: (&T, u64), other: (&T, u64), compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    match compare(one.0, other.0) {
        Ordering::Less => true,
        Ordering::Equal => one.1 < other.1,
        Ordering::Greater => false,
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::StableHeap;

    fn sorted(mut heap: StableHeap<(u32, u32)>) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| heap.pop(|a, b| a.0.cmp(&b.0))).collect()
    }

    fn heap_of(keys: &[u32]) -> StableHeap<(u32, u32)> {
        let mut heap = StableHeap::default();
        for (at, &key) in keys.iter().enumerate() {
            heap.push((key, u32::try_from(at).expect("few keys")), |a, b| {
                a.0.cmp(&b.0)
            });
        }
        heap
    }

    #[test]
    fn equals_leave_in_order_of_arrival() {
        let order = sorted(heap_of(&[2, 1, 2, 1, 2, 1, 2, 1]));
        assert_eq!(
            order,
            [
                (1, 1),
                (1, 3),
                (1, 5),
                (1, 7),
                (2, 0),
                (2, 2),
                (2, 4),
                (2, 6)
            ]
        );
    }

    #[test]
    fn elements_leave_in_order_whatever_the_order_of_their_arrival() {
        // Each number below 101 once, in no order.
        let keys: Vec<u32> = (0..101).map(|number| number * 37 % 101).collect();
        let order = sorted(heap_of(&keys));
        assert!(order.iter().map(|entry| entry.0).eq(0..101));
    }

    #[test]
    fn removing_any_element_keeps_the_order_of_the_rest() {
        let keys = [5, 3, 8, 1, 9, 2, 7, 3, 3, 0, 6];
        for at in 0..keys.len() {
            let mut heap = heap_of(&keys);
            let removed = heap.remove(at, |a, b| a.0.cmp(&b.0));
            let mut expected = sorted(heap_of(&keys));
            expected.retain(|entry| *entry != removed);
            assert_eq!(sorted(heap), expected, "without index {at}");
        }
    }

    #[test]
    fn any_number_of_elements_can_be_retained() {
        let keys = [5, 3, 8, 1, 9, 2, 7, 3, 3, 0, 6];
        for kept in 0..=keys.len() {
            let mut heap = heap_of(&keys);
            let rest: Vec<_> = heap.iter().skip(keys.len() - kept).copied().collect();
            let keep: Vec<bool> = heap.iter().map(|entry| rest.contains(entry)).collect();
            let removed = heap.retain(&keep, |a, b| a.0.cmp(&b.0));
            assert_eq!((removed.len(), heap.len()), (keys.len() - kept, kept));
            let mut expected = rest;
            expected.sort_unstable();
            assert_eq!(heap.peek(), expected.first());
            assert_eq!(sorted(heap), expected);
        }
    }

    #[test]
    fn retaining_keeps_the_order_of_the_rest() {
        let mut heap = heap_of(&[5, 3, 8, 1, 9, 2, 7, 3, 3, 0, 6]);
        let keep: Vec<bool> = heap.iter().map(|entry| entry.0 % 3 != 0).collect();
        let mut removed = heap.retain(&keep, |a, b| a.0.cmp(&b.0));
        removed.sort_unstable();
        assert_eq!(removed, [(0, 9), (3, 1), (3, 7), (3, 8), (6, 10), (9, 4)]);
        assert_eq!(sorted(heap), [(1, 3), (2, 5), (5, 0), (7, 6), (8, 2)]);
    }

    #[test]
    fn a_comparison_that_panics_changes_nothing() {
        let mut heap = heap_of(&[4, 2, 6]);
        let pushed = catch_unwind(AssertUnwindSafe(|| {
            heap.push((1, 99), |_, _| panic!("no order"));
        }));
        assert!(pushed.is_err());
        let popped = catch_unwind(AssertUnwindSafe(|| heap.pop(|_, _| panic!("no order"))));
        assert!(popped.is_err());
        assert_eq!(sorted(heap), [(2, 1), (4, 0), (6, 2)]);
    }
}
