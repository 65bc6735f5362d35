//! What the transfer queue promises beyond the common contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt::{self, Interrupted, JoinHandle, spawn};
use windlass::queue::{BlockingQueue, BlockingQueueExt, LinkedTransferQueue, PutError, Waiting};
use windlass::testing::{PATIENCE, await_putters, await_takers, join};

const LONG: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

type Queue = Arc<LinkedTransferQueue<u32>>;
type Sent = Result<(), PutError<u32>>;
type Receive = fn(&LinkedTransferQueue<u32>) -> Option<u32>;

fn queue_of(items: impl IntoIterator<Item = u32>) -> Queue {
    Arc::new(items.into_iter().collect())
}

/// Starts a transfer and waits until it waits for its receipt.
fn parked_transfer(queue: &Queue, item: u32) -> JoinHandle<Sent> {
    let waiting = queue.waiting().map_or(0, |waiting| waiting.putters);
    let theirs = Arc::clone(queue);
    let sender = spawn(move || theirs.transfer(item));
    await_putters(&**queue, waiting + 1);
    sender
}

/// LTQ-001
#[test]
fn plain_insertion_never_waits_and_never_fails() {
    let queue = queue_of([]);
    for item in 0..100 {
        queue.offer(item).unwrap();
        queue.put(item).unwrap();
        queue.offer_timeout(item, Duration::ZERO).unwrap();
        assert_eq!(queue.remaining_capacity(), None);
    }
    assert_eq!(queue.len(), 300);
}

/// LTQ-002
#[test]
fn a_transfer_returns_when_its_element_has_been_received() {
    let receives: [Receive; 3] = [
        |queue| queue.poll(),
        |queue| queue.poll_timeout(LONG).unwrap(),
        |queue| queue.take().ok(),
    ];
    for receive in receives {
        let queue = queue_of([]);
        let sender = parked_transfer(&queue, 1);
        assert!(!sender.is_finished());
        assert_eq!(receive(&queue), Some(1));
        assert_eq!(join("sender", sender), Ok(()));
    }
}

/// LTQ-002
#[test]
fn a_transfer_to_a_parked_taker_returns_at_once() {
    let queue = queue_of([]);
    let theirs = Arc::clone(&queue);
    let taker = spawn(move || theirs.take());
    await_takers(&*queue, 1);
    assert_eq!(queue.transfer(1), Ok(()));
    assert_eq!(join("taker", taker), Ok(1));
}

/// LTQ-003
#[test]
fn an_element_under_transfer_counts_as_queued() {
    let queue = queue_of([]);
    let sender = parked_transfer(&queue, 1);
    assert_eq!((queue.len(), queue.is_empty()), (1, false));
    assert!(queue.contains(&mut |&item| item == 1));
    assert_eq!(queue.peek_cloned(), Some(1));
    assert_eq!(queue.take(), Ok(1));
    join("sender", sender).unwrap();
    assert!(queue.is_empty());
}

/// LTQ-004
#[test]
fn transferred_and_plain_elements_share_one_order() {
    let queue = queue_of([1]);
    let sender = parked_transfer(&queue, 2);
    queue.offer(3).unwrap();
    assert_eq!(queue.snapshot(), [1, 2, 3]);
    assert_eq!(
        (queue.poll(), queue.poll(), queue.poll()),
        (Some(1), Some(2), Some(3))
    );
    join("sender", sender).unwrap();
}

/// LTQ-005
#[test]
fn an_interrupt_takes_a_waiting_transfer_back() {
    let queue = queue_of([]);
    let first = parked_transfer(&queue, 1);
    let second = parked_transfer(&queue, 2);
    assert_eq!(queue.poll(), Some(1));
    join("first", first).unwrap();
    second.interrupt();
    assert_eq!(join("second", second), Err(PutError::Interrupted(2)));
    assert_eq!((queue.len(), queue.poll()), (0, None));
}

/// LTQ-006
#[test]
fn an_immediate_transfer_needs_a_taker_that_waits_already() {
    let queue = queue_of([]);
    assert_eq!(queue.try_transfer(1), Err(PutError::Full(1)));
    assert!(queue.is_empty());
}

/// LTQ-007
#[test]
fn an_immediate_transfer_reaches_takers_and_timed_pollers() {
    let receives: [Receive; 2] = [
        |queue| queue.take().ok(),
        |queue| queue.poll_timeout(LONG).unwrap(),
    ];
    for receive in receives {
        let queue = queue_of([]);
        let theirs = Arc::clone(&queue);
        let taker = spawn(move || receive(&theirs));
        await_takers(&*queue, 1);
        assert_eq!(queue.try_transfer(1), Ok(()));
        assert_eq!(join("taker", taker), Some(1));
    }
}

/// LTQ-008
#[test]
fn a_timed_transfer_gives_up_and_leaves_the_queue_as_it_was() {
    for before in [vec![], vec![1]] {
        let queue = queue_of(before.clone());
        let clock = TestClock::new();
        let theirs = Arc::clone(&queue);
        let sender = clock.enter(|| spawn(move || theirs.try_transfer_timeout(2, SECOND)));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(clock.next_wake_up(), Some(SECOND));
        clock.advance(SECOND);
        assert_eq!(join("sender", sender), Err(PutError::TimedOut(2)));
        assert_eq!(queue.snapshot(), before);
    }
}

/// LTQ-009
#[test]
fn an_interrupt_ends_a_timed_transfer_and_withdraws_its_element() {
    let queue = queue_of([]);
    interrupt::current().interrupt();
    let pending = queue.try_transfer_timeout(1, LONG);
    assert_eq!(pending, Err(PutError::Interrupted(1)));
    assert!(!interrupt::is_interrupted());

    let theirs = Arc::clone(&queue);
    let sender = spawn(move || theirs.try_transfer_timeout(2, LONG));
    await_putters(&*queue, 1);
    sender.interrupt();
    assert_eq!(join("sender", sender), Err(PutError::Interrupted(2)));
    assert!(queue.is_empty());
}

/// LTQ-010
#[test]
fn a_timed_transfer_lets_earlier_elements_be_consumed_first() {
    let queue = queue_of([4]);
    let theirs = Arc::clone(&queue);
    let sender = spawn(move || theirs.try_transfer_timeout(5, LONG));
    await_putters(&*queue, 1);
    assert_eq!(queue.poll(), Some(4));
    assert!(!sender.is_finished());
    assert_eq!(queue.poll(), Some(5));
    assert_eq!(join("sender", sender), Ok(()));
}

/// LTQ-011
#[test]
fn takers_that_wait_are_counted_and_a_match_lowers_the_count_at_once() {
    let queue = queue_of([]);
    assert!(!queue.has_waiting_consumer());
    let takers = [(); 2].map(|()| {
        let theirs = Arc::clone(&queue);
        spawn(move || theirs.take().unwrap())
    });
    await_takers(&*queue, 2);
    assert!(queue.has_waiting_consumer());
    queue.offer(1).unwrap();
    assert_eq!(queue.waiting_consumer_count(), 1);
    queue.offer(2).unwrap();
    assert_eq!(queue.waiting_consumer_count(), 0);
    assert_eq!(
        takers.map(|taker| join("taker", taker)).iter().sum::<u32>(),
        3
    );
}

/// LTQ-012
#[test]
fn with_a_pending_interrupt_only_a_call_that_has_to_wait_fails() {
    let queue = queue_of(0..5);
    interrupt::current().interrupt();
    for item in 0..4 {
        assert_eq!(queue.poll_timeout(LONG), Ok(Some(item)));
    }
    assert_eq!(queue.take(), Ok(4));
    assert!(interrupt::is_interrupted());
    assert!(queue.poll_timeout(LONG).is_err());
    assert!(!interrupt::is_interrupted());
}

/// LTQ-013
#[test]
fn removing_an_element_under_transfer_releases_its_sender() {
    let removes: [fn(&LinkedTransferQueue<u32>); 4] = [
        |queue| assert!(queue.remove_first(&mut |_| true).is_some()),
        |queue| drop(queue.retain(&mut |_| false)),
        |queue| drop(queue.drain(1)),
        |queue| queue.clear(),
    ];
    for remove in removes {
        let queue = queue_of([]);
        let sender = parked_transfer(&queue, 1);
        remove(&queue);
        assert_eq!(join("sender", sender), Ok(()));
        assert!(queue.is_empty());
    }
}

/// LTQ-014
#[test]
fn the_length_is_exact_after_every_step() {
    let queue = queue_of([]);
    for len in 1..=50 {
        queue.offer(0).unwrap();
        assert_eq!(queue.len(), len);
    }
    let sender = parked_transfer(&queue, 0);
    assert_eq!(queue.len(), 51);
    for len in (0..=50).rev() {
        assert_eq!(queue.poll(), Some(0));
        assert_eq!(queue.len(), len);
    }
    join("sender", sender).unwrap();
}

/// LTQ-016
#[test]
fn a_timed_poll_ends_on_time_whatever_others_take_and_put() {
    let queue = queue_of([]);
    let clock = TestClock::new();
    let theirs = Arc::clone(&queue);
    let poller = clock.enter(|| spawn(move || theirs.poll_timeout(SECOND)));
    assert!(clock.await_sleepers(1, PATIENCE));
    // Other takers come and go without waking the first.
    for _ in 0..100 {
        assert_eq!(queue.poll(), None);
        assert_eq!(queue.poll_timeout(Duration::from_nanos(1)), Ok(None));
        assert_eq!((clock.sleepers(), clock.next_wake_up()), (1, Some(SECOND)));
    }
    clock.advance(SECOND);
    assert_eq!(join("poller", poller), Ok(None));
}

/// LTQ-016
#[test]
fn timed_polls_that_race_with_offers_lose_nothing_and_do_not_get_stuck() {
    const COUNT: u32 = 20_000;
    let queue = queue_of([]);
    let theirs = Arc::clone(&queue);
    let poller = spawn(move || {
        let mut next = 0;
        while next < COUNT {
            if let Some(item) = theirs.poll_timeout(Duration::from_micros(1)).unwrap() {
                assert_eq!(item, next);
                next += 1;
            }
        }
    });
    (0..COUNT).for_each(|item| queue.offer(item).unwrap());
    join("poller", poller);
    let left = queue.waiting().map(|waiting| waiting.takers);
    assert_eq!((queue.len(), left), (0, Some(0)));
}

/// LTQ-017
#[test]
fn a_traversal_shows_only_what_is_queued() {
    let queue = queue_of([]);
    let done = Arc::new(AtomicBool::new(false));
    let (theirs, their_done) = (Arc::clone(&queue), Arc::clone(&done));
    let changer = spawn(move || {
        for _ in 0..5_000 {
            theirs.offer(1).unwrap();
            assert_eq!(theirs.remove_first(&mut |&item| item == 1), Some(1));
        }
        their_done.store(true, Ordering::Release);
    });
    while !done.load(Ordering::Acquire) {
        let seen = queue.snapshot();
        assert!(seen.is_empty() || seen == [1], "{seen:?}");
    }
    join("changer", changer);
}

/// A queue that rejects every insertion that does not wait.
struct NeverAtOnce(LinkedTransferQueue<u32>);

impl BlockingQueue<u32> for NeverAtOnce {
    fn offer(&self, item: u32) -> Sent {
        Err(PutError::Full(item))
    }
    fn offer_timeout(&self, item: u32, timeout: Duration) -> Sent {
        self.0.offer_timeout(item, timeout)
    }
    fn put(&self, item: u32) -> Sent {
        self.0.put(item)
    }
    fn poll(&self) -> Option<u32> {
        self.0.poll()
    }
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<u32>, Interrupted> {
        self.0.poll_timeout(timeout)
    }
    fn take(&self) -> Result<u32, Interrupted> {
        self.0.take()
    }
    fn drain(&self, max: usize) -> Vec<u32> {
        self.0.drain(max)
    }
    fn drain_all(&self) -> Vec<u32> {
        self.0.drain_all()
    }
    fn remove_first(&self, wanted: &mut dyn FnMut(&u32) -> bool) -> Option<u32> {
        self.0.remove_first(wanted)
    }
    fn retain(&self, keep: &mut dyn FnMut(&u32) -> bool) -> Vec<u32> {
        self.0.retain(keep)
    }
    fn for_each(&self, f: &mut dyn FnMut(&u32)) {
        self.0.for_each(f);
    }
    fn peek(&self, f: &mut dyn FnMut(&u32)) {
        self.0.peek(f);
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn remaining_capacity(&self) -> Option<usize> {
        self.0.remaining_capacity()
    }
    fn waiting(&self) -> Option<Waiting> {
        self.0.waiting()
    }
}

/// LTQ-015
#[test]
fn a_wrapper_that_changes_offer_does_not_change_put() {
    let queue = NeverAtOnce(LinkedTransferQueue::new());
    assert_eq!(queue.offer(1), Err(PutError::Full(1)));
    queue.put(2).unwrap();
    queue.offer_timeout(3, Duration::ZERO).unwrap();
    assert_eq!(queue.drain(9), [2, 3]);
}
