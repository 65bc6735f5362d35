//! Checks of an interrupt that is pending when a call need not wait.

use std::time::Duration;

use super::calls::{
    HOUR, assert_holds, numbered, poll, poll_for, shown_elements, take, while_interrupted,
};
use super::item::{Element, element};
use super::subject::Subject;
use crate::clock::TestClock;
use crate::interrupt::Interrupted;
use crate::queue::PutError;

pub(super) fn calls_that_never_wait_ignore_a_pending_interrupt<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let stored = subject.is_stored();
    let (offered, pending) =
        while_interrupted(subject, &queue, |queue| numbered(queue.offer(element(1))));
    assert_eq!((offered.is_ok(), pending), (stored, true), "offer");
    let (seen, pending) = while_interrupted(subject, &queue, |queue| {
        (queue.len(), shown_elements(queue).len())
    });
    let held = usize::from(stored);
    assert_eq!((seen, pending), ((held, held), true), "len and for_each");
    let (polled, pending) = while_interrupted(subject, &queue, poll);
    assert_eq!((polled, pending), (stored.then_some(1), true), "poll");
    let (none, pending) = while_interrupted(subject, &queue, |queue| {
        let removed = queue.remove_first(&mut |_| true);
        removed.is_none() && queue.drain(9).is_empty() && queue.retain(&mut |_| true).is_empty()
    });
    assert!(none && pending, "removal");
}

pub(super) fn take_meets_a_pending_interrupt_as_promised<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&[7]);
    let answer = while_interrupted(subject, &queue, take);
    if subject.precedence.ends_take() {
        assert_eq!(answer, (Err(Interrupted), false));
        assert_holds(&*queue, &[7]);
    } else {
        assert_eq!(answer, (Ok(7), true));
        assert_holds(&*queue, &[]);
    }
}

pub(super) fn timed_poll_meets_a_pending_interrupt_as_promised<T: Element>(subject: &Subject<T>) {
    for timeout in [HOUR, Duration::ZERO] {
        let queue = subject.holding(&[7]);
        let answer = while_interrupted(subject, &queue, move |queue| poll_for(queue, timeout));
        if subject.precedence.ends_timed_poll() {
            assert_eq!(answer, (Err(Interrupted), false), "with {timeout:?}");
            assert_holds(&*queue, &[7]);
        } else {
            assert_eq!(answer, (Ok(Some(7)), true), "with {timeout:?}");
            assert_holds(&*queue, &[]);
        }
    }
}

pub(super) fn put_meets_a_pending_interrupt_as_promised<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let answer = while_interrupted(subject, &queue, |queue| numbered(queue.put(element(7))));
    if subject.precedence.ends_put() {
        assert_eq!(answer, (Err(PutError::Interrupted(7)), false));
        assert_holds(&*queue, &[]);
    } else {
        assert_eq!(answer, (Ok(()), true));
        assert_holds(&*queue, &[7]);
    }
}

pub(super) fn timed_offer_meets_a_pending_interrupt_as_promised<T: Element>(subject: &Subject<T>) {
    for timeout in [HOUR, Duration::ZERO] {
        let queue = subject.empty();
        let answer = while_interrupted(subject, &queue, move |queue| {
            numbered(queue.offer_timeout(element(7), timeout))
        });
        if subject.precedence.ends_timed_offer() {
            assert_eq!(answer, (Err(PutError::Interrupted(7)), false));
            assert_holds(&*queue, &[]);
        } else {
            assert_eq!(answer, (Ok(()), true));
            assert_holds(&*queue, &[7]);
        }
    }
}

pub(super) fn a_pending_interrupt_does_not_stop_a_handoff<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for timeout in [None, Some(HOUR), Some(Duration::ZERO)] {
        let taker = Subject::spawn(&queue, take);
        subject.await_takers(&queue, 1);
        let put = while_interrupted(subject, &queue, move |queue| {
            numbered(match timeout {
                None => queue.put(element(7)),
                Some(timeout) => queue.offer_timeout(element(7), timeout),
            })
        });
        assert_eq!(put, (Ok(()), true), "a put to a taker that waits");
        assert_eq!(subject.join("the taker", taker), Ok(7));

        let putter = TestClock::new()
            .enter(|| Subject::spawn(&queue, |queue| numbered(queue.put(element(8)))));
        subject.await_putters(&queue, 1);
        let taken = while_interrupted(subject, &queue, move |queue| match timeout {
            None => take(queue).map(Some),
            Some(timeout) => poll_for(queue, timeout),
        });
        assert_eq!(
            taken,
            (Ok(Some(8)), true),
            "a take from a putter that waits"
        );
        assert_eq!(subject.join("the putter", putter), Ok(()));
    }
}
