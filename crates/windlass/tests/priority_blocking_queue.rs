//! What the priority queue promises beyond the common contract.

use std::cmp::{Ordering, Reverse};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use windlass::interrupt::spawn;
use windlass::queue::{BlockingQueue, BlockingQueueExt, PriorityBlockingQueue};
use windlass::testing::{await_takers, join};

/// PBQ-001
#[test]
fn insertion_always_succeeds_and_growth_goes_unnoticed() {
    let queue = PriorityBlockingQueue::with_size_hint(1);
    for round in 0..100 {
        queue.offer(round).unwrap();
        queue.put(round).unwrap();
        queue.offer_timeout(round, Duration::ZERO).unwrap();
        assert_eq!(queue.remaining_capacity(), None);
    }
    assert_eq!(queue.len(), 300);
}

/// PBQ-002
#[test]
fn a_size_hint_of_zero_is_a_hint_like_any_other() {
    let queue = PriorityBlockingQueue::with_size_hint(0);
    queue.offer_all([2, 1]).unwrap();
    assert_eq!(queue.drain(9), [1, 2]);
}

/// PBQ-003
#[test]
fn the_least_element_comes_out_first() {
    let queue = PriorityBlockingQueue::new();
    queue.offer_all([3, 1, 4, 1, 5, 9, 2, 6]).unwrap();
    let mut taken = vec![queue.take().unwrap(), queue.poll().unwrap()];
    taken.extend(queue.drain(9));
    assert_eq!(taken, [1, 1, 2, 3, 4, 5, 6, 9]);
    let collected: PriorityBlockingQueue<u32> = [2, 3, 1].into_iter().collect();
    assert_eq!(collected.drain(9), [1, 2, 3]);
}

/// PBQ-004
#[test]
fn a_comparator_decides_the_order_and_can_be_asked() {
    let queue = PriorityBlockingQueue::with_comparator(|a: &u32, b: &u32| b.cmp(a));
    queue.offer_all([2, 3, 1]).unwrap();
    assert_eq!(queue.drain(9), [3, 2, 1]);
    assert_eq!(queue.compare(&1, &2), Ordering::Greater);
}

/// PBQ-004
#[test]
fn a_key_decides_the_order() {
    let queue = PriorityBlockingQueue::by_key(|word: &&str| Reverse(word.len()));
    queue.offer_all(["a", "ccc", "bb"]).unwrap();
    assert_eq!(queue.drain(9), ["ccc", "bb", "a"]);
}

/// PBQ-005
#[test]
fn equals_come_out_in_the_order_they_went_in() {
    let queue = PriorityBlockingQueue::by_key(|element: &(u8, usize)| element.0);
    queue.offer_all((0..8).map(|arrival| (7, arrival))).unwrap();
    assert!(
        queue
            .drain(9)
            .into_iter()
            .eq((0..8).map(|arrival| (7, arrival)))
    );
}

/// PBQ-006
#[test]
fn a_snapshot_holds_the_same_elements_in_any_order() {
    let queue: PriorityBlockingQueue<u32> = [5, 3, 8, 1, 9].into_iter().collect();
    let mut snapshot = queue.snapshot();
    snapshot.sort_unstable();
    assert_eq!(snapshot, queue.drain(9));
}

/// PBQ-007
#[test]
fn removing_any_element_keeps_the_order_of_the_rest() {
    let elements = [5, 3, 8, 1, 9, 2, 7, 4, 0, 6];
    for gone in elements {
        let queue: PriorityBlockingQueue<u32> = elements.into_iter().collect();
        assert_eq!(queue.remove_first(&mut |&item| item == gone), Some(gone));
        let expected = (0..10).filter(|&item| item != gone);
        assert!(queue.drain(9).into_iter().eq(expected), "without {gone}");
    }
}

/// PBQ-007
#[test]
fn it_keeps_step_with_a_sorted_list_through_random_removals() {
    let queue = PriorityBlockingQueue::new();
    let mut list: Vec<u32> = Vec::new();
    let mut random = 2_463_534_242_u32;
    for _ in 0..5_000 {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        let value = random % 64;
        match random % 5 {
            0..=2 => {
                queue.offer(value).unwrap();
                list.insert(list.partition_point(|&item| item <= value), value);
            }
            3 => {
                let at = list.iter().position(|&item| item == value);
                let removed = at.map(|at| list.remove(at));
                assert_eq!(queue.remove_first(&mut |&item| item == value), removed);
            }
            _ => {
                let least = (!list.is_empty()).then(|| list.remove(0));
                assert_eq!(queue.poll(), least);
            }
        }
    }
    assert_eq!(queue.drain_all(), list);
}

/// PBQ-008
#[test]
fn a_comparison_that_panics_leaves_the_earlier_elements_and_a_usable_queue() {
    let queue = PriorityBlockingQueue::with_comparator(|a: &u32, b: &u32| {
        assert!(*a != 13 && *b != 13, "13 cannot be compared");
        a.cmp(b)
    });
    queue.offer_all([2, 1]).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| queue.offer(13))).is_err());
    assert_eq!(queue.len(), 2);
    queue.offer(0).unwrap();
    assert_eq!(queue.drain(9), [0, 1, 2]);
}

/// PBQ-009
#[test]
fn an_insert_wakes_a_parked_take() {
    let queue = Arc::new(PriorityBlockingQueue::new());
    let theirs = Arc::clone(&queue);
    let taker = spawn(move || theirs.take());
    await_takers(&*queue, 1);
    queue.offer(1).unwrap();
    assert_eq!(join("taker", taker), Ok(1));
}

/// PBQ-009
#[test]
fn takers_that_were_parked_get_the_least_elements_present() {
    let queue = Arc::new(PriorityBlockingQueue::new());
    let takers = [(); 2].map(|()| {
        let theirs = Arc::clone(&queue);
        spawn(move || theirs.take().unwrap())
    });
    await_takers(&*queue, 2);
    queue.offer_all([3, 1]).unwrap();
    let mut got = takers.map(|taker| join("taker", taker));
    got.sort_unstable();
    assert_eq!(got, [1, 3]);
}

#[test]
fn a_size_hint_beyond_memory_is_ignored() {
    let queue = PriorityBlockingQueue::with_size_hint(usize::MAX);
    queue.put(2).unwrap();
    queue.put(1).unwrap();
    assert_eq!(queue.poll(), Some(1));
}
