//! What the deque promises beyond the common contract.

#![expect(clippy::unwrap_used, reason = "a test that fails may do so by a panic")]

use std::sync::Arc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt::{self, Interrupted, spawn};
use windlass::queue::{
    Blocking, BlockingQueue, BlockingQueueExt, Discipline, LinkedBlockingDeque, PutError,
};
use windlass::testing::{PATIENCE, await_putters, await_takers, join};

const LONG: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

type Deque = LinkedBlockingDeque<u32>;
type Placed = Result<(), PutError<u32>>;
type Polled = Result<Option<u32>, Interrupted>;
type TimedOffer = fn(&Deque, u32, Duration) -> Placed;
type Take = fn(&Deque) -> Result<u32, Interrupted>;

const PUTS: [fn(&Deque, u32) -> Placed; 2] = [Deque::put_first, Deque::put_last];
const TAKES: [Take; 2] = [Deque::take_first, Deque::take_last];
const TIMED_OFFERS: [TimedOffer; 2] = [Deque::offer_first_timeout, Deque::offer_last_timeout];
const TIMED_POLLS: [fn(&Deque, Duration) -> Polled; 2] =
    [Deque::poll_first_timeout, Deque::poll_last_timeout];

fn bounded(capacity: usize, items: impl IntoIterator<Item = u32>) -> Arc<Deque> {
    let deque = Deque::with_capacity(capacity).unwrap();
    deque.offer_all(items).unwrap();
    Arc::new(deque)
}

fn ends(deque: &Deque) -> (Option<u32>, Option<u32>) {
    let (mut first, mut last) = (None, None);
    deque.peek_first(&mut |&item| first = Some(item));
    deque.peek_last(&mut |&item| last = Some(item));
    (first, last)
}

/// LBD-002
#[test]
fn both_ends_share_one_bound() {
    let deque = bounded(3, []);
    deque.offer_first(2).unwrap();
    deque.offer_last(3).unwrap();
    deque.offer_first(1).unwrap();
    assert_eq!(deque.offer_first(9), Err(PutError::Full(9)));
    assert_eq!(deque.offer_last(9), Err(PutError::Full(9)));
    assert_eq!(deque.snapshot(), [1, 2, 3]);
}

/// LBD-003
#[test]
fn elements_can_be_polled_from_either_end() {
    let deque = bounded(4, 1..=4);
    let polled = [
        deque.poll_first(),
        deque.poll_last(),
        deque.poll_last(),
        deque.poll_first(),
    ];
    assert_eq!(polled, [Some(1), Some(4), Some(3), Some(2)]);
    assert_eq!((deque.poll_first(), deque.poll_last()), (None, None));
}

/// LBD-004
#[test]
fn either_end_can_be_peeked_at() {
    let deque = bounded(3, 1..=3);
    assert_eq!(ends(&deque), (Some(1), Some(3)));
    deque.poll_last();
    assert_eq!(ends(&deque), (Some(1), Some(2)));
    deque.poll_first();
    assert_eq!(ends(&deque), (Some(2), Some(2)));
    deque.poll_first();
    assert_eq!(ends(&deque), (None, None));
}

/// LBD-005
#[test]
fn the_head_is_a_stack() {
    let deque = bounded(2, []);
    deque.offer_first(1).unwrap();
    deque.offer_first(2).unwrap();
    assert_eq!(deque.offer_first(3), Err(PutError::Full(3)));
    assert_eq!(ends(&deque).0, Some(2));
    assert_eq!((deque.poll_first(), deque.poll_first()), (Some(2), Some(1)));
    assert_eq!(deque.poll_first(), None);
}

/// LBD-006
#[test]
fn the_first_or_the_last_match_can_be_removed() {
    let deque = bounded(6, 1..=6);
    let mut is_even = |item: &u32| item % 2 == 0;
    assert_eq!(deque.remove_first(&mut is_even), Some(2));
    assert_eq!(deque.remove_last(&mut is_even), Some(6));
    assert_eq!(deque.snapshot(), [1, 3, 4, 5]);
    assert_eq!(deque.remove_last(&mut is_even), Some(4));
    assert_eq!(deque.remove_last(&mut is_even), None);
}

/// LBD-007
#[test]
fn a_put_at_either_end_waits_for_room_made_at_either_end() {
    for put in PUTS {
        for take in TAKES {
            let deque = bounded(1, [1]);
            let theirs = Arc::clone(&deque);
            let putter = spawn(move || put(&theirs, 2));
            await_putters(&*deque, 1);
            assert_eq!(take(&deque), Ok(1));
            assert_eq!(join("putter", putter), Ok(()));
            assert_eq!(deque.snapshot(), [2]);
        }
    }
}

/// LBD-007
#[test]
fn an_interrupt_ends_a_put_that_waits_at_either_end() {
    for put in PUTS {
        let deque = bounded(1, [1]);
        let theirs = Arc::clone(&deque);
        let putter = spawn(move || put(&theirs, 2));
        await_putters(&*deque, 1);
        putter.interrupt();
        assert_eq!(join("putter", putter), Err(PutError::Interrupted(2)));
        assert_eq!(deque.snapshot(), [1]);
    }
}

/// LBD-008
#[test]
fn a_take_at_either_end_yields_from_its_end() {
    let deque = bounded(3, 1..=3);
    assert_eq!(deque.take_last(), Ok(3));
    assert_eq!(deque.take_first(), Ok(1));
    assert_eq!(deque.take_first(), Ok(2));
}

/// LBD-008
#[test]
fn an_interrupt_ends_a_take_that_waits_at_either_end() {
    for take in TAKES {
        let deque = bounded(1, []);
        interrupt::current().interrupt();
        assert!(take(&deque).is_err());
        assert!(!interrupt::is_interrupted());

        let theirs = Arc::clone(&deque);
        let taker = spawn(move || take(&theirs));
        await_takers(&*deque, 1);
        taker.interrupt();
        assert!(join("taker", taker).is_err());
    }
}

/// LBD-009
#[test]
fn a_timed_offer_at_either_end_gives_up_on_time_or_gets_the_room() {
    for offer in TIMED_OFFERS {
        let deque = bounded(1, [1]);
        assert_eq!(offer(&deque, 2, Duration::ZERO), Err(PutError::TimedOut(2)));
        let clock = TestClock::new();
        let theirs = Arc::clone(&deque);
        let putter = clock.enter(|| spawn(move || offer(&theirs, 2, SECOND)));
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(SECOND);
        assert_eq!(join("putter", putter), Err(PutError::TimedOut(2)));

        let theirs = Arc::clone(&deque);
        let putter = spawn(move || offer(&theirs, 3, LONG));
        await_putters(&*deque, 1);
        assert_eq!(deque.poll(), Some(1));
        assert_eq!(join("putter", putter), Ok(()));
    }
}

/// LBD-009
#[test]
fn an_interrupt_ends_a_timed_offer_at_either_end() {
    for offer in TIMED_OFFERS {
        let deque = bounded(1, [1]);
        let theirs = Arc::clone(&deque);
        let putter = spawn(move || offer(&theirs, 2, LONG));
        await_putters(&*deque, 1);
        putter.interrupt();
        assert_eq!(join("putter", putter), Err(PutError::Interrupted(2)));
    }
}

/// LBD-010
#[test]
fn a_timed_poll_at_either_end_gets_what_is_there_or_waits_its_time() {
    for (poll, item) in TIMED_POLLS.into_iter().zip([1, 2]) {
        let deque = bounded(2, [1, 2]);
        assert_eq!(poll(&deque, Duration::ZERO), Ok(Some(item)));
        assert_eq!(poll(&deque, LONG), Ok(Some(3 - item)));
        assert_eq!(poll(&deque, Duration::ZERO), Ok(None));
        let clock = TestClock::new();
        let theirs = Arc::clone(&deque);
        let poller = clock.enter(|| spawn(move || poll(&theirs, SECOND)));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(clock.next_wake_up(), Some(SECOND));
        clock.advance(SECOND);
        assert_eq!(join("poller", poller), Ok(None));
    }
}

/// LBD-010
#[test]
fn an_interrupt_ends_a_timed_poll_at_either_end() {
    for poll in TIMED_POLLS {
        let deque = bounded(1, []);
        let theirs = Arc::clone(&deque);
        let poller = spawn(move || poll(&theirs, LONG));
        await_takers(&*deque, 1);
        poller.interrupt();
        assert!(join("poller", poller).is_err());
    }
}

/// LBD-010
#[test]
fn a_timed_poll_at_either_end_is_served_by_an_insert_at_either_end() {
    for poll in TIMED_POLLS {
        for put in PUTS {
            let deque = bounded(1, []);
            let theirs = Arc::clone(&deque);
            let poller = spawn(move || poll(&theirs, LONG));
            await_takers(&*deque, 1);
            put(&deque, 7).unwrap();
            assert_eq!(join("poller", poller), Ok(Some(7)));
        }
    }
}

/// LBD-011
#[test]
fn a_reverse_traversal_goes_from_tail_to_head() {
    let deque = bounded(4, 1..=4);
    assert_eq!(deque.remove_last(&mut |&item| item < 4), Some(3));
    let mut seen = Vec::new();
    deque.for_each_rev(&mut |&item| seen.push(item));
    assert_eq!(seen, [4, 2, 1]);
}

/// LBD-012
#[test]
fn a_taker_at_one_end_is_served_by_an_insert_at_the_other() {
    for (take, put) in TAKES.into_iter().zip(PUTS.into_iter().rev()) {
        let deque = bounded(1, []);
        let theirs = Arc::clone(&deque);
        let taker = spawn(move || take(&theirs));
        await_takers(&*deque, 1);
        put(&deque, 7).unwrap();
        assert_eq!(join("taker", taker), Ok(7));
    }
}

/// LBD-013
#[test]
fn a_pending_interrupt_that_need_not_wait_fails_only_the_timed_calls() {
    let deque = bounded(9, [1]);
    interrupt::current().interrupt();
    for (put, take) in PUTS.into_iter().zip(TAKES) {
        assert_eq!(put(&deque, 2), Ok(()));
        assert!(take(&deque).is_ok());
    }
    assert!(interrupt::is_interrupted());
    for (offer, poll) in TIMED_OFFERS.into_iter().zip(TIMED_POLLS) {
        interrupt::current().interrupt();
        assert_eq!(offer(&deque, 3, LONG), Err(PutError::Interrupted(3)));
        interrupt::current().interrupt();
        assert!(poll(&deque, LONG).is_err());
    }
    assert!(!interrupt::is_interrupted());
}

/// A discipline that removes the newest element first.
struct Stack(Vec<u32>);

impl Discipline for Stack {
    type Item = u32;
    fn push(&mut self, item: u32) {
        self.0.push(item);
    }
    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn peek(&self) -> Option<&u32> {
        self.0.last()
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &u32> + '_> {
        Box::new(self.0.iter().rev())
    }
    fn remove(&mut self, at: usize) -> u32 {
        let index = self.0.len() - 1 - at;
        self.0.remove(index)
    }
}

/// LBD-014
#[test]
fn a_discipline_of_a_few_lines_is_a_work_queue_that_gives_the_newest_first() {
    let queue = Blocking::new(Stack(Vec::new()));
    for item in 1..=4 {
        queue.put(item).unwrap();
    }
    assert_eq!(queue.take(), Ok(4));
    assert_eq!(queue.remove_first(&mut |&item| item < 3), Some(2));
    assert_eq!(queue.drain(9), [3, 1]);
}
