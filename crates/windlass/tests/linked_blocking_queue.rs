//! What the linked queue promises beyond the common contract.

#![expect(clippy::unwrap_used, reason = "a test that fails may do so by a panic")]

use std::sync::Arc;

use windlass::interrupt::{JoinHandle, spawn};
use windlass::queue::{BlockingQueue, BlockingQueueExt, CapacityError, LinkedBlockingQueue};
use windlass::testing::{await_putters, join, until};

/// LBQ-001
#[test]
fn the_bound_is_optional() {
    let unbounded = LinkedBlockingQueue::new();
    let bounded = LinkedBlockingQueue::with_capacity(3).unwrap();
    for item in 0..3 {
        unbounded.offer(item).unwrap();
        bounded.offer(item).unwrap();
    }
    assert_eq!(unbounded.remaining_capacity(), None);
    assert_eq!(bounded.remaining_capacity(), Some(0));
    assert!(bounded.offer(3).unwrap_err().is_full());
}

/// LBQ-001
#[test]
fn an_iterator_makes_an_unbounded_queue() {
    let queue: LinkedBlockingQueue<u32> = (0..1000).collect();
    assert_eq!(queue.remaining_capacity(), None);
    assert!(queue.drain_all().into_iter().eq(0..1000));
}

/// LBQ-001
#[test]
fn a_bound_is_at_least_one_and_stays_as_it_is() {
    let refused = LinkedBlockingQueue::<u32>::with_capacity(0);
    assert_eq!(refused.err(), Some(CapacityError::Zero));
    let queue = LinkedBlockingQueue::<u32>::with_capacity(1).unwrap();
    assert_eq!(queue.set_capacity(2), Err(CapacityError::NotResizable));
}

/// A full queue of two places, and threads that wait to put 100, 101, ...
fn crowded(putters: u32) -> (Arc<LinkedBlockingQueue<u32>>, Vec<JoinHandle<()>>) {
    let queue = Arc::new(LinkedBlockingQueue::with_capacity(2).unwrap());
    queue.offer_all([0, 1]).unwrap();
    let putters: Vec<_> = (100..100 + putters)
        .map(|item| {
            let queue = Arc::clone(&queue);
            spawn(move || queue.put(item).unwrap())
        })
        .collect();
    await_putters(&*queue, putters.len());
    (queue, putters)
}

/// LBQ-004
#[test]
fn one_removal_admits_one_putter() {
    let (queue, putters) = crowded(3);
    assert_eq!(queue.remove_first(&mut |&item| item == 1), Some(1));
    assert_eq!(queue.waiting().unwrap().putters, 2);
    until("the admitted to be in", || queue.len() == 2);
    queue.clear();
    await_putters(&*queue, 0);
    for putter in putters {
        join("putter", putter);
    }
}

/// LBQ-004
#[test]
fn places_freed_at_once_admit_as_many_putters() {
    let frees: [fn(&LinkedBlockingQueue<u32>); 3] = [
        |queue| queue.clear(),
        |queue| drop(queue.drain(2)),
        |queue| drop(queue.retain(&mut |_| false)),
    ];
    for free in frees {
        let (queue, putters) = crowded(2);
        free(&queue);
        for putter in putters {
            join("putter", putter);
        }
        assert_eq!((queue.len(), queue.remaining_capacity()), (2, Some(0)));
    }
}
