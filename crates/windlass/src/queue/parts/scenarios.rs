//! Races that the models of several queues run, each with its own queue.
//!
//! A scenario ends under every schedule unless a wake-up is lost: loom and shuttle then report a
//! deadlock. On plain threads it is a smoke test.

use std::sync::Arc;

use crate::interrupt;
use crate::queue::{BlockingQueue, BlockingQueueExt};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;

/// Starts a thread of a model.
pub(crate) fn spawn<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    thread::Builder::new().spawn(body).unwrap()
}

/// Two takers, which may or may not wait already, get two elements.
pub(crate) fn every_element_finds_a_taker(queue: impl BlockingQueue<u32> + 'static) {
    let queue = Arc::new(queue);
    let takers = [(); 2].map(|()| {
        let queue = Arc::clone(&queue);
        spawn(move || queue.take().unwrap())
    });
    queue.offer(1).unwrap();
    queue.offer(2).unwrap();
    let sum: u32 = takers.map(|taker| taker.join().unwrap()).iter().sum();
    assert_eq!(sum, 3);
}

/// A putter gets the one place of the queue when it becomes free.
pub(crate) fn a_freed_place_finds_its_putter(queue: impl BlockingQueue<u32> + 'static) {
    let queue = Arc::new(queue);
    queue.offer(1).unwrap();
    let theirs = Arc::clone(&queue);
    let putter = spawn(move || theirs.put(2).unwrap());
    assert_eq!(queue.take(), Ok(1));
    assert_eq!(queue.take(), Ok(2));
    putter.join().unwrap();
    assert_eq!(queue.len(), 0);
}

/// Of two takers one is interrupted, perhaps just when it is signalled: one of them
/// gets the one element.
pub(crate) fn an_interrupted_taker_strands_nobody(queue: impl BlockingQueue<u32> + 'static) {
    let queue = Arc::new(queue);
    let me = interrupt::current();
    let theirs = Arc::clone(&queue);
    let other = spawn(move || theirs.take().unwrap());
    let theirs = Arc::clone(&queue);
    let giver = spawn(move || {
        me.interrupt();
        theirs.offer(1).unwrap();
    });
    let mine = queue.take();
    if mine.is_ok() {
        queue.offer(2).unwrap();
    }
    let all = mine.unwrap_or(0) + other.join().unwrap();
    giver.join().unwrap();
    let _ = interrupt::interrupted();
    assert_eq!((all, queue.len()), (if mine.is_ok() { 3 } else { 1 }, 0));
}

/// Of two putters at a queue with one place, one is interrupted, perhaps just when
/// it is signalled: one of them gets the place.
pub(crate) fn an_interrupted_putter_strands_nobody(queue: impl BlockingQueue<u32> + 'static) {
    let queue = Arc::new(queue);
    queue.offer(1).unwrap();
    let me = interrupt::current();
    let theirs = Arc::clone(&queue);
    let other = spawn(move || theirs.put(2).unwrap());
    let theirs = Arc::clone(&queue);
    let taker = spawn(move || {
        me.interrupt();
        assert!(theirs.poll().is_some());
    });
    if queue.put(3).is_ok() {
        let _ = interrupt::interrupted();
        queue.take().unwrap();
    }
    other.join().unwrap();
    taker.join().unwrap();
    let _ = interrupt::interrupted();
    assert_eq!(queue.len(), 1);
}

/// The taker of an element sees what its producer did before it put the element.
pub(crate) fn a_taker_sees_what_came_before_the_put(queue: impl BlockingQueue<u32> + 'static) {
    let queue = Arc::new(queue);
    let note = Arc::new(AtomicUsize::new(0));
    let theirs = (Arc::clone(&queue), Arc::clone(&note));
    let producer = spawn(move || {
        // Relaxed: only the queue can make this visible.
        theirs.1.store(7, Ordering::Relaxed);
        theirs.0.put(1)
    });
    assert_eq!(queue.take(), Ok(1));
    assert_eq!(note.load(Ordering::Relaxed), 7);
    producer.join().unwrap().unwrap();
}

/// A pool relies on this: its last worker gives up its place and then looks for an element; a
/// submitter inserts one and then looks for a worker. At least one of them finds the other's.
pub(crate) fn an_element_is_counted_or_its_producer_sees_who_counts(
    queue: impl BlockingQueue<u32> + 'static,
) {
    let queue = Arc::new(queue);
    let left = Arc::new(AtomicUsize::new(0));
    let theirs = (Arc::clone(&queue), Arc::clone(&left));
    let leaver = spawn(move || {
        theirs.1.fetch_add(1, Ordering::SeqCst);
        theirs.0.is_empty()
    });
    queue.offer(1).unwrap();
    let is_seen = left.load(Ordering::SeqCst) == 1;
    let is_missed = leaver.join().unwrap();
    assert!(is_seen || !is_missed, "the element is nobody's");
}

/// Two putters wait at a full queue of two, and two places become free at once.
pub(crate) fn places_freed_together_let_in_as_many_putters(
    queue: impl BlockingQueue<u32> + 'static,
) {
    let queue = Arc::new(queue);
    queue.offer_all([1, 1]).unwrap();
    let putters = [(); 2].map(|()| {
        let queue = Arc::clone(&queue);
        spawn(move || queue.put(2).unwrap())
    });
    assert_eq!(queue.drain(2), [1, 1]);
    for putter in putters {
        putter.join().unwrap();
    }
    assert_eq!(queue.len(), 2);
}

/// In a fair queue of one, an element that a taker waits for goes to it.
pub(crate) fn no_newcomer_takes_the_element_of_a_waiting_taker(
    queue: impl BlockingQueue<u32> + 'static,
) {
    let queue = Arc::new(queue);
    let theirs = Arc::clone(&queue);
    let taker = spawn(move || theirs.take().unwrap());
    let waits = queue.waiting().unwrap().takers == 1;
    queue.offer(1).unwrap();
    let overtaken = queue.poll();
    assert!(!waits || overtaken.is_none());
    if overtaken.is_some() {
        queue.offer(1).unwrap();
    }
    assert_eq!(taker.join().unwrap(), 1);
}

/// In a fair queue of one, a place that a putter waits for goes to it.
pub(crate) fn no_newcomer_gets_the_place_of_a_waiting_putter(
    queue: impl BlockingQueue<u32> + 'static,
) {
    let queue = Arc::new(queue);
    queue.offer(1).unwrap();
    let theirs = Arc::clone(&queue);
    let putter = spawn(move || theirs.put(2).unwrap());
    let waits = queue.waiting().unwrap().putters == 1;
    assert!(queue.poll().is_some());
    let overtaken = queue.offer(3).is_ok();
    assert!(!waits || !overtaken);
    if overtaken {
        assert!(queue.take().is_ok());
    }
    putter.join().unwrap();
    assert_eq!(queue.len(), 1);
}
