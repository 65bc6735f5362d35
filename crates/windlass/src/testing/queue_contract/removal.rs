//! Checks of removal from anywhere, of draining, and of closures that run under the lock.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::calls::{
    Call, MIXED, assert_holds, numbered, poll, poll_all, shown_elements, sorted, without_waiting,
};
use super::item::{Element, element, number, numbers};
use super::subject::{DynQueue, Order, SIZE, Subject};
use crate::queue::BlockingQueueExt;

fn remove<T: Element>(queue: &DynQueue<T>, wanted: u64) -> Option<u64> {
    let removed = queue.remove_first(&mut |element| number(element) == wanted);
    removed.as_ref().map(number)
}

fn without(numbers: &[u64], gone: impl Fn(u64) -> bool) -> Vec<u64> {
    let kept = numbers.iter().copied().filter(|&number| !gone(number));
    kept.collect()
}

pub(super) fn an_element_is_found_from_insertion_to_removal<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    for wanted in MIXED {
        assert!(!queue.contains(&mut |element| number(element) == wanted));
        assert_eq!(numbered(queue.offer(element(wanted))), Ok(()));
        assert!(queue.contains(&mut |element| number(element) == wanted));
    }
    while let Some(gone) = poll(&*queue) {
        assert!(!queue.contains(&mut |element| number(element) == gone));
    }
    assert!(!queue.contains(&mut |_| true));
}

pub(super) fn remove_first_takes_one_match_from_anywhere<T: Element>(subject: &Subject<T>) {
    for wanted in MIXED {
        let queue = subject.holding(&MIXED);
        assert_eq!(remove(&*queue, wanted), Some(wanted));
        assert_eq!(remove(&*queue, wanted), None);
        let others = without(&MIXED, |number| number == wanted);
        assert_holds(&*queue, &others);
        subject.order.assert_left(poll_all(&*queue), &others);
    }
    let queue = subject.holding(&MIXED);
    for wanted in [1, 3, 5, 4, 2, 0] {
        assert_eq!(remove(&*queue, wanted), Some(wanted));
    }
    assert_holds(&*queue, &[]);
    assert_eq!(remove(&*queue, 0), None);
}

pub(super) fn remove_first_takes_the_first_match_that_for_each_shows<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.holding(&MIXED);
    let shown = shown_elements(&*queue);
    if subject.order == Order::Fifo {
        assert_eq!(shown, MIXED);
    }
    let even = shown.iter().copied().find(|number| number % 2 == 0);
    let removed = queue.remove_first(&mut |element| number(element) % 2 == 0);
    assert_eq!(removed.as_ref().map(number), even);
    assert_eq!(queue.len(), MIXED.len() - 1);
}

pub(super) fn a_queue_works_on_after_its_last_element_was_removed<T: Element>(
    subject: &Subject<T>,
) {
    let queue = subject.holding(&[0, 1]);
    assert_eq!(remove(&*queue, 1), Some(1));
    assert_eq!(numbered(queue.offer(element(2))), Ok(()));
    subject.order.assert_left(poll_all(&*queue), &[0, 2]);
    let ways: [Call<T>; 6] = [
        ("remove_first", |queue| {
            assert_eq!(remove(queue, 3), Some(3));
        }),
        ("poll", |queue| assert_eq!(poll(queue), Some(3))),
        ("retain", |queue| drop(queue.retain(&mut |_| false))),
        ("drain", |queue| drop(queue.drain(1))),
        ("drain_all", |queue| drop(queue.drain_all())),
        ("clear", |queue| queue.clear()),
    ];
    for (how, empty) in ways {
        assert_eq!(numbered(queue.offer(element(3))), Ok(()));
        empty(&*queue);
        assert_holds(&*queue, &[]);
        assert_eq!(numbered(queue.offer(element(4))), Ok(()));
        assert_eq!(poll(&*queue), Some(4), "after {how}");
    }
}

pub(super) fn clear_empties_the_queue_and_frees_its_room<T: Element>(subject: &Subject<T>) {
    let queue = subject.empty();
    let room = queue.remaining_capacity();
    for _ in 0..2 {
        for number in 0..SIZE as u64 {
            assert_eq!(numbered(queue.offer(element(number))), Ok(()));
        }
        queue.clear();
        assert_holds(&*queue, &[]);
        assert_eq!(queue.remaining_capacity(), room);
    }
    assert_eq!(numbered(queue.offer(element(9))), Ok(()));
    assert_eq!(poll_all(&*queue), [9]);
}

pub(super) fn retain_keeps_matches_in_order_and_gives_the_others_back<T: Element>(
    subject: &Subject<T>,
) {
    let keeps: [fn(u64) -> bool; 4] = [|n| n % 2 == 0, |n| n > 3, |_| true, |_| false];
    for keep in keeps {
        let queue = subject.holding(&MIXED);
        let shown = shown_elements(&*queue);
        let mut asked = Vec::new();
        let removed = queue.retain(&mut |element| {
            asked.push(number(element));
            keep(number(element))
        });
        assert_eq!(
            sorted(asked),
            sorted(shown.clone()),
            "the predicate is called once for each"
        );
        assert_eq!(numbers(removed), without(&shown, keep), "what came back");
        let kept = without(&MIXED, |number| !keep(number));
        assert_holds(&*queue, &kept);
        subject.order.assert_left(poll_all(&*queue), &kept);
    }
}

/// A call with a closure that calls another.
type AskingCall<T> = fn(&DynQueue<T>, &mut dyn FnMut() -> bool);

pub(super) fn a_predicate_that_panics_changes_nothing<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let calls: [(&str, AskingCall<T>); 4] = [
        ("retain", |queue, ask| drop(queue.retain(&mut |_| ask()))),
        ("remove_first", |queue, ask| {
            drop(queue.remove_first(&mut |_| ask()));
        }),
        ("for_each", |queue, ask| queue.for_each(&mut |_| _ = ask())),
        ("peek", |queue, ask| queue.peek(&mut |_| _ = ask())),
    ];
    for (what, call) in calls {
        for bearable in [0, 3] {
            let mut asked = 0;
            let mut ask = || {
                asked += 1;
                if asked > bearable {
                    // Not `panic!`, which prints a message.
                    resume_unwind(Box::new("out of the predicate"));
                }
                false
            };
            let ended = catch_unwind(AssertUnwindSafe(|| call(&*queue, &mut ask)));
            assert!(
                ended.is_err() || asked <= bearable,
                "{what} swallowed a panic"
            );
            assert_holds(&*queue, &MIXED);
        }
    }
    let left = without_waiting(subject, &queue, poll_all);
    subject.order.assert_left(left, &MIXED);
    assert_eq!(numbered(queue.put(element(9))), Ok(()));
    assert_eq!(poll(&*queue), Some(9));
}

pub(super) fn a_snapshot_holds_every_element_once<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let snapshot = shown_elements(&*queue);
    match subject.order {
        Order::Fifo => assert_eq!(snapshot, MIXED),
        _ => assert_eq!(sorted(snapshot.clone()), sorted(MIXED.to_vec())),
    }
    assert_eq!(shown_elements(&*queue), snapshot, "reading changes nothing");
    assert_eq!(sorted(poll_all(&*queue)), sorted(snapshot));
    assert_eq!(shown_elements(&*queue), []);
}

pub(super) fn the_element_that_a_traversal_reached_can_be_removed<T: Element>(
    subject: &Subject<T>,
) {
    for reached in 0..3 {
        let queue = subject.holding(&[2, 0, 1]);
        let shown = shown_elements(&*queue);
        let mut place = 0;
        let removed = queue.retain(&mut |_| {
            place += 1;
            place != reached + 1
        });
        assert_eq!(numbers(removed), [shown[reached]]);
        let others = without(&[2, 0, 1], |number| number == shown[reached]);
        subject.order.assert_left(poll_all(&*queue), &others);
    }
}

pub(super) fn drain_gives_everything_in_queue_order<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let drained = numbers(queue.drain(usize::MAX));
    subject.order.assert_left(drained, &MIXED);
    assert_holds(&*queue, &[]);
    for number in [7, 6] {
        assert_eq!(numbered(queue.offer(element(number))), Ok(()));
    }
    subject
        .order
        .assert_left(numbers(queue.drain_all()), &[7, 6]);
    assert_holds(&*queue, &[]);
}

pub(super) fn a_limited_drain_gives_at_most_that_many<T: Element>(subject: &Subject<T>) {
    for max in 0..=MIXED.len() + 1 {
        let queue = subject.holding(&MIXED);
        let mut left = numbers(queue.drain(max));
        assert_eq!(left.len(), max.min(MIXED.len()));
        assert_eq!(queue.len(), MIXED.len() - left.len());
        left.extend(poll_all(&*queue));
        subject.order.assert_left(left, &MIXED);
    }
}

pub(super) fn a_closure_may_ask_the_queue_for_its_figures<T: Element>(subject: &Subject<T>) {
    let queue = subject.holding(&MIXED);
    let expected = (MIXED.len(), false, queue.remaining_capacity());
    without_waiting(subject, &queue, move |queue| {
        let figures = || (queue.len(), queue.is_empty(), queue.remaining_capacity());
        queue.for_each(&mut |_| assert_eq!(figures(), expected));
        queue.peek(&mut |_| assert_eq!(figures(), expected));
        let removed = queue.remove_first(&mut |_| figures() != expected);
        assert!(removed.is_none());
        assert!(queue.retain(&mut |_| figures() == expected).is_empty());
    });
}

pub(super) fn a_closure_that_uses_the_queue_cannot_deadlock<T: Element>(subject: &Subject<T>) {
    let calls: [Call<T>; 7] = [
        ("offer", |queue| drop(queue.offer(element(9)))),
        ("poll", |queue| drop(queue.poll())),
        ("drain", |queue| drop(queue.drain(1))),
        ("for_each", |queue| queue.for_each(&mut |_| {})),
        ("retain", |queue| drop(queue.retain(&mut |_| true))),
        ("take", |queue| drop(queue.take())),
        ("waiting", |queue| _ = queue.waiting()),
    ];
    for (what, call) in calls {
        let queue = subject.holding(&MIXED);
        let inner = Arc::clone(&queue);
        // It may succeed or panic, as long as it ends.
        let _ = without_waiting(subject, &queue, move |queue| {
            catch_unwind(AssertUnwindSafe(|| queue.for_each(&mut |_| call(&*inner)))).is_ok()
        });
        queue.clear();
        assert_eq!(numbered(queue.offer(element(4))), Ok(()));
        assert_eq!(poll_all(&*queue), [4], "after {what} inside for_each");
    }
}
