//! The common contract, on every queue: one module per configuration, one test per check.
//!
//! The checks are in `windlass::testing::queue_contract`. Each configuration names the groups of
//! checks that concern it, and a test of its own that these are all.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::collections::VecDeque;

use windlass::queue::{
    AgingQueue, ArrayBlockingQueue, Blocking, BlockingQueue, BlockingQueueExt, CapacityError,
    DelayQueue, Discipline, FairShareQueue, Fairness, KeyLimitQueue, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
    SynchronousQueue,
};
use windlass::task::Task;
use windlass::testing::queue_contract::{Item, Order, Precedence, Service, Subject};

macro_rules! groups {
    ($($group:ident $names:ident { $($name:ident)+ })+) => {
        $(
            const $names: &[&str] = &[$(stringify!($name)),+];
            macro_rules! $group {
                ($subject:path) => {
                    $(#[test]
                    fn $name() {
                        $subject().check(stringify!($name));
                    })+
                };
            }
        )+
    };
}

macro_rules! contract {
    ($($config:ident: $($group:ident $names:ident),+;)+) => {
        $(mod $config {
            $($group!(super::subjects::$config);)+

            #[test]
            fn no_check_is_left_out() {
                let mut listed = [$(super::$names),+].concat();
                let subject = super::subjects::$config();
                let mut concerned: Vec<_> = subject.checks().map(|check| check.name()).collect();
                listed.sort_unstable();
                concerned.sort_unstable();
                assert_eq!(listed, concerned);
            }
        })+
    };
}

groups! {
    every EVERY {
        a_new_queue_is_empty_by_every_measure
        a_pending_interrupt_ends_a_take_that_has_to_wait
        a_pending_interrupt_ends_a_timed_poll_that_has_to_wait
        a_queue_works_on_after_its_takers_were_interrupted
        a_timed_poll_of_no_time_tries_once
        a_timed_poll_waits_its_time_and_no_longer
        a_waiting_take_receives_what_is_inserted
        a_waiting_timed_poll_receives_what_is_inserted
        an_interrupt_ends_a_waiting_take
        an_interrupt_ends_a_waiting_timed_poll
        calls_that_never_wait_ignore_a_pending_interrupt
        interrupted_takers_strand_no_others
        many_producers_and_consumers_lose_and_double_nothing
        waiting_takers_are_served_in_turn
        waits_that_run_out_leave_nothing_behind
    }
    stored STORED {
        a_closure_may_ask_the_queue_for_its_figures
        a_closure_that_uses_the_queue_cannot_deadlock
        a_limited_drain_gives_at_most_that_many
        a_predicate_that_panics_changes_nothing
        a_queue_built_from_elements_holds_them_in_queue_order
        a_queue_works_on_after_its_last_element_was_removed
        a_snapshot_holds_every_element_once
        a_thread_finds_something_while_its_own_element_is_unmatched
        a_timed_offer_does_not_wait_while_there_is_room
        a_timed_poll_gives_what_is_there_at_once
        a_traversal_beside_changes_shows_only_what_is_queued
        an_element_is_found_from_insertion_to_removal
        an_element_that_two_want_goes_to_one
        clear_empties_the_queue_and_frees_its_room
        drain_gives_everything_in_queue_order
        offers_in_bulk_keep_their_order
        peek_shows_what_poll_would_give
        poll_gives_elements_in_queue_order_and_then_nothing
        put_does_not_wait_while_there_is_room
        put_meets_a_pending_interrupt_as_promised
        remove_first_takes_one_match_from_anywhere
        remove_first_takes_the_first_match_that_for_each_shows
        retain_keeps_matches_in_order_and_gives_the_others_back
        take_gives_elements_in_queue_order
        take_meets_a_pending_interrupt_as_promised
        the_element_that_a_traversal_reached_can_be_removed
        the_queue_owns_each_element_once
        timed_offer_meets_a_pending_interrupt_as_promised
        timed_poll_meets_a_pending_interrupt_as_promised
    }
    limited LIMITED {
        a_drain_lets_a_waiting_put_in
        a_pending_interrupt_ends_a_put_that_has_to_wait
        a_pending_interrupt_ends_a_timed_offer_that_has_to_wait
        a_timed_offer_of_no_time_tries_once
        a_timed_offer_that_runs_out_gives_the_element_back
        a_waiting_put_gets_in_when_an_element_is_taken
        a_waiting_timed_offer_gets_in_when_room_appears
        an_element_that_found_no_room_comes_back_whole
        an_interrupt_ends_a_waiting_put
        an_interrupt_ends_a_waiting_timed_offer
        interrupted_putters_strand_no_others
        offer_gives_the_element_back_when_full
        offers_in_bulk_give_back_what_found_no_room
        offers_that_run_out_leave_nothing_behind
    }
    bounded BOUNDED {
        a_bounded_queue_reports_its_room
        a_capacity_of_zero_is_refused
        a_consumer_that_fails_midway_loses_nothing_queued
        length_and_room_add_up_after_every_step
        removing_many_elements_lets_in_as_many_putters
        removing_one_element_lets_in_one_putter
    }
    unbounded UNBOUNDED {
        an_unbounded_queue_reports_no_bound_at_any_size
    }
    rendezvous RENDEZVOUS {
        a_pending_interrupt_does_not_stop_a_handoff
        a_queue_that_holds_nothing_looks_empty_and_full_at_once
    }
    sequential SEQUENTIAL {
        a_consumer_sees_one_producers_elements_in_order
    }
    batched BATCHED {
        batches_drained_beside_a_producer_have_no_gaps
    }
}

contract! {
    linked_unbounded: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    linked_bounded: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    array_unfair: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    array_fair: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    array_rotated_by_one: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    array_rotated_to_its_end: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    resizable_unbounded: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    resizable_bounded: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    priority: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    priority_with_size_hint: every EVERY, stored STORED, unbounded UNBOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    delay_of_expired: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    transfer: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    deque_unbounded: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    deque_bounded: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    synchronous_unfair: every EVERY, limited LIMITED, rendezvous RENDEZVOUS,
        sequential SEQUENTIAL;
    synchronous_interchangeable: every EVERY, limited LIMITED, rendezvous RENDEZVOUS,
        sequential SEQUENTIAL;
    synchronous_fair: every EVERY, limited LIMITED, rendezvous RENDEZVOUS, sequential SEQUENTIAL;
    shared_by_arc: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED,
        sequential SEQUENTIAL, batched BATCHED;
    aging: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL, batched BATCHED;
    fair_share_of_one: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    fair_share_of_many: every EVERY, stored STORED, unbounded UNBOUNDED;
    fair_share_with_limit: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    key_limit_of_one: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    key_limit_of_many: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
    stack_of_a_user: every EVERY, stored STORED, limited LIMITED, bounded BOUNDED;
    line_of_a_user: every EVERY, stored STORED, unbounded UNBOUNDED, sequential SEQUENTIAL,
        batched BATCHED;
}

mod subjects {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{
        AgingQueue, ArrayBlockingQueue, Blocking, BlockingQueue, CapacityError, DelayQueue,
        Discipline, End, FairShareQueue, Fairness, Item, KeyLimitQueue, LinkedBlockingDeque,
        LinkedBlockingQueue, LinkedTransferQueue, Order, Pile, Precedence, PriorityBlockingQueue,
        ResizableBlockingQueue, Service, Subject, SynchronousQueue, Task,
    };

    pub(super) fn linked_unbounded() -> Subject {
        Subject::unbounded(LinkedBlockingQueue::new)
            .serving(Service::OldestFirst)
            .built_from(LinkedBlockingQueue::from_iter)
    }

    pub(super) fn linked_bounded() -> Subject {
        Subject::bounded(LinkedBlockingQueue::with_capacity)
            .serving(Service::OldestFirst)
            .built_from(LinkedBlockingQueue::from_iter)
    }

    pub(super) fn shared_by_arc() -> Subject {
        Subject::bounded(|capacity| ResizableBlockingQueue::with_capacity(capacity).map(Arc::new))
            .serving(Service::OldestFirst)
            .built_from(|items| Arc::new(ResizableBlockingQueue::from_iter(items)))
    }

    fn array(fairness: Fairness) -> Subject {
        array_rotated(fairness, |_| 0)
    }

    /// The ring starts at the index that `offset` returns for its capacity.
    fn array_rotated(fairness: Fairness, offset: fn(usize) -> usize) -> Subject {
        let make = move |capacity| {
            let queue = ArrayBlockingQueue::with_fairness(capacity, fairness)?;
            for filler in 0..offset(capacity) as u64 {
                queue.offer(Item::new(filler)).unwrap();
                assert_eq!(queue.poll(), Some(Item::new(filler)));
            }
            Ok::<_, CapacityError>(queue)
        };
        Subject::bounded(make)
            .serving(Service::OldestFirst)
            .built_from(move |items| {
                ArrayBlockingQueue::from_elements(items.len().max(1), fairness, items).unwrap()
            })
    }

    pub(super) fn array_unfair() -> Subject {
        array(Fairness::Unfair)
    }

    pub(super) fn array_fair() -> Subject {
        array(Fairness::Fair)
    }

    pub(super) fn array_rotated_by_one() -> Subject {
        array_rotated(Fairness::Unfair, |_| 1)
    }

    pub(super) fn array_rotated_to_its_end() -> Subject {
        array_rotated(Fairness::Fair, |capacity| capacity - 1)
    }

    pub(super) fn resizable_unbounded() -> Subject {
        Subject::unbounded(ResizableBlockingQueue::new)
            .serving(Service::OldestFirst)
            .built_from(ResizableBlockingQueue::from_iter)
    }

    pub(super) fn resizable_bounded() -> Subject {
        Subject::bounded(ResizableBlockingQueue::with_capacity)
            .serving(Service::OldestFirst)
            .built_from(ResizableBlockingQueue::from_iter)
    }

    pub(super) fn priority() -> Subject {
        by_priority(PriorityBlockingQueue::new)
    }

    pub(super) fn priority_with_size_hint() -> Subject {
        by_priority(|| PriorityBlockingQueue::with_size_hint(100))
    }

    fn by_priority(make: fn() -> PriorityBlockingQueue<Item>) -> Subject {
        Subject::unbounded(make)
            .ordered(Order::Sorted)
            .interrupted(Precedence::Removal)
            .serving(Service::OldestFirst)
            .built_from(PriorityBlockingQueue::from_iter)
    }

    pub(super) fn delay_of_expired() -> Subject {
        Subject::unbounded(DelayQueue::new)
            .ordered(Order::Sorted)
            .interrupted(Precedence::Removal)
            .serving(Service::OldestFirst)
            .built_from(DelayQueue::from_iter)
    }

    pub(super) fn transfer() -> Subject {
        Subject::unbounded(LinkedTransferQueue::new)
            .interrupted(Precedence::Never)
            .serving(Service::OldestFirst)
            .built_from(LinkedTransferQueue::from_iter)
    }

    pub(super) fn deque_unbounded() -> Subject {
        deque(Subject::unbounded(LinkedBlockingDeque::new))
    }

    pub(super) fn deque_bounded() -> Subject {
        deque(Subject::bounded(LinkedBlockingDeque::with_capacity))
    }

    fn deque(subject: Subject) -> Subject {
        subject
            .interrupted(Precedence::Timed)
            .serving(Service::OldestFirst)
            .built_from(LinkedBlockingDeque::from_iter)
    }

    pub(super) fn synchronous_unfair() -> Subject {
        Subject::rendezvous(SynchronousQueue::new)
            .interrupted(Precedence::Never)
            .serving(Service::NewestFirst)
    }

    pub(super) fn synchronous_interchangeable() -> Subject {
        Subject::rendezvous(SynchronousQueue::with_interchangeable_takers)
            .interrupted(Precedence::Never)
            .serving(Service::NewestFirst)
    }

    pub(super) fn synchronous_fair() -> Subject {
        Subject::rendezvous(|| SynchronousQueue::with_fairness(Fairness::Fair))
            .interrupted(Precedence::Never)
            .serving(Service::OldestFirst)
    }

    pub(super) fn aging() -> Subject {
        let make = || {
            let step = Duration::from_secs(3600);
            AgingQueue::new(step, |item: &Item| item.number().try_into().unwrap())
        };
        Subject::unbounded(make)
            .ordered(Order::Sorted)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    pub(super) fn fair_share_of_one() -> Subject {
        let make = || FairShareQueue::new(|_: &Item| ());
        Subject::unbounded(make)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    pub(super) fn fair_share_of_many() -> Subject {
        let make = || FairShareQueue::new(|item: &Item| item.number() % 3);
        Subject::unbounded(make)
            .ordered(Order::Unspecified)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    pub(super) fn fair_share_with_limit() -> Subject<Task> {
        let make = || {
            FairShareQueue::new(|_: &Task| ())
                .limit_per_key(10_000)
                .unwrap()
        };
        Subject::unbounded(make)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    pub(super) fn key_limit_of_one() -> Subject<Task> {
        let make = || KeyLimitQueue::new(10_000, |_: &Task| ()).unwrap();
        Subject::unbounded(make)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    /// Each task has a key of its own, so the limit keeps none back.
    pub(super) fn key_limit_of_many() -> Subject<Task> {
        let make = || KeyLimitQueue::new(1, Task::id).unwrap();
        Subject::unbounded(make)
            .serving(Service::OldestFirst)
            .built_from(move |items| filled(make(), items))
    }

    fn filled<T: Send, Q: BlockingQueue<T>>(queue: Q, items: Vec<T>) -> Q {
        for item in items {
            assert!(queue.offer(item).is_ok());
        }
        queue
    }

    pub(super) fn stack_of_a_user() -> Subject {
        let make = |capacity| match capacity {
            0 => Err(CapacityError::Zero),
            _ => Ok(Blocking::new(Pile::new(End::Front, Some(capacity)))),
        };
        Subject::bounded(make)
            .ordered(Order::Lifo)
            .serving(Service::OldestFirst)
            .built_from(|items| {
                let mut pile = Pile::new(End::Front, None);
                items.into_iter().for_each(|item| pile.push(item));
                Blocking::new(pile)
            })
    }

    pub(super) fn line_of_a_user() -> Subject {
        let make = || Blocking::with_fairness(Pile::new(End::Back, None), Fairness::Fair);
        Subject::unbounded(make)
            .serving(Service::OldestFirst)
            .built_from(|items| {
                let mut pile = Pile::new(End::Back, None);
                items.into_iter().for_each(|item| pile.push(item));
                Blocking::new(pile)
            })
    }
}

/// A discipline as a user writes one: the smallest, with all that has a default left out.
struct Pile {
    items: VecDeque<Item>,
    fill: End,
    capacity: Option<usize>,
}

/// Where new elements are inserted; they leave at the head.
enum End {
    Front,
    Back,
}

impl Pile {
    const fn new(fill: End, capacity: Option<usize>) -> Self {
        Self {
            items: VecDeque::new(),
            fill,
            capacity,
        }
    }
}

impl Discipline for Pile {
    type Item = Item;

    fn push(&mut self, item: Item) {
        match self.fill {
            End::Front => self.items.push_front(item),
            End::Back => self.items.push_back(item),
        }
    }

    fn pop(&mut self) -> Option<Item> {
        self.items.pop_front()
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn peek(&self) -> Option<&Item> {
        self.items.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.items.iter())
    }

    fn remove(&mut self, at: usize) -> Item {
        self.items.remove(at).unwrap()
    }

    fn capacity(&self) -> Option<usize> {
        self.capacity
    }
}

#[test]
fn a_queue_with_a_clock_of_its_own_is_tested_on_real_time() {
    let subject = subjects::linked_bounded().on_real_time();
    subject.check("a_timed_poll_waits_its_time_and_no_longer");
    subject.check("a_timed_offer_that_runs_out_gives_the_element_back");
}

#[test]
fn a_linked_queue_is_bounded_only_on_demand() {
    let unbounded = LinkedBlockingQueue::<u8>::new();
    assert_eq!(unbounded.remaining_capacity(), None);
    let bounded = LinkedBlockingQueue::<u8>::with_capacity(3).unwrap();
    assert_eq!(bounded.remaining_capacity(), Some(3));
    let built: LinkedBlockingQueue<u8> = (0..9).collect();
    assert_eq!(built.remaining_capacity(), None);
    assert_eq!(built.snapshot(), Vec::from_iter(0..9));
}

#[test]
fn a_queue_behind_an_arc_is_the_same_queue() {
    let queue = std::sync::Arc::new(ResizableBlockingQueue::with_capacity(2).unwrap());
    let shared: Box<dyn BlockingQueue<u8>> = Box::new(std::sync::Arc::clone(&queue));
    assert_eq!(shared.set_capacity(3), Ok(Some(2)));
    shared.offer(7).unwrap();
    assert_eq!(queue.remaining_capacity(), Some(2));
    assert_eq!(queue.poll(), Some(7));
}

#[test]
fn a_snapshot_is_a_copy_that_later_changes_do_not_touch() {
    let queue: LinkedBlockingQueue<u8> = (0..3).collect();
    let snapshot = queue.snapshot();
    queue.clear();
    assert_eq!(snapshot, [0, 1, 2]);
}

#[test]
fn debug_names_the_queue_and_its_first_elements() {
    fn shown(queue: impl BlockingQueue<Item> + std::fmt::Debug) -> String {
        for number in [40, 50] {
            queue.offer(Item::new(number)).unwrap();
        }
        format!("{queue:?}")
    }
    let shown = [
        ("LinkedBlockingQueue", shown(LinkedBlockingQueue::new())),
        (
            "ArrayBlockingQueue",
            shown(ArrayBlockingQueue::new(2).unwrap()),
        ),
        (
            "ResizableBlockingQueue",
            shown(ResizableBlockingQueue::new()),
        ),
        ("PriorityBlockingQueue", shown(PriorityBlockingQueue::new())),
        ("DelayQueue", shown(DelayQueue::new())),
        ("LinkedTransferQueue", shown(LinkedTransferQueue::new())),
        ("LinkedBlockingDeque", shown(LinkedBlockingDeque::new())),
    ];
    for (name, shown) in shown {
        assert!(shown.starts_with(name), "{shown}");
        assert!(shown.contains("len: 2") && shown.contains("40") && shown.contains("50"));
    }
    let none = SynchronousQueue::<Item>::new();
    assert!(format!("{none:?}").starts_with("SynchronousQueue"));
}
