//! The contract of [`BlockingQueue`](crate::queue::BlockingQueue), as a suite that runs on any
//! queue.
//!
//! A [`Subject`] says how to make the queue and what it promises: whether it has a bound, in which
//! order elements leave, which calls a pending interrupt ends. The suite has some sixty checks,
//! each named after the promise that it tests; those that do not concern the subject are left out.
//! Windlass runs it on all its queues. For one of your own:
//!
//! ```
//! use std::collections::VecDeque;
//! use windlass::queue::{Blocking, CapacityError, Discipline};
//! use windlass::testing::queue_contract::{Item, Order, Subject};
//!
//! /// The newest first, and no more than `capacity`.
//! struct Stack<T> {
//!     items: VecDeque<T>,
//!     capacity: usize,
//! }
//!
//! impl<T: Send> Discipline for Stack<T> {
//!     type Item = T;
//!     fn push(&mut self, item: T) {
//!         self.items.push_front(item);
//!     }
//!     fn pop(&mut self) -> Option<T> {
//!         self.items.pop_front()
//!     }
//!     fn len(&self) -> usize {
//!         self.items.len()
//!     }
//!     fn peek(&self) -> Option<&T> {
//!         self.items.front()
//!     }
//!     fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
//!         Box::new(self.items.iter())
//!     }
//!     fn remove(&mut self, at: usize) -> T {
//!         self.items.remove(at).unwrap()
//!     }
//!     fn capacity(&self) -> Option<usize> {
//!         Some(self.capacity)
//!     }
//! }
//!
//! fn stack(capacity: usize) -> Result<Blocking<Stack<Item>>, CapacityError> {
//!     if capacity == 0 {
//!         return Err(CapacityError::Zero);
//!     }
//!     Ok(Blocking::new(Stack { items: VecDeque::new(), capacity }))
//! }
//!
//! Subject::bounded(stack).ordered(Order::Lifo).check_all();
//! ```
//!
//! The suite waits for states and not for guesses: it asks
//! [`waiting`](crate::queue::BlockingQueue::waiting) who waits, and drives the clock of the threads
//! whose calls are to run out of time. A queue that does not say who waits, or whose waits do not
//! see interrupts, is spared the checks that need it; one with a clock of its own says so with
//! [`Subject::on_real_time`].

mod capacity;
mod concurrency;
mod inserting;
mod interrupts;
mod item;
mod removal;
mod stage;
mod subject;
mod taking;
mod wakeups;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use item::{Element, Item};
pub use subject::{Order, Precedence, Service, Subject};

use subject::Storage;

use super::join_within;
use crate::interrupt;

/// Which queues a check concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Every,
    /// Those that hold elements.
    Stored,
    /// Those that can be full.
    Limited,
    Bounded,
    Unbounded,
    Rendezvous,
    /// Those that can be built around elements.
    Built,
    /// Those that keep the order of one producer.
    Sequential,
    /// Those that keep it and hold elements.
    Batched,
    /// Those that say whom they serve first.
    Served,
}

/// What a check needs to see of the queue, besides its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Calls,
    /// Who waits.
    Waits,
    /// Who waits, and that an interrupt ends it.
    Interrupts,
}

/// One promise of the contract, and how to test it.
pub struct Check<T: Element = Item> {
    name: &'static str,
    scope: Scope,
    means: Means,
    run: fn(&Subject<T>),
}

impl<T: Element> Check<T> {
    /// The promise.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Tests the promise, on a thread of its own.
    ///
    /// # Panics
    ///
    /// If it is not kept; the message begins with the [name](Self::name). Threads that hang are
    /// left behind.
    pub fn run(&self, subject: &Subject<T>) {
        let (run, theirs) = (self.run, subject.clone());
        let check = move || catch_unwind(AssertUnwindSafe(|| run(&theirs)));
        // Everything inside has its own limit; this one is for calls that should not have waited.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            join_within(2 * subject.patience, "the check", interrupt::spawn(check))
        }));
        if let Err(panic) = checked.and_then(|checked| checked) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            panic!(
                "{}: {}",
                self.name,
                text.unwrap_or("a panic without a message")
            );
        }
    }

    fn concerns(&self, subject: &Subject<T>) -> bool {
        let scope = match self.scope {
            Scope::Every => true,
            Scope::Stored => subject.is_stored(),
            Scope::Limited => subject.storage != Storage::Unbounded,
            Scope::Bounded => subject.storage == Storage::Bounded,
            Scope::Unbounded => subject.storage == Storage::Unbounded,
            Scope::Rendezvous => subject.storage == Storage::Nothing,
            Scope::Built => subject.is_built(),
            Scope::Sequential => subject.is_sequential(),
            Scope::Batched => subject.is_sequential() && subject.is_stored(),
            Scope::Served => subject.service.is_some(),
        };
        scope && self.has_means(subject)
    }

    fn has_means(&self, subject: &Subject<T>) -> bool {
        let waits = || subject.empty().waiting().is_some();
        match self.means {
            Means::Calls => true,
            Means::Waits => waits(),
            Means::Interrupts => waits() && subject.empty().is_interruptible(),
        }
    }
}

impl<T: Element> fmt::Debug for Check<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

/// All checks, whatever queue they concern.
#[must_use]
pub fn checks<T: Element>() -> &'static [Check<T>] {
    Check::ALL
}

macro_rules! table {
    ($($file:ident { $($scope:ident, $means:ident: $($name:ident)+;)+ })+) => {
        &[$($($(Check {
            name: stringify!($name),
            scope: Scope::$scope,
            means: Means::$means,
            run: $file::$name,
        },)+)+)+]
    };
}

impl<T: Element> Check<T> {
    const ALL: &'static [Self] = table! {
        capacity {
            Every, Calls: a_new_queue_is_empty_by_every_measure;
            Bounded, Calls: a_bounded_queue_reports_its_room a_capacity_of_zero_is_refused
                length_and_room_add_up_after_every_step;
            Unbounded, Calls: an_unbounded_queue_reports_no_bound_at_any_size;
            Rendezvous, Waits: a_queue_that_holds_nothing_looks_empty_and_full_at_once;
            Built, Calls: a_queue_built_from_elements_holds_them_in_queue_order;
            Limited, Calls: offer_gives_the_element_back_when_full
                offers_in_bulk_give_back_what_found_no_room;
            Stored, Calls: offers_in_bulk_keep_their_order put_does_not_wait_while_there_is_room;
        }
        inserting {
            Limited, Interrupts: an_interrupt_ends_a_waiting_put
                a_pending_interrupt_ends_a_put_that_has_to_wait
                an_interrupt_ends_a_waiting_timed_offer
                a_pending_interrupt_ends_a_timed_offer_that_has_to_wait;
            Limited, Waits: a_waiting_put_gets_in_when_an_element_is_taken
                a_waiting_timed_offer_gets_in_when_room_appears;
            Limited, Calls: a_timed_offer_that_runs_out_gives_the_element_back
                a_timed_offer_of_no_time_tries_once;
            Stored, Calls: a_timed_offer_does_not_wait_while_there_is_room;
        }
        taking {
            Stored, Calls: take_gives_elements_in_queue_order
                poll_gives_elements_in_queue_order_and_then_nothing
                a_timed_poll_gives_what_is_there_at_once peek_shows_what_poll_would_give;
            Every, Interrupts: an_interrupt_ends_a_waiting_take
                a_pending_interrupt_ends_a_take_that_has_to_wait
                an_interrupt_ends_a_waiting_timed_poll
                a_pending_interrupt_ends_a_timed_poll_that_has_to_wait
                a_queue_works_on_after_its_takers_were_interrupted;
            Every, Calls: a_timed_poll_waits_its_time_and_no_longer
                a_timed_poll_of_no_time_tries_once;
            Every, Waits: a_waiting_take_receives_what_is_inserted
                a_waiting_timed_poll_receives_what_is_inserted;
        }
        removal {
            Stored, Calls: an_element_is_found_from_insertion_to_removal
                remove_first_takes_one_match_from_anywhere
                remove_first_takes_the_first_match_that_for_each_shows
                a_queue_works_on_after_its_last_element_was_removed
                clear_empties_the_queue_and_frees_its_room
                retain_keeps_matches_in_order_and_gives_the_others_back
                a_predicate_that_panics_changes_nothing a_snapshot_holds_every_element_once
                the_element_that_a_traversal_reached_can_be_removed
                drain_gives_everything_in_queue_order a_limited_drain_gives_at_most_that_many
                a_closure_may_ask_the_queue_for_its_figures
                a_closure_that_uses_the_queue_cannot_deadlock;
        }
        wakeups {
            Bounded, Waits: removing_one_element_lets_in_one_putter
                removing_many_elements_lets_in_as_many_putters
                a_consumer_that_fails_midway_loses_nothing_queued;
            Limited, Waits: a_drain_lets_a_waiting_put_in;
            Every, Calls: waits_that_run_out_leave_nothing_behind;
            Limited, Calls: offers_that_run_out_leave_nothing_behind;
            Every, Interrupts: interrupted_takers_strand_no_others;
            Limited, Interrupts: interrupted_putters_strand_no_others;
            Served, Waits: waiting_takers_are_served_in_turn;
        }
        interrupts {
            Every, Calls: calls_that_never_wait_ignore_a_pending_interrupt;
            Stored, Interrupts: take_meets_a_pending_interrupt_as_promised
                timed_poll_meets_a_pending_interrupt_as_promised
                put_meets_a_pending_interrupt_as_promised
                timed_offer_meets_a_pending_interrupt_as_promised;
            Rendezvous, Interrupts: a_pending_interrupt_does_not_stop_a_meeting;
        }
        concurrency {
            Stored, Calls: a_traversal_beside_changes_shows_only_what_is_queued
                an_element_that_two_want_goes_to_one
                a_thread_finds_something_while_its_own_element_is_unmatched
                the_queue_owns_each_element_once;
            Batched, Calls: batches_drained_beside_a_producer_have_no_gaps;
            Every, Calls: many_producers_and_consumers_lose_and_double_nothing;
            Sequential, Calls: a_consumer_sees_one_producers_elements_in_order;
            Limited, Interrupts: an_element_that_found_no_room_comes_back_whole;
        }
    };
}
