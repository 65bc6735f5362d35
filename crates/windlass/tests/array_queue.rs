//! What the array queue promises beyond the common contract.

use std::sync::Arc;

use windlass::interrupt;
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, BlockingQueueExt, CapacityError, Fairness,
};
use windlass::testing::{until, within_patience};

fn await_putters(queue: &ArrayBlockingQueue<u32>, count: usize) {
    until("putters that wait", || {
        queue
            .waiting()
            .is_some_and(|waiting| waiting.putters == count)
    });
}

#[test]
fn a_fair_queue_admits_putters_in_order_of_arrival() {
    let queue = Arc::new(ArrayBlockingQueue::with_fairness(1, Fairness::Fair).unwrap());
    queue.offer(0).unwrap();
    let putters: Vec<_> = (1..=5)
        .map(|number| {
            let theirs = Arc::clone(&queue);
            let putter = interrupt::spawn(move || theirs.put(number));
            await_putters(&queue, number as usize);
            putter
        })
        .collect();
    let taken = within_patience("the takes", {
        let queue = Arc::clone(&queue);
        move || (0..=5).map(|_| queue.take().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(taken, [0, 1, 2, 3, 4, 5]);
    for putter in putters {
        assert_eq!(putter.join().unwrap().unwrap(), Ok(()));
    }
}

#[test]
fn a_newcomer_cannot_overtake_a_putter_that_waits_in_a_fair_queue() {
    for _ in 0..200 {
        let queue = Arc::new(ArrayBlockingQueue::with_fairness(1, Fairness::Fair).unwrap());
        queue.offer(0).unwrap();
        let theirs = Arc::clone(&queue);
        let waiting = interrupt::spawn(move || theirs.put(1));
        await_putters(&queue, 1);
        // The place is reserved as soon as it is free, whether or not the putter runs yet.
        assert_eq!(queue.poll(), Some(0));
        assert!(queue.offer(2).unwrap_err().is_full());
        assert_eq!(waiting.join().unwrap().unwrap(), Ok(()));
        assert_eq!(queue.snapshot(), [1]);
    }
}

#[test]
fn a_newcomer_cannot_overtake_a_taker_that_waits_in_a_fair_queue() {
    for _ in 0..200 {
        let queue = Arc::new(ArrayBlockingQueue::with_fairness(1, Fairness::Fair).unwrap());
        let theirs = Arc::clone(&queue);
        let waiting = interrupt::spawn(move || theirs.take());
        until("a taker that waits", || {
            queue.waiting().is_some_and(|waiting| waiting.takers == 1)
        });
        queue.offer(1).unwrap();
        assert_eq!(queue.poll(), None);
        assert_eq!(waiting.join().unwrap().unwrap(), Ok(1));
    }
}

#[test]
fn elements_beyond_the_capacity_are_refused_and_an_exact_fit_is_not() {
    let fits = ArrayBlockingQueue::from_elements(3, Fairness::Unfair, 0..3).unwrap();
    assert_eq!((fits.len(), fits.remaining_capacity()), (3, Some(0)));
    let too_many = ArrayBlockingQueue::from_elements(2, Fairness::Unfair, 0..3);
    assert_eq!(too_many.unwrap_err(), CapacityError::TooManyElements);
}

#[test]
fn the_capacity_is_fixed_for_life() {
    let queue = ArrayBlockingQueue::<u32>::new(2).unwrap();
    assert_eq!(queue.set_capacity(3), Err(CapacityError::NotResizable));
    assert_eq!(queue.remaining_capacity(), Some(2));
}
