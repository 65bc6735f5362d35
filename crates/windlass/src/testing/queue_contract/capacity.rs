//! Checks of how much a queue holds and reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::calls::{MIXED, assert_holds, numbered, peeked, poll, poll_all, shown_elements, sorted};
use super::item::{Element, element, number, numbers};
use super::subject::{SIZE, Subject};
use crate::queue::{BlockingQueueExt, PutError};

pub(super) fn a_new_queue_is_empty_by_every_measure<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    assert_eq!(queue.len(), 0);
    assert!(queue.is_empty());
    assert_eq!(poll(&*queue), None);
    assert!(matches!(queue.poll_timeout(Duration::ZERO), Ok(None)));
    assert_eq!(peeked(&*queue), None);
    assert_eq!(shown_elements(&*queue), []);
    assert!(!queue.contains(&mut |_| true));
    assert!(queue.remove_first(&mut |_| true).is_none());
    assert!(queue.retain(&mut |_| false).is_empty());
    assert!(queue.drain(usize::MAX).is_empty());
    assert!(queue.drain_all().is_empty());
    assert_holds(&*queue, &[]);
}

pub(super) fn a_bounded_queue_reports_its_room<T: Element>(subject: &Subject<T>) {
    for capacity in [1, 2, 7, 300] {
        let queue = subject.with_room(capacity);
        assert_eq!(queue.remaining_capacity(), Some(capacity));
    }
}

pub(super) fn an_unbounded_queue_reports_no_bound_at_any_size<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for number in 0..1000 {
        assert_eq!(queue.remaining_capacity(), None);
        assert_eq!(numbered(queue.offer(element(number))), Ok(()));
    }
    assert_eq!(queue.len(), 1000);
    assert_eq!(queue.remaining_capacity(), None);
}

pub(super) fn a_queue_that_holds_nothing_looks_empty_and_full_at_once<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.empty();
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(0)));
    let putter = Subject::spawn(&queue, |queue| numbered(queue.put(element(9))));
    subject.await_putters(&queue, 1);
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(0)));
    assert_eq!(peeked(&*queue), None);
    assert_eq!(shown_elements(&*queue), []);
    assert!(queue.remove_first(&mut |_| true).is_none());
    assert!(queue.retain(&mut |_| false).is_empty());
    assert_eq!(poll(&*queue), Some(9));
    assert_eq!(subject.join("the putter", putter), Ok(()));
}

pub(super) fn a_capacity_of_zero_is_refused<T: Element>(subject: &Subject<T>) {
    // Both an error and a panic refuse it.
    let made = catch_unwind(AssertUnwindSafe(|| subject.try_make(0).is_ok()));
    assert!(!made.unwrap_or(false), "a queue without room was made");
}

pub(super) fn a_queue_built_from_elements_holds_them_in_queue_order<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.built(&MIXED);
    assert_holds(&*queue, &MIXED);
    subject.order.assert_left(poll_all(&*queue), &MIXED);
    assert_holds(&*subject.built(&[]), &[]);
}

pub(super) fn length_and_room_add_up_after_every_step<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for held in 0..SIZE {
        assert_eq!(
            (queue.len(), queue.remaining_capacity()),
            (held, Some(SIZE - held)),
            "on the way up"
        );
        assert_eq!(numbered(queue.offer(element(held as u64))), Ok(()));
    }
    for held in (0..SIZE).rev() {
        assert_eq!(
            (queue.len(), queue.remaining_capacity()),
            (held + 1, Some(SIZE - held - 1)),
            "on the way down"
        );
        assert!(poll(&*queue).is_some());
    }
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(SIZE)));
}

pub(super) fn offer_gives_the_element_back_when_full<T: Element>(subject: &Subject<T>) {
    let (queue, held) = subject.full();
    for attempt in 0..3 {
        let answer = numbered(queue.offer(element(10 + attempt)));
        assert_eq!(answer, Err(PutError::Full(10 + attempt)));
    }
    assert_holds(&*queue, &held);
    subject.order.assert_left(poll_all(&*queue), &held);
}

pub(super) fn offers_in_bulk_keep_their_order<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    assert_eq!(queue.offer_all(std::iter::empty()).ok(), Some(0));
    assert_holds(&*queue, &[]);
    let elements = MIXED.iter().map(|&number| element(number));
    assert_eq!(queue.offer_all(elements).ok(), Some(MIXED.len()));
    subject.order.assert_left(poll_all(&*queue), &MIXED);
}

pub(super) fn offers_in_bulk_give_back_what_found_no_room<T: Element>(subject: &Subject<T>) {
    let room = if subject.is_stored() {
        MIXED.len() - 1
    } else {
        0
    };
    let queue = subject.with_room(room);
    let elements = MIXED.iter().map(|&number| element(number));
    let Err(unplaced) = queue.offer_all(elements) else {
        panic!("more elements were placed than there is room for");
    };
    assert_eq!(unplaced.placed, room);
    assert_eq!(numbers(unplaced.rest), MIXED[room..]);
    assert_holds(&*queue, &MIXED[..room]);
}

pub(super) fn put_does_not_wait_while_there_is_room<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for (at, wanted) in MIXED.into_iter().enumerate() {
        assert_eq!(numbered(queue.put(element(wanted))), Ok(()));
        assert!(queue.contains(&mut |element| number(element) == wanted));
        assert_eq!(queue.len(), at + 1);
    }
    assert_eq!(sorted(shown_elements(&*queue)), sorted(MIXED.to_vec()));
    subject.order.assert_left(poll_all(&*queue), &MIXED);
}
