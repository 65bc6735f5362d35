//! Checks with many threads at once: nothing is lost, doubled, reordered or dropped twice.

use std::sync::Arc;
use std::time::Duration;

use super::calls::{
    assert_each_once, assert_holds, numbered, peeked, poll, shown_elements, sorted, take,
};
use super::item::{Element, Item, element, number, numbers};
use super::subject::{DynQueue, Order, Queue, Storage, Subject};
use crate::queue::{BlockingQueueExt, PutError};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::yield_now;
use crate::testing::drop_counter::DropCounter;

pub(super) fn a_traversal_beside_changes_shows_only_what_is_queued<T: Element>(
    subject: &Subject<T>,
) {
    const STAY: [u64; 4] = [2, 0, 3, 1];
    let queue = subject.holding(&STAY);
    let changer = Subject::spawn(&queue, |queue| {
        for passing in 100..400 {
            assert_eq!(numbered(queue.put(element(passing))), Ok(()));
            let removed = queue.remove_first(&mut |element| number(element) == passing);
            assert!(removed.is_some());
        }
    });
    loop {
        let last = changer.is_finished();
        let (stayed, passing): (Vec<_>, Vec<_>) = shown_elements(&*queue)
            .into_iter()
            .partition(|&number| number < 100);
        match subject.order {
            Order::Fifo => assert_eq!(stayed, STAY),
            _ => assert_eq!(sorted(stayed), sorted(STAY.to_vec())),
        }
        assert!(passing.len() <= 1, "{passing:?} were never there together");
        if last {
            break;
        }
    }
    subject.join("the thread that changes the queue", changer);
    assert_holds(&*queue, &STAY);
}

pub(super) fn batches_drained_beside_a_producer_have_no_gaps<T: Element>(subject: &Subject<T>) {
    const COUNT: u64 = 2000;
    let queue = subject.empty();
    let producer = Subject::spawn(&queue, |queue| {
        (0..COUNT).all(|number| queue.put(element(number)).is_ok())
    });
    let mut next = 0;
    subject.until("all batches", || {
        let seen = sorted(shown_elements(&*queue));
        let first = seen.first().copied().unwrap_or(next);
        assert_eq!(
            seen,
            Vec::from_iter(first..first + seen.len() as u64),
            "a gap"
        );
        let batch = numbers(queue.drain(usize::MAX));
        let end = next + batch.len() as u64;
        assert_eq!(batch, Vec::from_iter(next..end), "a batch");
        next = end;
        next == COUNT
    });
    assert!(subject.join("the producer", producer));
    assert_holds(&*queue, &[]);
}

/// Moves `each` elements through the queue from each of `pairs` producers to as many consumers.
fn moved<T: Element>(subject: &Subject<T>, queue: &Queue<T>, pairs: u64, each: u64) -> Vec<u64> {
    let consumers: Vec<_> = (0..pairs)
        .map(|_| {
            Subject::spawn(queue, move |queue| {
                (0..each)
                    .map_while(|_| take(queue).ok())
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let producers: Vec<_> = (0..pairs)
        .map(|pair| {
            Subject::spawn(queue, move |queue| {
                (pair * each..(pair + 1) * each).all(|number| queue.put(element(number)).is_ok())
            })
        })
        .collect();
    for producer in producers {
        assert!(subject.join("a producer", producer));
    }
    let taken = consumers
        .into_iter()
        .map(|consumer| subject.join("a consumer", consumer));
    taken.flatten().collect()
}

pub(super) fn many_producers_and_consumers_lose_and_double_nothing<T: Element>(
    subject: &Subject<T>,
) {
    const EACH: u64 = 100;
    for pairs in [1, 2, 3, 8] {
        for capacity in [1, 100] {
            let queue = subject.with_room(capacity);
            let taken = moved(subject, &queue, pairs, EACH);
            assert_each_once(taken, pairs * EACH);
            assert_holds(&*queue, &[]);
            if subject.storage != Storage::Bounded {
                break;
            }
        }
    }
}

pub(super) fn a_consumer_sees_one_producers_elements_in_order<T: Element>(subject: &Subject<T>) {
    const EACH: u64 = 200;
    for count in 1..=5 {
        let queue = subject.empty();
        let consumers: Vec<_> = (0..count)
            .map(|_| {
                Subject::spawn(&queue, |queue| {
                    (0..EACH)
                        .map_while(|_| take(queue).ok())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let producer = Subject::spawn(&queue, move |queue| {
            (0..count * EACH).all(|number| queue.put(element(number)).is_ok())
        });
        for consumer in consumers {
            let seen = subject.join("a consumer", consumer);
            assert_eq!(seen.len() as u64, EACH);
            assert!(seen.is_sorted(), "one of {count} consumers saw {seen:?}");
        }
        assert!(subject.join("the producer", producer));
    }
}

/// A way to remove one element.
type Remove<T> = fn(&DynQueue<T>) -> Option<T>;

pub(super) fn an_element_that_two_want_goes_to_one<T: Element>(subject: &Subject<T>) {
    const COUNT: u64 = 1000;
    let queue = subject.empty();
    let done = Arc::new(AtomicBool::new(false));
    let removals: [Remove<T>; 3] = [
        |queue| queue.poll(),
        |queue| queue.remove_first(&mut |_| true),
        |queue| queue.retain(&mut |element| number(element) % 7 != 0).pop(),
    ];
    let removers = removals.map(|remove| {
        let done = Arc::clone(&done);
        Subject::spawn(&queue, move |queue| {
            let mut got = Vec::new();
            loop {
                let last = done.load(Ordering::Acquire);
                match remove(queue) {
                    Some(element) => got.push(number(&element)),
                    None if last => return got,
                    None => yield_now(),
                }
            }
        })
    });
    for number in 0..COUNT {
        // `retain` above returns one element only, so no two that it removes may be queued
        // together.
        subject.until("room for the next", || number % 7 != 0 || queue.is_empty());
        assert_eq!(numbered(queue.put(element(number))), Ok(()));
    }
    done.store(true, Ordering::Release);
    let got = removers.map(|remover| subject.join("a remover", remover));
    assert_each_once(got.concat(), COUNT);
    assert_holds(&*queue, &[]);
}

pub(super) fn a_thread_finds_something_while_its_own_element_is_unmatched<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.empty();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            Subject::spawn(&queue, move |queue| {
                for _ in 0..1000 {
                    assert_eq!(numbered(queue.offer(element(thread))), Ok(()));
                    assert!(queue.contains(&mut |_| true), "nothing to see");
                    assert!(peeked(queue).is_some(), "nothing to peek at");
                    assert!(poll(queue).is_some(), "nothing to poll");
                }
            })
        })
        .collect();
    for thread in threads {
        subject.join("a thread that offers and polls", thread);
    }
    assert_holds(&*queue, &[]);
}

fn counted<T: Element>(number: u64, drops: &DropCounter) -> T {
    T::from_item(Item::counted(number, drops))
}

pub(super) fn the_queue_owns_each_element_once<T: Element>(subject: &Subject<T>) {
    let drops = DropCounter::new();
    let queue = subject.empty();
    for number in 0..7 {
        assert!(queue.offer(counted(number, &drops)).is_ok());
    }
    let out = (
        queue.poll(),
        queue.remove_first(&mut |_| true),
        queue.drain(1),
    );
    let retained = queue.retain(&mut |element| number(element) != 3);
    assert_eq!(drops.count(), 0, "what was removed is the caller's");
    let left = queue.len();
    drop((out, retained));
    assert_eq!(drops.count(), 7 - left);
    drop(queue);
    assert_eq!(drops.count(), 7, "what was left is dropped with the queue");
    let queue = subject.empty();
    assert!(queue.offer(counted(7, &drops)).is_ok());
    queue.clear();
    assert_eq!(drops.count(), 8, "what was cleared is dropped at once");
}

pub(super) fn an_element_that_found_no_room_comes_back_whole<T: Element>(subject: &Subject<T>) {
    let drops = DropCounter::new();
    let (queue, _) = subject.full();
    let full = queue.offer(counted(7, &drops));
    let late = queue.offer_timeout(counted(8, &drops), Duration::from_nanos(1));
    let theirs = counted(9, &drops);
    let putter = Subject::spawn(&queue, move |queue| queue.put(theirs));
    subject.await_putters(&queue, 1);
    putter.interrupt();
    let interrupted = subject.join("an interrupted put", putter);
    assert!(matches!(full, Err(PutError::Full(_))));
    assert!(matches!(late, Err(PutError::TimedOut(_))));
    assert!(matches!(interrupted, Err(PutError::Interrupted(_))));
    assert_eq!(drops.count(), 0);
    drop((full, late, interrupted));
    assert_eq!(drops.count(), 3);
    drop(queue);
    assert_eq!(drops.count(), 3);
}
