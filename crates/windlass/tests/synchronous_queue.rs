//! What the synchronous queue promises beyond the common contract.

use std::sync::Arc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt::{self, Interrupted, JoinHandle, spawn};
use windlass::queue::{BlockingQueue, BlockingQueueExt, Fairness, PutError, SynchronousQueue};
use windlass::testing::{DropCounter, DropToken, PATIENCE, await_putters, await_takers, join};

const LONG: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

type Queue = Arc<SynchronousQueue<u32>>;

fn both() -> [Queue; 2] {
    [Fairness::Fair, Fairness::Unfair]
        .map(|fairness| Arc::new(SynchronousQueue::with_fairness(fairness)))
}

fn spawn_put(queue: &Queue, item: u32) -> JoinHandle<Result<(), PutError<u32>>> {
    let queue = Arc::clone(queue);
    spawn(move || queue.put(item))
}

fn spawn_take(queue: &Queue) -> JoinHandle<Result<u32, Interrupted>> {
    let queue = Arc::clone(queue);
    spawn(move || queue.take())
}

fn assert_looks_empty_and_full(queue: &SynchronousQueue<u32>) {
    assert!(queue.is_empty());
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(0)));
    assert_eq!(queue.peek_cloned(), None);
    assert!(!queue.contains(&mut |_| true));
    assert_eq!(queue.snapshot(), []);
    assert_eq!(queue.remove_first(&mut |_| true), None);
    assert_eq!(queue.retain(&mut |_| false), []);
    queue.clear();
}

/// SQ-001
#[test]
fn it_looks_empty_and_full_whoever_waits_in_it() {
    for queue in both() {
        assert_looks_empty_and_full(&queue);
        let putter = spawn_put(&queue, 1);
        await_putters(&*queue, 1);
        assert_looks_empty_and_full(&queue);
        assert_eq!(queue.poll(), Some(1));
        join("putter", putter).unwrap();

        let taker = spawn_take(&queue);
        await_takers(&*queue, 1);
        assert_looks_empty_and_full(&queue);
        queue.offer(2).unwrap();
        assert_eq!(join("taker", taker), Ok(2));
    }
}

/// SQ-002
#[test]
fn an_offer_that_nobody_waits_for_comes_back() {
    for queue in both() {
        assert_eq!(queue.offer(1), Err(PutError::Full(1)));
        let unplaced = queue.offer_all([1, 2]).unwrap_err();
        assert_eq!((unplaced.placed, unplaced.rest), (0, vec![1, 2]));
    }
}

/// SQ-003
#[test]
fn an_offer_reaches_a_parked_taker() {
    for queue in both() {
        let taker = spawn_take(&queue);
        await_takers(&*queue, 1);
        assert_eq!(queue.offer(1), Ok(()));
        assert_eq!(queue.offer(2), Err(PutError::Full(2)));
        assert_eq!(join("taker", taker), Ok(1));
    }
}

/// SQ-003
#[test]
fn an_offer_reaches_a_parked_timed_poll() {
    for queue in both() {
        let theirs = Arc::clone(&queue);
        let taker = spawn(move || theirs.poll_timeout(LONG));
        await_takers(&*queue, 1);
        assert_eq!(queue.offer(1), Ok(()));
        assert_eq!(queue.offer(2), Err(PutError::Full(2)));
        assert_eq!(join("taker", taker), Ok(Some(1)));
    }
}

/// SQ-004
#[test]
fn an_interrupt_gives_a_waiting_put_its_element_back() {
    for queue in both() {
        let putter = spawn_put(&queue, 1);
        await_putters(&*queue, 1);
        putter.interrupt();
        assert_eq!(join("putter", putter), Err(PutError::Interrupted(1)));
        assert_eq!(queue.poll(), None);
    }
}

/// SQ-004
#[test]
fn a_pending_interrupt_gives_a_put_its_element_back() {
    for queue in both() {
        interrupt::current().interrupt();
        assert_eq!(queue.put(1), Err(PutError::Interrupted(1)));
        assert!(!interrupt::is_interrupted());
    }
}

/// SQ-005
#[test]
fn put_returns_only_after_its_element_was_taken() {
    for queue in both() {
        let putter = spawn_put(&queue, 1);
        await_putters(&*queue, 1);
        assert!(!putter.is_finished());
        assert_eq!(queue.take(), Ok(1));
        assert_eq!(join("putter", putter), Ok(()));
    }
}

/// SQ-006
#[test]
fn an_offer_that_ran_out_of_time_leaves_nothing_behind() {
    for queue in both() {
        let clock = TestClock::new();
        let theirs = Arc::clone(&queue);
        let putter = clock.enter(|| spawn(move || theirs.offer_timeout(1, SECOND)));
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(SECOND / 2);
        assert!(!putter.is_finished());
        clock.advance(SECOND / 2);
        assert_eq!(join("putter", putter), Err(PutError::TimedOut(1)));
        assert_eq!(queue.poll(), None);
    }
}

/// SQ-006
#[test]
fn an_interrupt_ends_a_timed_offer() {
    for queue in both() {
        let theirs = Arc::clone(&queue);
        let putter = spawn(move || theirs.offer_timeout(1, LONG));
        await_putters(&*queue, 1);
        putter.interrupt();
        assert_eq!(join("putter", putter), Err(PutError::Interrupted(1)));
        assert_eq!(queue.poll(), None);
    }
}

/// SQ-007
#[test]
fn without_a_putter_poll_finds_nothing_and_a_timed_poll_waits_its_time() {
    for queue in both() {
        assert_eq!(queue.poll(), None);
        assert_eq!(queue.poll_timeout(Duration::ZERO), Ok(None));
        let clock = TestClock::new();
        let theirs = Arc::clone(&queue);
        let taker = clock.enter(|| spawn(move || theirs.poll_timeout(SECOND)));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(clock.next_wake_up(), Some(SECOND));
        clock.advance(SECOND);
        assert_eq!(join("taker", taker), Ok(None));
    }
}

/// SQ-008
#[test]
fn a_timed_putter_and_a_timed_taker_meet_whoever_comes_first() {
    for queue in both() {
        let theirs = Arc::clone(&queue);
        let putter = spawn(move || theirs.offer_timeout(1, LONG));
        await_putters(&*queue, 1);
        assert_eq!(queue.poll_timeout(LONG), Ok(Some(1)));
        assert_eq!(join("putter", putter), Ok(()));

        let theirs = Arc::clone(&queue);
        let taker = spawn(move || theirs.poll_timeout(LONG));
        await_takers(&*queue, 1);
        assert_eq!(queue.offer_timeout(2, LONG), Ok(()));
        assert_eq!(join("taker", taker), Ok(Some(2)));
    }
}

/// SQ-009
#[test]
fn draining_takes_one_element_from_each_waiting_putter() {
    for queue in both() {
        assert_eq!(queue.drain(5), []);
        let putters = [1, 2, 3].map(|item| spawn_put(&queue, item));
        await_putters(&*queue, 3);
        let mut drained = queue.drain(1);
        assert_eq!(drained.len(), 1);
        await_putters(&*queue, 2);
        drained.append(&mut queue.drain(5));
        drained.sort_unstable();
        assert_eq!(drained, [1, 2, 3]);
        for putter in putters {
            assert_eq!(join("putter", putter), Ok(()));
        }
    }
}

/// SQ-010
#[test]
fn fair_takes_from_the_oldest_putter_and_unfair_from_the_newest() {
    for queue in both() {
        let mut putters = Vec::new();
        for item in 0..10 {
            putters.push(spawn_put(&queue, item));
            await_putters(&*queue, putters.len());
        }
        let taken: Vec<u32> = (0..10).map(|_| queue.take().unwrap()).collect();
        match queue.fairness() {
            Fairness::Fair => assert!(taken.iter().copied().eq(0..10)),
            Fairness::Unfair => assert!(taken.iter().copied().eq((0..10).rev())),
        }
        for putter in putters {
            join("putter", putter).unwrap();
        }
    }
}

/// SQ-010
#[test]
fn fair_gives_to_the_oldest_taker_and_unfair_to_the_newest() {
    for queue in both() {
        let mut takers = Vec::new();
        for count in 1..=10 {
            takers.push(spawn_take(&queue));
            await_takers(&*queue, count);
        }
        (0..10).for_each(|item| queue.put(item).unwrap());
        let got = takers
            .into_iter()
            .map(|taker| join("taker", taker).unwrap());
        match queue.fairness() {
            Fairness::Fair => assert!(got.eq(0..10)),
            Fairness::Unfair => assert!(got.eq((0..10).rev())),
        }
    }
}

/// Puts one counted element, again and again if interrupted.
fn put_stubbornly(queue: &SynchronousQueue<DropToken>, mut token: DropToken) {
    while let Err(refused) = queue.put(token) {
        assert!(refused.is_interrupted());
        token = refused.into_inner();
    }
}

/// SQ-011
#[test]
fn under_contention_and_interrupts_each_element_is_delivered_once_and_dropped_once() {
    const PAIRS: usize = 100;
    for fairness in [Fairness::Fair, Fairness::Unfair] {
        let drops = DropCounter::new();
        let queue = Arc::new(SynchronousQueue::with_fairness(fairness));
        let mut threads = Vec::new();
        for _ in 0..PAIRS {
            let (theirs, token) = (Arc::clone(&queue), drops.token());
            threads.push(spawn(move || put_stubbornly(&theirs, token)));
            let theirs = Arc::clone(&queue);
            threads.push(spawn(move || while theirs.take().is_err() {}));
            threads.iter().step_by(3).for_each(JoinHandle::interrupt);
        }
        for thread in threads {
            join("producer or consumer", thread);
        }
        assert_eq!(drops.count(), PAIRS);
        assert_eq!(queue.waiting().map(|w| (w.takers, w.putters)), Some((0, 0)));
    }
}

/// SQ-012
#[test]
fn with_a_pending_interrupt_an_exchange_needs_a_partner_that_waits() {
    for queue in both() {
        let putter = spawn_put(&queue, 1);
        await_putters(&*queue, 1);
        interrupt::current().interrupt();
        assert_eq!(queue.take(), Ok(1));
        join("putter", putter).unwrap();

        let taker = spawn_take(&queue);
        await_takers(&*queue, 1);
        assert_eq!(queue.put(2), Ok(()));
        assert!(interrupt::interrupted(), "both exchanges keep the flag");
        assert_eq!(join("taker", taker), Ok(2));

        interrupt::current().interrupt();
        assert!(queue.take().is_err());
        interrupt::current().interrupt();
        assert!(queue.poll_timeout(Duration::ZERO).is_err());
        interrupt::current().interrupt();
        assert_eq!(
            queue.offer_timeout(3, Duration::ZERO),
            Err(PutError::Interrupted(3))
        );
        assert!(!interrupt::is_interrupted());
    }
}
