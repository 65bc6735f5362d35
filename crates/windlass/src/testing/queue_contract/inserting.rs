//! Checks of insertions that wait for room.

use std::time::Duration;

use super::calls::{
    HOUR, assert_holds, numbered, poll, poll_all, take, until_timeout, while_interrupted,
    without_waiting,
};
use super::item::{Element, element, number};
use super::subject::{Order, Subject};
use crate::clock::TestClock;
use crate::interrupt;
use crate::queue::{BlockingQueueExt, PutError};

/// Returns what is left when the next of `held` was taken and a nine was inserted.
#[track_caller]
fn after_taking<T: Element>(subject: &Subject<T>, held: &[u64], taken: Option<u64>) -> Vec<u64> {
    // Where nothing is held, what is taken is the nine itself.
    let mut left = subject.order.leaving(held);
    left.push(9);
    let place = left.iter().position(|&number| Some(number) == taken);
    match place {
        Some(place) if place == 0 || subject.order == Order::Unspecified => left.remove(place),
        _ => panic!("{taken:?} was taken, of {held:?}"),
    };
    left
}

pub(super) fn an_interrupt_ends_a_waiting_put<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let putter = Subject::spawn(&queue, |queue| {
        (numbered(queue.put(element(9))), interrupt::is_interrupted())
    });
    subject.await_putters(&queue, 1);
    putter.interrupt();
    let (answer, pending) = subject.join("an interrupted put", putter);
    assert_eq!(answer, Err(PutError::Interrupted(9)));
    assert!(!pending, "the call that reports an interrupt clears it");
    assert_holds(&*queue, &held);
}

pub(super) fn a_pending_interrupt_ends_a_put_that_has_to_wait<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let answer = while_interrupted(subject, &queue, |queue| numbered(queue.put(element(9))));
    assert_eq!(answer, (Err(PutError::Interrupted(9)), false));
    assert_holds(&*queue, &held);
}

pub(super) fn a_waiting_put_gets_in_when_an_element_is_taken<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let putter = Subject::spawn(&queue, |queue| numbered(queue.put(element(9))));
    subject.await_putters(&queue, 1);
    let taken = without_waiting(subject, &queue, take);
    let left = after_taking(subject, &held, taken.ok());
    assert_eq!(subject.join("the put that found room", putter), Ok(()));
    assert_holds(&*queue, &left);
    assert_eq!(queue.remaining_capacity(), Some(0));
}

pub(super) fn a_timed_offer_that_runs_out_gives_the_element_back<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let answer = until_timeout(subject, &queue, |queue, timeout| {
        numbered(queue.offer_timeout(element(9), timeout))
    });
    assert_eq!(answer, Err(PutError::TimedOut(9)));
    assert_holds(&*queue, &held);
    subject.order.assert_left(poll_all(&*queue), &held);
}

pub(super) fn an_interrupt_ends_a_waiting_timed_offer<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let putter = TestClock::new().enter(|| {
        Subject::spawn(&queue, |queue| {
            let answer = numbered(queue.offer_timeout(element(9), HOUR));
            (answer, interrupt::is_interrupted())
        })
    });
    subject.await_putters(&queue, 1);
    putter.interrupt();
    let answer = subject.join("an interrupted timed offer", putter);
    assert_eq!(answer, (Err(PutError::Interrupted(9)), false));
    assert_holds(&*queue, &held);
}

pub(super) fn a_pending_interrupt_ends_a_timed_offer_that_has_to_wait<T: Element>(
    subject: &Subject<T>,
) {
    let (queue, held) = subject.full();
    for timeout in [HOUR, Duration::ZERO] {
        let answer = while_interrupted(subject, &queue, move |queue| {
            numbered(queue.offer_timeout(element(9), timeout))
        });
        assert_eq!(answer, (Err(PutError::Interrupted(9)), false));
    }
    assert_holds(&*queue, &held);
}

pub(super) fn a_waiting_timed_offer_gets_in_when_room_appears<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let putter = TestClock::new().enter(|| {
        Subject::spawn(&queue, |queue| {
            numbered(queue.offer_timeout(element(9), HOUR))
        })
    });
    subject.await_putters(&queue, 1);
    let left = after_taking(subject, &held, poll(&*queue));
    assert_eq!(subject.join("the offer that found room", putter), Ok(()));
    assert_holds(&*queue, &left);
}

pub(super) fn a_timed_offer_does_not_wait_while_there_is_room<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for (sent, timeout) in [HOUR, Duration::ZERO, Duration::MAX]
        .into_iter()
        .enumerate()
    {
        let answer = without_waiting(subject, &queue, move |queue| {
            numbered(queue.offer_timeout(element(sent as u64), timeout))
        });
        assert_eq!(answer, Ok(()));
    }
    assert_holds(&*queue, &[0, 1, 2]);
    assert!(queue.contains(&mut |element| number(element) == 1));
}

pub(super) fn a_timed_offer_of_no_time_tries_once<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let answer = without_waiting(subject, &queue, |queue| {
        numbered(queue.offer_timeout(element(9), Duration::ZERO))
    });
    assert_eq!(answer, Err(PutError::TimedOut(9)));
    assert_holds(&*queue, &held);
}
