//! An unbounded queue whose least element is next.
//!
//! Equal elements leave in order of arrival, which the JDK does not promise.

use std::cmp::Ordering;
use std::sync::Arc;

use super::discipline::Discipline;
use super::fairness::Fairness;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::interrupt_precedence::InterruptPrecedence;
use super::parts::stable_heap::StableHeap;

/// The order of a [`PriorityBlockingQueue`].
type Compare<T> = Arc<dyn Fn(&T, &T) -> Ordering + Send + Sync>;

/// An unbounded queue that removes the least element first, and equal elements in order of arrival.
///
/// `std`'s `BinaryHeap` removes the greatest first; this one, like the JDK's, the least. Elements
/// need no `Ord` of their own with [`with_comparator`](Self::with_comparator) or
/// [`by_key`](Self::by_key). `for_each` and snapshots are in no particular order.
///
/// A pending interrupt ends `take` and `poll_timeout` even where they need not wait; insertion
/// never waits and never checks.
///
/// ```
/// use windlass::queue::{BlockingQueue, PriorityBlockingQueue};
///
/// let queue = PriorityBlockingQueue::by_key(|task: &(u8, &str)| task.0);
/// queue.offer((2, "tidy up")).unwrap();
/// queue.offer((1, "put out the fire")).unwrap();
/// assert_eq!(queue.poll(), Some((1, "put out the fire")));
/// ```
pub struct PriorityBlockingQueue<T: Send>(Blocking<Heap<T>>);

impl<T: Send> PriorityBlockingQueue<T> {
    /// Creates a queue in the elements' own order.
    #[must_use]
    pub fn new() -> Self
    where
        T: Ord + 'static,
    {
        Self::with_comparator(T::cmp)
    }

    /// Creates a queue in the elements' own order, with memory for `hint` of them (zero is
    /// allowed). A hint for which there is no memory is ignored.
    #[must_use]
    pub fn with_size_hint(hint: usize) -> Self
    where
        T: Ord + 'static,
    {
        Self::from_heap(Heap::new(Arc::new(T::cmp), hint))
    }

    /// Creates a queue that is ordered by `compare`.
    pub fn with_comparator(compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static) -> Self {
        Self::from_heap(Heap::new(Arc::new(compare), 0))
    }

    /// Creates a queue that is ordered by the keys of the elements.
    pub fn by_key<K: Ord>(key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        Self::with_comparator(move |a, b| key(a).cmp(&key(b)))
    }

    /// Compares two elements as this queue does.
    pub fn compare(&self, a: &T, b: &T) -> Ordering {
        let compare = self
            .0
            .with(|state| (Arc::clone(&state.items.discipline.compare), ()));
        compare(a, b)
    }

    fn from_heap(heap: Heap<T>) -> Self {
        Self(Blocking::configured(
            heap,
            Fairness::Unfair,
            InterruptPrecedence::Removal,
        ))
    }
}

impl<T: Send + Ord + 'static> Default for PriorityBlockingQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Ord + 'static> FromIterator<T> for PriorityBlockingQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut heap = Heap::new(Arc::new(T::cmp), 0);
        items.into_iter().for_each(|item| heap.push(item));
        Self::from_heap(heap)
    }
}

/// A heap and its order, as a discipline.
struct Heap<T> {
    entries: StableHeap<T>,
    compare: Compare<T>,
}

impl<T> Heap<T> {
    fn new(compare: Compare<T>, hint: usize) -> Self {
        Self {
            entries: StableHeap::with_capacity(hint),
            compare,
        }
    }
}

impl<T: Send> Discipline for Heap<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.entries.push(item, &*self.compare);
    }

    fn push_from(&mut self, item: &mut Option<T>) {
        self.entries.push_from(item, &*self.compare);
    }

    fn pop(&mut self) -> Option<T> {
        self.entries.pop(&*self.compare)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn peek(&self) -> Option<&T> {
        self.entries.peek()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.entries.iter())
    }

    fn remove(&mut self, index: usize) -> T {
        self.entries.remove(index, &*self.compare)
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        self.entries.retain(verdicts, &*self.compare)
    }

    fn take_all(&mut self) -> Vec<T> {
        self.entries.take_all(&*self.compare)
    }
}

delegate_queue!(PriorityBlockingQueue<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::PriorityBlockingQueue;
    use crate::queue::BlockingQueue;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::sync::model;

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| scenarios::every_element_finds_a_taker(PriorityBlockingQueue::new()));
    }

    #[test]
    fn a_taker_that_comes_late_gets_the_least() {
        model(|| {
            let queue = Arc::new(PriorityBlockingQueue::new());
            queue.offer(2).unwrap();
            let theirs = Arc::clone(&queue);
            let giver = spawn(move || theirs.offer(1).unwrap());
            let first = queue.take().unwrap();
            giver.join().unwrap();
            assert_eq!(queue.take().unwrap(), 3 - first);
        });
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(
                PriorityBlockingQueue::new(),
            );
        });
    }
}
