//! Checks of taking the next element, at once or after a wait.

use std::time::Duration;

use super::calls::{
    HOUR, MIXED, assert_holds, numbered, peeked, poll, poll_all, poll_for, take, until_timeout,
    while_interrupted, without_waiting,
};
use super::item::{Element, element};
use super::subject::{DynQueue, Subject};
use crate::clock::TestClock;
use crate::interrupt::{self, Interrupted};
use crate::queue::PutError;

pub(super) fn take_gives_elements_in_queue_order<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let taken = without_waiting(subject, &queue, |queue| {
        (0..MIXED.len()).filter_map(|_| take(queue).ok()).collect()
    });
    subject.order.assert_left(taken, &MIXED);
    assert_holds(&*queue, &[]);
}

pub(super) fn an_interrupt_ends_a_waiting_take<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let taker = Subject::spawn(&queue, |queue| (take(queue), interrupt::is_interrupted()));
    subject.await_takers(&queue, 1);
    taker.interrupt();
    let (answer, pending) = subject.join("an interrupted take", taker);
    assert_eq!(answer, Err(Interrupted));
    assert!(!pending, "the call that reports an interrupt clears it");
    assert_holds(&*queue, &[]);
}

pub(super) fn a_pending_interrupt_ends_a_take_that_has_to_wait<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let answer = while_interrupted(subject, &queue, take);
    assert_eq!(answer, (Err(Interrupted), false));
    assert_holds(&*queue, &[]);
}

pub(super) fn poll_gives_elements_in_queue_order_and_then_nothing<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.holding(&MIXED);
    let polled = (0..MIXED.len()).filter_map(|_| poll(&*queue)).collect();
    subject.order.assert_left(polled, &MIXED);
    assert_eq!(poll(&*queue), None);
    assert_holds(&*queue, &[]);
}

pub(super) fn a_timed_poll_gives_what_is_there_at_once<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let polled = without_waiting(subject, &queue, |queue| {
        let timeouts = [HOUR, Duration::ZERO, Duration::MAX].into_iter().cycle();
        let timeouts = timeouts.take(MIXED.len());
        timeouts
            .filter_map(|timeout| poll_for(queue, timeout).ok().flatten())
            .collect()
    });
    subject.order.assert_left(polled, &MIXED);
}

pub(super) fn a_timed_poll_waits_its_time_and_no_longer<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let answer = until_timeout(subject, &queue, poll_for);
    assert_eq!(answer, Ok(None));
    assert_holds(&*queue, &[]);
}

pub(super) fn a_timed_poll_of_no_time_tries_once<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let answer = without_waiting(subject, &queue, |queue| poll_for(queue, Duration::ZERO));
    assert_eq!(answer, Ok(None));
    assert_holds(&*queue, &[]);
}

pub(super) fn an_interrupt_ends_a_waiting_timed_poll<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let taker = TestClock::new().enter(|| {
        Subject::spawn(&queue, |queue| {
            (poll_for(queue, HOUR), interrupt::is_interrupted())
        })
    });
    subject.await_takers(&queue, 1);
    taker.interrupt();
    let answer = subject.join("an interrupted timed poll", taker);
    assert_eq!(answer, (Err(Interrupted), false));
    assert_holds(&*queue, &[]);
}

pub(super) fn a_pending_interrupt_ends_a_timed_poll_that_has_to_wait<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.empty();
    for timeout in [HOUR, Duration::ZERO] {
        let answer = while_interrupted(subject, &queue, move |queue| poll_for(queue, timeout));
        assert_eq!(answer, (Err(Interrupted), false), "with {timeout:?}");
    }
    assert_holds(&*queue, &[]);
}

/// The three ways to insert.
type Insert<T> = fn(&DynQueue<T>, T) -> Result<(), PutError<T>>;

fn inserts<T: Element>() -> [(&'static str, Insert<T>); 3] {
    [
        ("offer", |queue, element| queue.offer(element)),
        ("put", |queue, element| queue.put(element)),
        ("offer_timeout", |queue, element| {
            queue.offer_timeout(element, HOUR)
        }),
    ]
}

pub(super) fn a_waiting_take_receives_what_is_inserted<T: Element>(subject: &Subject<T>) {
    for (how, insert) in inserts() {
        let queue = subject.empty();
        let taker = Subject::spawn(&queue, take);
        subject.await_takers(&queue, 1);
        let inserted = without_waiting(subject, &queue, move |queue| {
            numbered(insert(queue, element(9)))
        });
        assert_eq!(inserted, Ok(()), "by {how}");
        assert_eq!(subject.join(how, taker), Ok(9), "by {how}");
        assert_holds(&*queue, &[]);
    }
}

pub(super) fn a_waiting_timed_poll_receives_what_is_inserted<T: Element>(subject: &Subject<T>) {
    for (how, insert) in inserts() {
        let queue = subject.empty();
        let taker =
            TestClock::new().enter(|| Subject::spawn(&queue, |queue| poll_for(queue, HOUR)));
        subject.await_takers(&queue, 1);
        let inserted = without_waiting(subject, &queue, move |queue| {
            numbered(insert(queue, element(9)))
        });
        assert_eq!(inserted, Ok(()), "by {how}");
        assert_eq!(subject.join(how, taker), Ok(Some(9)), "by {how}");
        assert_holds(&*queue, &[]);
    }
}

pub(super) fn a_queue_works_on_after_its_takers_were_interrupted<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for round in 0..3 {
        let takers: Vec<_> = (0..3).map(|_| Subject::spawn(&queue, take)).collect();
        subject.await_takers(&queue, 3);
        takers.iter().for_each(interrupt::JoinHandle::interrupt);
        for taker in takers {
            assert_eq!(subject.join("an interrupted take", taker), Err(Interrupted));
        }
        let last = Subject::spawn(&queue, take);
        subject.await_takers(&queue, 1);
        assert_eq!(numbered(queue.offer(element(round))), Ok(()));
        assert_eq!(subject.join("a later take", last), Ok(round));
    }
    assert_holds(&*queue, &[]);
}

pub(super) fn peek_shows_what_poll_would_give<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    for left in (0..MIXED.len()).rev() {
        let next = peeked(&*queue);
        assert!(next.is_some());
        assert_eq!((peeked(&*queue), queue.len()), (next, left + 1));
        assert_eq!(poll(&*queue), next);
    }
    assert_eq!(peeked(&*queue), None);
    assert_eq!(poll_all(&*queue), []);
}
