//! An unbounded queue by priority, in which elements that wait become more urgent.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::discipline::Discipline;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::stable_heap::StableHeap;
use crate::sync::clock;

/// An unbounded queue by priority, lowest first, in which elements that wait become more urgent.
///
/// The effective priority of an element is its priority less one for each `step` that it has waited.
/// So an element that has waited for `step` passes those that arrive then with a priority lower by
/// one, and none waits forever behind newer ones. Equal elements leave in order of arrival.
///
/// All elements age alike, so the order of two of them never changes, and it is computed once: by
/// `priority * step + time of arrival`. An insertion or a removal takes logarithmic time. `for_each`
/// and snapshots are in no particular order. The time is that of the [clock](crate::clock) of the
/// thread that inserts. A pending interrupt ends every call that can wait, even where it need not.
///
/// ```
/// use std::time::Duration;
/// use windlass::clock::TestClock;
/// use windlass::queue::{AgingQueue, BlockingQueue};
///
/// TestClock::new().enter(|| {
///     let queue = AgingQueue::new(Duration::from_secs(1), |job: &(i32, &str)| job.0);
///     queue.offer((5, "report")).unwrap();
///     queue.offer((0, "click")).unwrap();
///     assert_eq!(queue.poll(), Some((0, "click")));
/// });
/// ```
///
/// For a pool with the priorities of its tasks:
/// `AgingQueue::new(Duration::from_secs(1), Task::priority)`.
pub struct AgingQueue<T: Send>(Blocking<Aging<T>>);

impl<T: Send> AgingQueue<T> {
    /// Creates a queue whose elements gain one level of priority for each `step` that they wait.
    ///
    /// With a step of zero, elements leave in order of arrival. `priority` is called once for each
    /// element, under the lock of the queue; if it panics, the element is dropped and the panic
    /// reaches the caller.
    pub fn new(step: Duration, priority: impl Fn(&T) -> i32 + Send + Sync + 'static) -> Self {
        Self(Blocking::new(Aging {
            entries: StableHeap::default(),
            priority: Arc::new(priority),
            step,
            epoch: clock::now(),
        }))
    }
}

delegate_queue!(AgingQueue<T>, |queue| &queue.0);

struct Aging<T> {
    entries: StableHeap<Ranked<T>>,
    priority: Arc<dyn Fn(&T) -> i32 + Send + Sync>,
    step: Duration,
    epoch: Instant,
}

struct Ranked<T> {
    /// In nanoseconds. A priority times the longest `Duration` takes 125 bits.
    rank: i128,
    item: T,
}

impl<T> Ranked<T> {
    fn compare(a: &Self, b: &Self) -> Ordering {
        a.rank.cmp(&b.rank)
    }
}

impl<T> Aging<T> {
    fn rank(&self, item: &T) -> i128 {
        let now = clock::now();
        let arrival = match now.checked_duration_since(self.epoch) {
            Some(after) => nanos(after),
            None => -nanos(self.epoch.saturating_duration_since(now)),
        };
        i128::from((self.priority)(item)) * nanos(self.step) + arrival
    }
}

/// Returns the nanoseconds of a duration, of which there are less than 2^94.
fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

impl<T: Send> Discipline for Aging<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.push_from(&mut Some(item));
    }

    fn push_from(&mut self, item: &mut Option<T>) {
        let rank = item.as_ref().map(|item| self.rank(item));
        if let Some((rank, item)) = rank.zip(item.take()) {
            self.entries.push(Ranked { rank, item }, Ranked::compare);
        }
    }

    fn pop(&mut self) -> Option<T> {
        self.entries.pop(Ranked::compare).map(|entry| entry.item)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn peek(&self) -> Option<&T> {
        self.entries.peek().map(|entry| &entry.item)
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.entries.iter().map(|entry| &entry.item))
    }

    fn remove(&mut self, index: usize) -> T {
        self.entries.remove(index, Ranked::compare).item
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        items(self.entries.retain(verdicts, Ranked::compare))
    }

    fn take_all(&mut self) -> Vec<T> {
        items(self.entries.take_all(Ranked::compare))
    }
}

fn items<T>(entries: Vec<Ranked<T>>) -> Vec<T> {
    entries.into_iter().map(|entry| entry.item).collect()
}
