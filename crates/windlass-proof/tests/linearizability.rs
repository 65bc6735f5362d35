//! Recorded histories of concurrent calls to a queue are linearizable.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, Fairness, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue, SynchronousQueue,
};
use windlass_proof::cases;
use windlass_proof::history::{Answer, Call, History, Order, Reference};
use windlass_proof::seeded::{Bug, SeededQueue};

const THREADS: u32 = 3;
const CALLS: u32 = 6;
const ROOM: usize = 2;
const UNBOUNDED: usize = usize::MAX;

/// Random calls; no two offers are of the same element.
fn scripts(random: &mut fastrand::Rng) -> Vec<Vec<Call>> {
    let mut items: Vec<u32> = (0..THREADS * CALLS).collect();
    random.shuffle(&mut items);
    let mut call = || match random.u8(..20) {
        0 => Call::Drain,
        1..11 => Call::Offer(items.pop().unwrap()),
        _ => Call::Poll,
    };
    let mut script = || (0..CALLS).map(|_| call()).collect();
    (0..THREADS).map(|_| script()).collect()
}

/// Returns how many histories there were, and the first that is not linearizable.
fn find_violation<Q: BlockingQueue<u32>>(
    make: impl Fn() -> Q,
    reference: &Reference,
) -> (u32, Option<History>) {
    let (rounds, mut concurrent) = (cases(300), 0);
    for seed in 0..rounds {
        let queue = make();
        let scripts = scripts(&mut fastrand::Rng::with_seed(seed.into()));
        let history = History::record(&queue, &scripts);
        concurrent += u32::from(history.is_concurrent());
        if !history.is_linearizable(reference.clone()) {
            return (seed, Some(history));
        }
    }
    assert!(concurrent > 0, "the threads never met");
    (rounds, None)
}

fn check<Q: BlockingQueue<u32>>(make: impl Fn() -> Q, order: Order, room: usize) {
    let (_, violation) = find_violation(make, &Reference::new(order, room));
    assert!(violation.is_none(), "{violation:?}");
}

#[test]
fn a_linked_queue_is_linearizable() {
    check(LinkedBlockingQueue::new, Order::Fifo, UNBOUNDED);
}

#[test]
fn a_bounded_linked_queue_is_linearizable() {
    let make = || LinkedBlockingQueue::with_capacity(ROOM).unwrap();
    check(make, Order::Fifo, ROOM);
}

#[test]
fn a_resizable_queue_is_linearizable() {
    let make = || ResizableBlockingQueue::with_capacity(ROOM).unwrap();
    check(make, Order::Fifo, ROOM);
}

#[test]
fn an_array_queue_is_linearizable() {
    check(|| ArrayBlockingQueue::new(ROOM).unwrap(), Order::Fifo, ROOM);
}

#[test]
fn a_fair_array_queue_is_linearizable() {
    let make = || ArrayBlockingQueue::with_fairness(ROOM, Fairness::Fair).unwrap();
    check(make, Order::Fifo, ROOM);
}

#[test]
fn a_deque_is_linearizable() {
    check(LinkedBlockingDeque::new, Order::Fifo, UNBOUNDED);
}

#[test]
fn a_transfer_queue_is_linearizable() {
    check(LinkedTransferQueue::new, Order::Fifo, UNBOUNDED);
}

#[test]
fn a_priority_queue_is_linearizable() {
    check(PriorityBlockingQueue::new, Order::Least, UNBOUNDED);
}

/// Calls of one thread that only puts, one that only takes, and one that does both; those that
/// wait do so for a short time.
fn hand_off(queue: &dyn BlockingQueue<u32>, seed: u64) -> History {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut items = 0..THREADS * CALLS;
    let mut script = |gives: u8| {
        let mut call = || match random.u8(..10) < gives {
            true => Call::Offer(items.next().unwrap()),
            false => Call::Poll,
        };
        (0..CALLS).map(|_| call()).collect()
    };
    let scripts = [script(10), script(0), script(5)];
    let time = Duration::from_micros(200);
    History::record_by(&scripts, |call| match call {
        Call::Offer(item) if item % 3 == 0 => Answer::Placed(queue.offer(item).is_ok()),
        Call::Offer(item) => Answer::Placed(queue.offer_timeout(item, time).is_ok()),
        _ => Answer::Taken(queue.poll_timeout(time).unwrap()),
    })
}

fn check_hand_off(fairness: Fairness, holds: impl Fn(&History) -> bool) {
    let mut handed_over = 0;
    for seed in 0..cases(100).into() {
        let history = hand_off(&SynchronousQueue::with_fairness(fairness), seed);
        assert!(holds(&history), "{history:?}");
        handed_over += usize::from(format!("{history:?}").contains("Taken(Some"));
    }
    assert!(handed_over > 0, "the threads never met");
}

#[test]
fn a_fair_synchronous_queue_hands_off_while_both_are_there() {
    check_hand_off(Fairness::Fair, History::is_handed_over);
}

/// The taker for whom an element was accepted may find that another one has come by sooner.
#[test]
fn a_synchronous_queue_accepts_nothing_that_nobody_is_there_for() {
    check_hand_off(Fairness::Unfair, History::is_promised);
}

#[test]
fn the_checker_notices_a_queue_that_is_last_in_first_out() {
    let make = || SeededQueue::new(Bug::Lifo);
    let (at, violation) = find_violation(make, &Reference::new(Order::Fifo, UNBOUNDED));
    assert!(violation.is_some(), "not one in {at} histories");
}

#[test]
fn the_checker_notices_a_queue_that_loses_an_element() {
    let make = || SeededQueue::new(Bug::LosesOneOf(2));
    let (at, violation) = find_violation(make, &Reference::new(Order::Fifo, UNBOUNDED));
    assert!(violation.is_some(), "not one in {at} histories");
}

#[test]
fn the_checker_notices_a_hand_off_to_nobody() {
    let keeps = |seed| hand_off(&LinkedBlockingQueue::with_capacity(1).unwrap(), seed);
    assert!((0..50).any(|seed| !keeps(seed).is_handed_over()));
    assert!((0..50).any(|seed| !keeps(seed).is_promised()));
}
