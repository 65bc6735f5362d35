//! An unbounded queue whose elements become available at their deadlines.

use std::time::{Duration, Instant};

use super::discipline::Discipline;
use super::fairness::Fairness;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::interrupt_precedence::InterruptPrecedence;
use super::parts::stable_heap::StableHeap;
use crate::sync::clock;

/// An element that becomes available at a certain time.
///
/// ```
/// use std::time::{Duration, Instant};
/// use windlass::queue::{BlockingQueue, DelayQueue, Delayed};
///
/// struct Lease(Instant);
/// impl Delayed for Lease {
///     fn deadline(&self) -> Instant {
///         self.0
///     }
/// }
///
/// let queue = DelayQueue::new();
/// queue.offer(Lease(DelayQueue::<Lease>::after(Duration::from_secs(3600)))).unwrap();
/// assert!(queue.poll().is_none());
/// assert_eq!(queue.len(), 1);
/// ```
pub trait Delayed {
    /// Returns the time at which the element becomes available. It is available now if that time
    /// has passed.
    #[doc(alias = "getDelay")]
    fn deadline(&self) -> Instant;
}

/// An unbounded queue that releases each element at its deadline, the earliest first.
///
/// Elements with the same deadline leave in order of arrival. `len`, `for_each`, `remove_first`,
/// `retain`, `peek` and `drain_all` treat elements whose deadline has not passed like all others;
/// `poll`, `take` and `drain` skip them. However many threads wait, only one of them parks
/// until the next deadline; the others park until they are signalled.
///
/// A pending interrupt ends `take` and `poll_timeout` even where they need not wait; insertion
/// never waits and never checks. For an example see [`Delayed`].
pub struct DelayQueue<T: Send + Delayed>(Blocking<ByDeadline<T>>);

impl<T: Send + Delayed> DelayQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::from_heap(ByDeadline(StableHeap::default()))
    }

    /// Returns the time `delay` from now, on the clock that the queue uses; a delay beyond what the
    /// clock can represent is shortened to about 146 years.
    #[must_use]
    pub fn after(delay: Duration) -> Instant {
        clock::now() + delay.min(clock::MAX_TIMEOUT)
    }

    fn from_heap(heap: ByDeadline<T>) -> Self {
        Self(Blocking::configured(
            heap,
            Fairness::Unfair,
            InterruptPrecedence::Removal,
        ))
    }
}

impl<T: Send + Delayed> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Delayed> FromIterator<T> for DelayQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut heap = ByDeadline(StableHeap::default());
        items.into_iter().for_each(|item| heap.push(item));
        Self::from_heap(heap)
    }
}

/// A [`Discipline`] that orders elements by their deadlines.
struct ByDeadline<T>(StableHeap<T>);

fn by_deadline<T: Delayed>(a: &T, b: &T) -> std::cmp::Ordering {
    a.deadline().cmp(&b.deadline())
}

impl<T: Send + Delayed> Discipline for ByDeadline<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.0.push(item, by_deadline);
    }

    fn push_from(&mut self, item: &mut Option<T>) {
        self.0.push_from(item, by_deadline);
    }

    fn pop(&mut self) -> Option<T> {
        self.0.pop(by_deadline)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn peek(&self) -> Option<&T> {
        self.0.peek()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.0.iter())
    }

    fn remove(&mut self, index: usize) -> T {
        self.0.remove(index, by_deadline)
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        self.0.retain(verdicts, by_deadline)
    }

    fn take_all(&mut self) -> Vec<T> {
        self.0.take_all(by_deadline)
    }

    fn ready_at(&self) -> Option<Instant> {
        self.peek().map(Delayed::deadline)
    }
}

delegate_queue!(DelayQueue<T: Delayed>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::{ByDeadline, DelayQueue, Delayed, StableHeap};
    use crate::interrupt;
    use crate::queue::parts::scenarios::spawn;
    use crate::queue::{Blocking, BlockingQueue, Discipline, Fairness};
    use crate::sync::clock::TestClock;
    use crate::sync::{model, thread};

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Due(Instant);

    impl Delayed for Due {
        fn deadline(&self) -> Instant {
            self.0
        }
    }

    type Queue = Arc<dyn BlockingQueue<Due>>;

    fn queue() -> Queue {
        Arc::new(DelayQueue::new())
    }

    fn fair_queue() -> Queue {
        let heap = ByDeadline(StableHeap::default());
        Arc::new(Blocking::with_fairness(heap, Fairness::Fair))
    }

    /// A discipline by deadline that implements `ready_next_at`.
    struct WithNextDeadline(Vec<Due>);

    impl Discipline for WithNextDeadline {
        type Item = Due;
        fn push(&mut self, item: Due) {
            self.0.push(item);
            self.0.sort_by_key(|due| due.0);
        }
        fn pop(&mut self) -> Option<Due> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
        fn len(&self) -> usize {
            self.0.len()
        }
        fn peek(&self) -> Option<&Due> {
            self.0.first()
        }
        fn iter(&self) -> Box<dyn Iterator<Item = &Due> + '_> {
            Box::new(self.0.iter())
        }
        fn remove(&mut self, at: usize) -> Due {
            self.0.remove(at)
        }
        fn ready_at(&self) -> Option<Instant> {
            self.0.first().map(|due| due.0)
        }
        fn ready_next_at(&self) -> Option<Instant> {
            self.0.get(1).map(|due| due.0)
        }
    }

    fn queue_with_next_deadline() -> Queue {
        Arc::new(Blocking::new(WithNextDeadline(Vec::new())))
    }

    fn spawn_taker(clock: &TestClock, queue: &Queue) -> thread::JoinHandle<Due> {
        let (clock, queue) = (clock.clone(), Arc::clone(queue));
        spawn(move || clock.enter(|| queue.take().unwrap()))
    }

    fn an_earlier_element_wakes_the_taker(queue: &Queue) {
        let clock = TestClock::new();
        let soon = Due(clock.now() + SECOND);
        queue.offer(Due(clock.now() + 10 * SECOND)).unwrap();
        let taker = spawn_taker(&clock, queue);
        queue.offer(soon).unwrap();
        clock.advance(SECOND);
        assert_eq!(taker.join().unwrap(), soon);
    }

    /// The leader waits for an element that is gone, and wakes in time for the next.
    fn a_leader_whose_element_is_gone_wakes_for_the_next(queue: &Queue) {
        let clock = TestClock::new();
        let later = Due(clock.now() + 2 * SECOND);
        queue.offer(Due(clock.now() + SECOND)).unwrap();
        let taker = spawn_taker(&clock, queue);
        let gone = queue.remove_first(&mut |_| true);
        queue.offer(later).unwrap();
        clock.advance(2 * SECOND);
        assert!(gone.is_some());
        assert_eq!(taker.join().unwrap(), later);
    }

    /// The leader waits for an element that is gone, and too long for the next.
    fn a_leader_whose_element_is_gone_is_woken_for_an_earlier_one(queue: &Queue) {
        let clock = TestClock::new();
        let soon = Due(clock.now() + SECOND);
        queue.offer(Due(clock.now() + 10 * SECOND)).unwrap();
        let taker = spawn_taker(&clock, queue);
        let gone = queue.remove_first(&mut |_| true);
        queue.offer(soon).unwrap();
        clock.advance(SECOND);
        assert!(gone.is_some());
        assert_eq!(taker.join().unwrap(), soon);
    }

    fn a_leader_that_takes_hands_over(queue: &Queue) {
        let clock = TestClock::new();
        let due = Due(clock.now() + SECOND);
        queue.offer(due).unwrap();
        queue.offer(due).unwrap();
        let takers = [(); 2].map(|()| spawn_taker(&clock, queue));
        clock.advance(SECOND);
        for taker in takers {
            assert_eq!(taker.join().unwrap(), due);
        }
    }

    fn a_leader_that_is_interrupted_hands_over(queue: &Queue) {
        let clock = TestClock::new();
        let due = Due(clock.now() + SECOND);
        queue.offer(due).unwrap();
        let other = spawn_taker(&clock, queue);
        let me = interrupt::current();
        let hand = clock.clone();
        let mover = spawn(move || {
            me.interrupt();
            hand.advance(SECOND);
        });
        if clock.enter(|| queue.take()).is_ok() {
            queue.offer(due).unwrap();
        }
        assert_eq!(other.join().unwrap(), due);
        mover.join().unwrap();
        let _ = interrupt::interrupted();
    }

    /// Each of two takers gets an element, whichever of them parked for which.
    fn two_takers_get_what_is_due_after_one_and_two_seconds(
        queue: &Queue,
        between: impl FnOnce(&TestClock),
    ) {
        let clock = TestClock::new();
        let dues = [1, 2].map(|seconds| Due(clock.now() + seconds * SECOND));
        queue.offer(dues[0]).unwrap();
        let takers = [(); 2].map(|()| spawn_taker(&clock, queue));
        between(&clock);
        queue.offer(dues[1]).unwrap();
        clock.advance(2 * SECOND);
        let mut taken = takers.map(|taker| taker.join().unwrap());
        taken.sort_by_key(|due| due.0);
        assert_eq!(taken, dues);
    }

    #[test]
    fn a_leader_that_takes_leaves_the_next_element_to_the_one_who_sleeps_for_it() {
        model(|| a_leader_that_takes_hands_over(&queue_with_next_deadline()));
    }

    #[test]
    fn an_element_that_comes_after_the_head_finds_the_second_taker() {
        let queue = queue_with_next_deadline;
        model(move || two_takers_get_what_is_due_after_one_and_two_seconds(&queue(), |_| ()));
    }

    /// The second taker parks too long, for an element that is gone.
    #[test]
    fn a_second_timed_wait_may_be_too_long() {
        model(|| {
            let queue = queue_with_next_deadline();
            two_takers_get_what_is_due_after_one_and_two_seconds(&queue, |clock| {
                let late = Due(clock.now() + 10 * SECOND);
                queue.offer(late).unwrap();
                thread::yield_now();
                let gone = queue.remove_first(&mut |due| *due == late);
                assert!(gone.is_some());
            });
        });
    }

    #[test]
    fn an_earlier_element_wakes_the_taker_that_sleeps_for_a_later_one() {
        model(|| an_earlier_element_wakes_the_taker(&queue()));
    }

    #[test]
    fn a_timed_wait_for_an_element_that_is_gone_serves_the_next() {
        model(|| a_leader_whose_element_is_gone_wakes_for_the_next(&queue()));
    }

    #[test]
    fn a_timed_wait_for_an_element_that_is_gone_may_be_too_long() {
        model(|| a_leader_whose_element_is_gone_is_woken_for_an_earlier_one(&queue()));
    }

    #[test]
    fn a_timed_wait_in_a_fair_queue_for_an_element_that_is_gone_serves_the_next() {
        model(|| a_leader_whose_element_is_gone_wakes_for_the_next(&fair_queue()));
    }

    #[test]
    fn a_leader_that_takes_hands_over_to_the_next_taker() {
        model(|| a_leader_that_takes_hands_over(&queue()));
    }

    #[test]
    fn a_leader_that_is_interrupted_hands_over_to_the_next_taker() {
        model(|| a_leader_that_is_interrupted_hands_over(&queue()));
    }

    #[test]
    fn an_earlier_element_wakes_the_taker_of_a_fair_queue() {
        model(|| an_earlier_element_wakes_the_taker(&fair_queue()));
    }

    #[test]
    fn a_leader_of_a_fair_queue_that_takes_hands_over() {
        model(|| a_leader_that_takes_hands_over(&fair_queue()));
    }

    #[test]
    fn a_leader_of_a_fair_queue_that_is_interrupted_hands_over() {
        model(|| a_leader_that_is_interrupted_hands_over(&fair_queue()));
    }
}
