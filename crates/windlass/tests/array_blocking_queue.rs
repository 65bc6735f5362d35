//! What the queue in a fixed ring promises beyond the common contract.

use std::sync::Arc;

use windlass::interrupt::spawn;
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, BlockingQueueExt, CapacityError, Fairness,
};
use windlass::testing::{await_putters, await_takers, join};

/// ABQ-001
#[test]
fn the_capacity_is_fixed_for_life() {
    let queue = ArrayBlockingQueue::new(2).unwrap();
    assert_eq!(queue.set_capacity(3), Err(CapacityError::NotResizable));
    queue.offer_all([1, 2]).unwrap();
    assert!(queue.offer(3).is_err());
}

/// ABQ-003
#[test]
fn a_fair_queue_admits_putters_in_order_of_arrival() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(1, Fairness::Fair).unwrap());
    queue.offer(0).unwrap();
    let mut putters = Vec::new();
    for item in 1..=5 {
        let theirs = Arc::clone(&queue);
        putters.push(spawn(move || theirs.put(item).unwrap()));
        await_putters(&*queue, putters.len());
    }
    let taken: Vec<u32> = (0..=5).map(|_| queue.take().unwrap()).collect();
    assert_eq!(taken, [0, 1, 2, 3, 4, 5]);
    for putter in putters {
        join("putter", putter);
    }
}

/// ABQ-003
#[test]
fn a_fair_queue_keeps_the_order_of_putters_that_are_admitted_together() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(5, Fairness::Fair).unwrap());
    queue.offer_all([0; 5]).unwrap();
    let mut putters = Vec::new();
    for item in 1..=5 {
        let theirs = Arc::clone(&queue);
        putters.push(spawn(move || theirs.put(item).unwrap()));
        await_putters(&*queue, putters.len());
    }
    queue.clear();
    for putter in putters {
        join("putter", putter);
    }
    assert_eq!(queue.drain(9), [1, 2, 3, 4, 5]);
}

/// ABQ-003
#[test]
fn a_fair_queue_serves_takers_in_order_of_arrival() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(5, Fairness::Fair).unwrap());
    let mut takers = Vec::new();
    for count in 1..=5 {
        let theirs = Arc::clone(&queue);
        takers.push(spawn(move || theirs.take().unwrap()));
        await_takers(&*queue, count);
    }
    queue.offer_all(0..5).unwrap();
    let got = takers.into_iter().map(|taker| join("taker", taker));
    assert!(got.eq(0..5));
}

/// ABQ-003
#[test]
fn a_newcomer_gets_no_place_while_others_wait_for_one() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(1, Fairness::Fair).unwrap());
    queue.offer(0).unwrap();
    let putters = [1, 2].map(|item| {
        let theirs = Arc::clone(&queue);
        let putter = spawn(move || theirs.put(item).unwrap());
        await_putters(&*queue, item);
        putter
    });
    assert_eq!(queue.poll(), Some(0));
    // Whether or not the first in line has woken by now, the place is reserved for it.
    assert!(queue.offer(9).unwrap_err().is_full());
    assert_eq!(queue.take(), Ok(1));
    assert!(queue.offer(9).unwrap_err().is_full());
    assert_eq!(queue.take(), Ok(2));
    for putter in putters {
        join("putter", putter);
    }
    assert!(queue.offer(9).is_ok());
}

/// ABQ-003
#[test]
fn a_newcomer_gets_no_element_while_others_wait_for_one() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(2, Fairness::Fair).unwrap());
    let theirs = Arc::clone(&queue);
    let taker = spawn(move || theirs.take().unwrap());
    await_takers(&*queue, 1);
    queue.offer(1).unwrap();
    assert_eq!(queue.poll(), None);
    assert_eq!(join("taker", taker), 1);
    queue.offer(2).unwrap();
    assert_eq!(queue.poll(), Some(2));
}

/// ABQ-004
#[test]
fn elements_to_begin_with_must_fit() {
    let make =
        |capacity, count| ArrayBlockingQueue::from_elements(capacity, Fairness::Unfair, 0..count);
    let queue = make(3, 3).unwrap();
    assert_eq!(queue.remaining_capacity(), Some(0));
    assert_eq!(queue.drain(9), [0, 1, 2]);
    assert_eq!(make(3, 4).err(), Some(CapacityError::TooManyElements));
    assert_eq!(make(0, 0).err(), Some(CapacityError::Zero));
}

/// ABQ-005
#[test]
fn a_snapshot_minds_neither_wrap_around_nor_later_removal() {
    let queue = ArrayBlockingQueue::from_elements(4, Fairness::Unfair, 0..4).unwrap();
    assert_eq!((queue.poll(), queue.poll()), (Some(0), Some(1)));
    queue.offer_all([4, 5]).unwrap();
    assert_eq!(queue.remove_first(&mut |&item| item == 4), Some(4));
    let snapshot = queue.snapshot();
    queue.clear();
    assert_eq!(snapshot, [2, 3, 5]);
}

#[test]
fn a_capacity_beyond_memory_is_an_error() {
    for fairness in [Fairness::Fair, Fairness::Unfair] {
        for capacity in [usize::MAX, usize::MAX / 16, usize::MAX / 64] {
            let queue = ArrayBlockingQueue::<[u64; 8]>::with_fairness(capacity, fairness);
            assert_eq!(queue.err(), Some(CapacityError::TooLarge), "{capacity}");
        }
    }
}
