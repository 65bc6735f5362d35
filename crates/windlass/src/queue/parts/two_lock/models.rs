//! Models of the queue with two locks.

use std::sync::Arc;

use super::{CapacityMode, TwoLockQueue};
use crate::queue::BlockingQueue;
use crate::queue::parts::block_list::BlockList;
use crate::queue::parts::scenarios::spawn;
use crate::sync::model;

type Queue = TwoLockQueue<BlockList<u32>>;

fn queue(capacity: Option<usize>, items: &[u32]) -> Arc<Queue> {
    let [tail, empty] = Default::default();
    let queue = Queue::new(tail, empty, capacity, CapacityMode::Fixed);
    items.iter().for_each(|&item| queue.push_unbounded(item));
    Arc::new(queue)
}

fn holding(capacity: usize, items: &[u32]) -> Arc<Queue> {
    queue(Some(capacity), items)
}

#[test]
fn producers_never_exceed_the_bound_while_the_ends_are_swapped() {
    model(|| {
        let queue = holding(2, &[1, 2]);
        let theirs = Arc::clone(&queue);
        let taker = spawn(move || theirs.take().unwrap());
        let placed = (3..5).filter(|&item| queue.offer(item).is_ok()).count();
        assert_eq!(taker.join().unwrap(), 1);
        assert!(placed <= 1);
        assert_eq!(queue.len(), 1 + placed);
    });
}

#[test]
fn the_order_survives_a_swap_and_a_push_at_the_same_time() {
    model(|| {
        let queue = holding(3, &[1, 2]);
        let theirs = Arc::clone(&queue);
        let giver = spawn(move || theirs.offer(3).unwrap());
        let mut taken = vec![queue.take().unwrap(), queue.take().unwrap()];
        taken.push(queue.take().unwrap());
        giver.join().unwrap();
        assert_eq!(taken, [1, 2, 3]);
    });
}

/// The consumer has used up a small batch, and so spins when the elements come.
#[test]
fn a_spinning_consumer_leaves_no_element_beside_a_parked_taker() {
    model(|| {
        let queue = queue(None, &[]);
        queue.push_unbounded(1);
        assert_eq!(queue.poll(), Some(1));
        let takers = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            spawn(move || queue.take().unwrap())
        });
        queue.push_unbounded(2);
        queue.push_unbounded(3);
        let sum: u32 = takers.map(|taker| taker.join().unwrap()).iter().sum();
        assert_eq!(sum, 5);
    });
}

#[test]
fn draining_lets_in_as_many_putters_as_it_frees_places() {
    model(|| {
        let queue = holding(2, &[1, 2]);
        let putters = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            spawn(move || queue.put(3).unwrap())
        });
        let mut seen = queue.drain(2);
        for putter in putters {
            putter.join().unwrap();
        }
        seen.append(&mut queue.drain(9));
        assert_eq!(seen, [1, 2, 3, 3]);
    });
}

#[test]
fn an_element_that_is_taken_and_removed_at_once_goes_to_one_of_them() {
    model(|| {
        let queue = holding(2, &[1, 2]);
        let theirs = Arc::clone(&queue);
        let remover = spawn(move || theirs.remove_first(&mut |&item| item == 1));
        let polled = queue.poll();
        match remover.join().unwrap() {
            Some(1) => assert_eq!(polled, Some(2)),
            _ => assert_eq!(polled, Some(1)),
        }
    });
}

#[test]
fn a_removal_from_the_middle_lets_a_putter_in() {
    model(|| {
        let queue = holding(2, &[1, 2]);
        let theirs = Arc::clone(&queue);
        let putter = spawn(move || theirs.put(3).unwrap());
        assert_eq!(queue.remove_first(&mut |&item| item == 2), Some(2));
        putter.join().unwrap();
        assert_eq!(queue.drain(9), [1, 3]);
    });
}

#[test]
fn the_length_never_counts_an_element_twice_or_not_at_all() {
    model(|| {
        let queue = holding(2, &[1, 2]);
        let theirs = Arc::clone(&queue);
        let taker = spawn(move || theirs.poll());
        let len = queue.len();
        assert!(len == 1 || len == 2, "{len}");
        assert_eq!(taker.join().unwrap(), Some(1));
        assert_eq!(queue.len(), 1);
    });
}
