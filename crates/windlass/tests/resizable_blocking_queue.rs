//! What the resizable queue promises beyond the common contract.

#![expect(clippy::unwrap_used, reason = "a test that fails may do so by a panic")]

use std::sync::Arc;
use std::time::Duration;

use windlass::interrupt::{JoinHandle, spawn};
use windlass::queue::{
    Blocking, BlockingQueue, BlockingQueueExt, CapacityError, Discipline, PutError,
    ResizableBlockingQueue,
};
use windlass::testing::{await_putters, join, until, within_patience};

const LONG: Duration = Duration::from_secs(3600);

type Queue = Arc<ResizableBlockingQueue<u32>>;

fn holding(capacity: usize, items: impl IntoIterator<Item = u32>) -> Queue {
    let queue = ResizableBlockingQueue::with_capacity(capacity).unwrap();
    queue.offer_all(items).unwrap();
    Arc::new(queue)
}

/// Threads that wait to put 100, 101, ... and came in this order.
fn parked_putters(queue: &Queue, count: usize) -> Vec<JoinHandle<()>> {
    let mut putters = Vec::new();
    for item in (100..).take(count) {
        let theirs = Arc::clone(queue);
        putters.push(spawn(move || theirs.put(item).unwrap()));
        await_putters(&**queue, putters.len());
    }
    putters
}

fn putters_of(queue: &Queue) -> usize {
    queue.waiting().unwrap().putters
}

fn join_all(putters: Vec<JoinHandle<()>>) {
    for putter in putters {
        join("putter", putter);
    }
}

/// RLQ-001
#[test]
fn a_new_capacity_applies_at_once_and_the_former_comes_back() {
    let queue = holding(10, []);
    assert_eq!(queue.set_capacity(20), Ok(Some(10)));
    assert_eq!(queue.remaining_capacity(), Some(20));
    queue.offer_all(0..4).unwrap();
    assert_eq!(queue.set_capacity(5), Ok(Some(20)));
    assert_eq!(queue.remaining_capacity(), Some(1));
    let unbounded = ResizableBlockingQueue::<u32>::new();
    assert_eq!(unbounded.set_capacity(1000), Ok(None));
    assert_eq!(unbounded.remaining_capacity(), Some(1000));
}

/// RLQ-002
#[test]
fn a_capacity_of_zero_is_refused_and_changes_nothing() {
    let queue = holding(2, [1]);
    assert_eq!(queue.set_capacity(0), Err(CapacityError::Zero));
    assert_eq!(queue.remaining_capacity(), Some(1));
    assert_eq!(queue.offer(2), Ok(()));
}

/// RLQ-003
#[test]
fn growing_admits_as_many_putters_as_there_is_new_room() {
    let queue = holding(1, [0]);
    let putters = parked_putters(&queue, 4);
    queue.set_capacity(4).unwrap();
    until("three more elements", || queue.len() == 4);
    assert_eq!(putters_of(&queue), 1);
    queue.set_capacity(5).unwrap();
    join_all(putters);
    assert_eq!(queue.len(), 5);
}

/// RLQ-004
#[test]
fn growing_alone_makes_the_next_offer_succeed() {
    let queue = holding(1, [0]);
    assert_eq!(queue.offer(1), Err(PutError::Full(1)));
    queue.set_capacity(2).unwrap();
    assert_eq!(queue.offer(1), Ok(()));
}

/// RLQ-005
#[test]
fn shrinking_below_the_length_drops_and_reorders_nothing() {
    let queue = holding(5, 0..5);
    queue.set_capacity(2).unwrap();
    assert_eq!(queue.len(), 5);
    let taken: Vec<u32> = (0..5).map(|_| queue.take().unwrap()).collect();
    assert_eq!(taken, [0, 1, 2, 3, 4]);
}

/// RLQ-006
#[test]
fn an_overfull_queue_refuses_offers_and_makes_puts_wait() {
    let queue = holding(5, 0..5);
    queue.set_capacity(2).unwrap();
    for len in (2..=5).rev() {
        assert_eq!(queue.len(), len);
        assert_eq!(queue.offer(9), Err(PutError::Full(9)));
        let timed = queue.offer_timeout(9, Duration::ZERO);
        assert_eq!(timed, Err(PutError::TimedOut(9)));
        assert!(queue.poll().is_some());
    }
    assert_eq!(queue.offer(9), Ok(()));
    let putters = parked_putters(&queue, 1);
    assert!(queue.poll().is_some());
    join_all(putters);
}

/// RLQ-007
#[test]
fn remaining_room_never_reads_below_zero() {
    let queue = holding(5, 0..5);
    queue.set_capacity(2).unwrap();
    assert_eq!(queue.remaining_capacity(), Some(0));
    queue.drain(4);
    assert_eq!(queue.remaining_capacity(), Some(1));
}

#[test]
fn what_leaves_a_queue_that_holds_too_many_makes_no_room() {
    let queue: ResizableBlockingQueue<u32> = (1..=3).collect();
    queue.set_capacity(1).unwrap();
    assert_eq!(queue.remove_first(&mut |&item| item == 2), Some(2));
    assert!(queue.offer(4).is_err());
    assert_eq!(queue.poll(), Some(1));
    assert!(queue.offer(5).is_err());
    assert_eq!(queue.poll(), Some(3));
    queue.offer(6).unwrap();
    assert!(queue.offer(7).is_err());
}

/// RLQ-008
#[test]
fn after_shrinking_putters_are_admitted_exactly_by_the_new_bound() {
    let queue = holding(5, 0..5);
    queue.set_capacity(2).unwrap();
    let putters = parked_putters(&queue, 3);
    for (admitted, len) in [(0, 4), (0, 3), (0, 2), (1, 2), (2, 2)] {
        queue.take().unwrap();
        assert_eq!(putters_of(&queue), 3 - admitted);
        until("the admitted to be in", || queue.len() == len);
    }
    queue.set_capacity(3).unwrap();
    join_all(putters);
    assert_eq!(queue.drain(9), [100, 101, 102]);
}

/// RLQ-010
#[test]
fn of_concurrent_resizes_the_last_wins_and_no_wake_up_is_lost() {
    const EACH: u32 = 2_000;
    let queue = holding(1, []);
    let resizers: Vec<_> = (0..2)
        .map(|_| {
            let theirs = Arc::clone(&queue);
            spawn(move || (1..=500).for_each(|n| assert!(theirs.set_capacity(1 + n % 7).is_ok())))
        })
        .collect();
    let producers: Vec<_> = (0..2)
        .map(|_| {
            let theirs = Arc::clone(&queue);
            spawn(move || (1..=EACH).for_each(|item| theirs.put(item).unwrap()))
        })
        .collect();
    let consumers: Vec<_> = (0..2)
        .map(|_| {
            let theirs = Arc::clone(&queue);
            spawn(move || (0..EACH).map(|_| u64::from(theirs.take().unwrap())).sum())
        })
        .collect();
    join_all(resizers);
    join_all(producers);
    let sum: u64 = consumers
        .into_iter()
        .map(|c| join::<u64>("consumer", c))
        .sum();
    assert_eq!(sum, u64::from(EACH) * u64::from(EACH + 1));
    queue.set_capacity(3).unwrap();
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(3)));
}

/// RLQ-011
#[test]
fn resizing_never_waits_for_consumers() {
    let queue = holding(5, 0..5);
    let theirs = Arc::clone(&queue);
    let former = within_patience("shrinking", move || theirs.set_capacity(1));
    assert_eq!((former, queue.len()), (Ok(Some(5)), 5));
}

/// RLQ-012
#[test]
fn removal_after_a_resize_keeps_the_queue_sound() {
    let queue = holding(2, [1, 2]);
    queue.set_capacity(5).unwrap();
    assert_eq!(queue.remove_first(&mut |&item| item == 2), Some(2));
    queue.offer(3).unwrap();
    assert_eq!((queue.poll(), queue.poll()), (Some(1), Some(3)));
    queue.offer(4).unwrap();
    assert_eq!(queue.remove_first(&mut |&item| item == 4), Some(4));
    queue.offer(5).unwrap();
    assert_eq!(queue.drain(9), [5]);
    queue.offer(6).unwrap();
    queue.clear();
    queue.offer(7).unwrap();
    assert_eq!(queue.take(), Ok(7));
}

/// RLQ-012
#[test]
fn removal_after_a_resize_wakes_putters_by_the_new_bound() {
    let removes: [fn(&ResizableBlockingQueue<u32>); 3] = [
        |queue| queue.clear(),
        |queue| drop(queue.drain(4)),
        |queue| drop(queue.retain(&mut |_| false)),
    ];
    for remove in removes {
        let queue = holding(4, 0..4);
        let putters = parked_putters(&queue, 3);
        queue.set_capacity(2).unwrap();
        remove(&queue);
        until("two elements", || queue.len() == 2);
        assert_eq!(putters_of(&queue), 1);
        assert!(queue.remove_first(&mut |_| true).is_some());
        join_all(putters);
    }
}

/// RLQ-015
#[test]
fn a_timed_offer_that_waits_succeeds_if_the_capacity_grows_in_time() {
    let queue = holding(1, [0]);
    let theirs = Arc::clone(&queue);
    let putter = spawn(move || theirs.offer_timeout(1, LONG));
    await_putters(&*queue, 1);
    queue.set_capacity(2).unwrap();
    assert_eq!(join("putter", putter), Ok(()));
}

/// A discipline that admits by weight, and records each change of its bound.
struct Budget {
    items: Vec<u32>,
    capacity: usize,
    budget: u32,
    changes: Vec<(usize, usize, usize)>,
}

impl Discipline for Budget {
    type Item = u32;
    fn push(&mut self, item: u32) {
        self.items.push(item);
    }
    fn pop(&mut self) -> Option<u32> {
        (!self.items.is_empty()).then(|| self.items.remove(0))
    }
    fn len(&self) -> usize {
        self.items.len()
    }
    fn peek(&self) -> Option<&u32> {
        self.items.first()
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &u32> + '_> {
        Box::new(self.items.iter())
    }
    fn remove(&mut self, at: usize) -> u32 {
        self.items.remove(at)
    }
    fn capacity(&self) -> Option<usize> {
        Some(self.capacity)
    }
    fn set_capacity(&mut self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        let former = std::mem::replace(&mut self.capacity, capacity);
        self.changes.push((former, capacity, self.items.len()));
        Ok(Some(former))
    }
    fn admits(&self, item: &u32) -> bool {
        self.items.iter().sum::<u32>() + item <= self.budget
    }
}

fn budget(capacity: usize) -> Blocking<Budget> {
    Blocking::new(Budget {
        items: Vec::new(),
        capacity,
        budget: 10,
        changes: Vec::new(),
    })
}

/// RLQ-016
#[test]
fn a_discipline_hears_of_each_change_of_the_capacity_once() {
    let queue = budget(2);
    queue.offer(1).unwrap();
    assert_eq!(queue.set_capacity(5), Ok(Some(2)));
    assert_eq!(queue.set_capacity(0), Err(CapacityError::Zero));
    assert_eq!(queue.set_capacity(3), Ok(Some(5)));
    assert_eq!(queue.into_inner().changes, [(2, 5, 1), (5, 3, 1)]);
}

/// RLQ-017
#[test]
fn an_admission_rule_refuses_an_element_and_gives_it_back() {
    let queue = budget(9);
    queue.offer(6).unwrap();
    assert_eq!(queue.offer(5), Err(PutError::Refused(5)));
    assert_eq!(queue.put(5), Err(PutError::Refused(5)));
    assert_eq!(queue.offer_timeout(5, LONG), Err(PutError::Refused(5)));
    assert_eq!(queue.offer(4), Ok(()));
    assert_eq!(queue.drain(9), [6, 4]);
}
