//! Checks of who is woken, and that no thread waits forever.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use super::calls::{Call, assert_each_once, assert_holds, numbered, poll, poll_all, take};
use super::item::{Element, element, number, numbers};
use super::subject::{Order, Queue, Service, Subject};
use crate::interrupt::JoinHandle;
use crate::queue::{BlockingQueueExt, PutError};

type Putter = JoinHandle<Result<(), PutError<u64>>>;

/// Starts threads that wait to put these, in this order.
fn putters<T: Element>(subject: &Subject<T>, queue: &Queue<T>, numbers: &[u64]) -> Vec<Putter> {
    let mut putters = Vec::new();
    for &number in numbers {
        let putter = Subject::spawn(queue, move |queue| numbered(queue.put(element(number))));
        putters.push(putter);
        subject.await_putters(queue, putters.len());
    }
    putters
}

fn ended<R>(threads: &[JoinHandle<R>]) -> usize {
    threads.iter().filter(|thread| thread.is_finished()).count()
}

fn admit_all<T: Element>(subject: &Subject<T>, queue: &Queue<T>, putters: Vec<Putter>) {
    subject.until("the putters that are left", || {
        queue.clear();
        ended(&putters) == putters.len()
    });
    for putter in putters {
        assert_eq!(subject.join("a putter", putter), Ok(()));
    }
}

/// Fails unless `removal` admits `admitted` of three putters that wait at a full queue with two
/// places.
fn assert_admits<T: Element>(subject: &Subject<T>, removal: Call<T>, admitted: usize) {
    let (how, remove) = removal;
    let (queue, _) = subject.full();
    let putters = putters(subject, &queue, &[10, 11, 12]);
    remove(&*queue);
    subject.until(how, || ended(&putters) == admitted);
    subject.await_putters(&queue, 3 - admitted);
    assert_eq!(queue.len(), 2, "{how} let too many in, or too few");
    assert_eq!(ended(&putters), admitted, "let in by {how}");
    admit_all(subject, &queue, putters);
}

pub(super) fn removing_one_element_lets_in_one_putter<T: Element>(subject: &Subject<T>) {
    let removals: [Call<T>; 6] = [
        ("take", |queue| drop(queue.take())),
        ("poll", |queue| drop(queue.poll())),
        ("poll_timeout", |queue| {
            drop(queue.poll_timeout(Duration::ZERO));
        }),
        ("drain", |queue| drop(queue.drain(1))),
        ("remove_first", |queue| {
            drop(queue.remove_first(&mut |element| number(element) == 1));
        }),
        ("retain", |queue| {
            drop(queue.retain(&mut |element| number(element) != 1));
        }),
    ];
    for removal in removals {
        assert_admits(subject, removal, 1);
    }
}

pub(super) fn removing_many_elements_lets_in_as_many_putters<T: Element>(subject: &Subject<T>) {
    let removals: [Call<T>; 4] = [
        ("clear", |queue| queue.clear()),
        ("drain", |queue| drop(queue.drain(usize::MAX))),
        ("drain_all", |queue| drop(queue.drain_all())),
        ("retain", |queue| drop(queue.retain(&mut |_| false))),
    ];
    for removal in removals {
        assert_admits(subject, removal, 2);
    }
}

pub(super) fn a_drain_lets_a_waiting_put_in<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    let mut putters = putters(subject, &queue, &[9]);
    let mut all = numbers(queue.drain(usize::MAX));
    let putter = putters.remove(0);
    assert_eq!(subject.join("a put beside a drain", putter), Ok(()));
    all.extend(poll_all(&*queue));
    assert_eq!(all.pop(), Some(9), "the element that was let in");
    subject.order.assert_left(all, &held);
    assert_holds(&*queue, &[]);
}

pub(super) fn a_consumer_that_fails_midway_loses_nothing_queued<T: Element>(subject: &Subject<T>) {
    let queue = subject.with_room(10);
    for number in 0..10 {
        assert_eq!(numbered(queue.offer(element(number))), Ok(()));
    }
    let putters = putters(subject, &queue, &[10, 11, 12, 13]);
    let mut accepted = Vec::new();
    for _ in 0..2 {
        let consumed = catch_unwind(AssertUnwindSafe(|| {
            for element in queue.drain(2) {
                accepted.push(number(&element));
            }
            resume_unwind(Box::new("the consumer fails"));
        }));
        assert!(consumed.is_err());
        subject.until("putters beside a failed consumer", || queue.len() == 10);
    }
    for putter in putters {
        assert_eq!(subject.join("a putter", putter), Ok(()));
    }
    let left = poll_all(&*queue);
    if subject.order == Order::Fifo {
        assert_eq!(
            (&accepted[..], &left[..6]),
            (&[0, 1, 2, 3][..], &[4, 5, 6, 7, 8, 9][..])
        );
    }
    assert_each_once([accepted, left].concat(), 14);
}

pub(super) fn waits_that_run_out_leave_nothing_behind<T: Element>(subject: &Subject<T>) {
    const SHORT: Duration = Duration::from_nanos(1);
    let queue = subject.empty();
    for _ in 0..1000 {
        assert!(matches!(queue.poll_timeout(SHORT), Ok(None)));
    }
    assert_holds(&*queue, &[]);
}

pub(super) fn offers_that_run_out_leave_nothing_behind<T: Element>(subject: &Subject<T>) {
    const SHORT: Duration = Duration::from_nanos(1);
    let (queue, held) = subject.full();
    for _ in 0..1000 {
        let answer = numbered(queue.offer_timeout(element(9), SHORT));
        assert_eq!(answer, Err(PutError::TimedOut(9)));
    }
    assert_holds(&*queue, &held);
}

pub(super) fn interrupted_takers_strand_no_others<T: Element>(subject: &Subject<T>) {
    for round in 0..30 {
        let queue = subject.empty();
        let mut takers: Vec<_> = (0..4).map(|_| Subject::spawn(&queue, take)).collect();
        subject.await_takers(&queue, 4);
        // The interrupts race with the insertion: the signalled taker takes it or passes it on.
        let uninterrupted = takers.remove(round % 4);
        let handles: Vec<_> = takers.iter().map(JoinHandle::interrupt_handle).collect();
        let interrupter = crate::interrupt::spawn(move || {
            handles
                .iter()
                .for_each(crate::interrupt::InterruptHandle::interrupt);
        });
        let mut placed = usize::from(queue.offer(element(1)).is_ok());
        subject.join("the interrupts", interrupter);
        let mut taken = 0;
        for taker in takers {
            taken += usize::from(subject.join("an interrupted taker", taker).is_ok());
        }
        if taken == placed {
            placed += usize::from(queue.put(element(2)).is_ok());
        }
        assert!(
            subject
                .join("the taker that was left alone", uninterrupted)
                .is_ok()
        );
        assert_eq!(taken + 1, placed);
        assert_holds(&*queue, &[]);
    }
}

pub(super) fn interrupted_putters_strand_no_others<T: Element>(subject: &Subject<T>) {
    for round in 0..30 {
        let (queue, held) = subject.full();
        let mut putters = putters(subject, &queue, &[10, 11, 12, 13]);
        let uninterrupted = putters.remove(round % 4);
        let handles: Vec<_> = putters.iter().map(JoinHandle::interrupt_handle).collect();
        let interrupter = crate::interrupt::spawn(move || {
            handles
                .iter()
                .for_each(crate::interrupt::InterruptHandle::interrupt);
        });
        let mut polled = Vec::from_iter(poll(&*queue));
        subject.join("the interrupts", interrupter);
        let mut placed = 0;
        for putter in putters {
            placed += usize::from(subject.join("an interrupted putter", putter).is_ok());
        }
        // If one of the interrupted ones had the place, the last needs another.
        subject.until("the putter that was left alone", || {
            if placed > 0 && !uninterrupted.is_finished() {
                polled.extend(poll(&*queue));
            }
            uninterrupted.is_finished()
        });
        assert_eq!(subject.join("the last putter", uninterrupted), Ok(()));
        polled.extend(poll_all(&*queue));
        assert_eq!(polled.len(), held.len() + placed + 1);
        assert_holds(&*queue, &[]);
    }
}

pub(super) fn waiting_takers_are_served_in_turn<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let mut takers = Vec::new();
    for count in 1..=5 {
        takers.push(Subject::spawn(&queue, take));
        subject.await_takers(&queue, count);
    }
    for number in 0..5 {
        assert_eq!(numbered(queue.offer(element(number))), Ok(()));
        let served = usize::try_from(number).unwrap_or(usize::MAX) + 1;
        subject.until("a taker to be served", || ended(&takers) == served);
    }
    let mut served: Vec<_> = (0..5).map(Ok).collect();
    if subject.service == Some(Service::NewestFirst) {
        served.reverse();
    }
    let taken = takers
        .into_iter()
        .map(|taker| subject.join("a taker", taker));
    assert_eq!(Vec::from_iter(taken), served);
}
