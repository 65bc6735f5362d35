//! The table of all checks, and how they are run on a queue.

use super::check::{Check, Needs, Scope};
use super::item::Element;
use super::subject::Subject;
use super::{capacity, concurrency, inserting, interrupts, removal, taking, wakeups};

impl<T: Element> Subject<T> {
    /// Returns the checks that concern this queue.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check<T>> {
        checks().iter().filter(|check| check.concerns(self))
    }

    /// Runs one check.
    ///
    /// # Panics
    ///
    /// If it fails, with its name; or if there is none of this name that concerns this queue.
    pub fn check(&self, name: &str) {
        match self.checks().find(|check| check.name() == name) {
            Some(check) => check.run(self),
            None => panic!("no check of this queue is called {name}"),
        }
    }

    /// Runs all checks that concern this queue.
    ///
    /// # Panics
    ///
    /// If one fails, with its name.
    pub fn check_all(&self) {
        for check in self.checks() {
            check.run(self);
        }
    }
}

/// Returns all checks, whatever queue they concern.
#[must_use]
pub fn checks<T: Element>() -> &'static [Check<T>] {
    Check::ALL
}

macro_rules! table {
    ($($file:ident { $($scope:ident, $needs:ident: $($name:ident)+;)+ })+) => {
        &[$($($(Check {
            name: stringify!($name),
            scope: Scope::$scope,
            needs: Needs::$needs,
            run: $file::$name,
        },)+)+)+]
    };
}

impl<T: Element> Check<T> {
    const ALL: &'static [Self] = table! {
        capacity {
            Every, Nothing: a_new_queue_is_empty_by_every_measure;
            Bounded, Nothing: a_bounded_queue_reports_its_room a_capacity_of_zero_is_refused
                length_and_room_add_up_after_every_step;
            Unbounded, Nothing: an_unbounded_queue_reports_no_bound_at_any_size;
            Rendezvous, Waits: a_queue_that_holds_nothing_looks_empty_and_full_at_once;
            Built, Nothing: a_queue_built_from_elements_holds_them_in_queue_order;
            Limited, Nothing: offer_gives_the_element_back_when_full
                offers_in_bulk_give_back_what_found_no_room;
            Stored, Nothing: offers_in_bulk_keep_their_order put_does_not_wait_while_there_is_room;
        }
        inserting {
            Limited, Interrupts: an_interrupt_ends_a_waiting_put
                a_pending_interrupt_ends_a_put_that_has_to_wait
                an_interrupt_ends_a_waiting_timed_offer
                a_pending_interrupt_ends_a_timed_offer_that_has_to_wait;
            Limited, Waits: a_waiting_put_gets_in_when_an_element_is_taken
                a_waiting_timed_offer_gets_in_when_room_appears;
            Limited, Nothing: a_timed_offer_that_runs_out_gives_the_element_back
                a_timed_offer_of_no_time_tries_once;
            Stored, Nothing: a_timed_offer_does_not_wait_while_there_is_room;
        }
        taking {
            Stored, Nothing: take_gives_elements_in_queue_order
                poll_gives_elements_in_queue_order_and_then_nothing
                a_timed_poll_gives_what_is_there_at_once peek_shows_what_poll_would_give;
            Every, Interrupts: an_interrupt_ends_a_waiting_take
                a_pending_interrupt_ends_a_take_that_has_to_wait
                an_interrupt_ends_a_waiting_timed_poll
                a_pending_interrupt_ends_a_timed_poll_that_has_to_wait
                a_queue_works_on_after_its_takers_were_interrupted;
            Every, Nothing: a_timed_poll_waits_its_time_and_no_longer
                a_timed_poll_of_no_time_tries_once;
            Every, Waits: a_waiting_take_receives_what_is_inserted
                a_waiting_timed_poll_receives_what_is_inserted;
        }
        removal {
            Stored, Nothing: an_element_is_found_from_insertion_to_removal
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
            Every, Nothing: waits_that_run_out_leave_nothing_behind;
            Limited, Nothing: offers_that_run_out_leave_nothing_behind;
            Every, Interrupts: interrupted_takers_strand_no_others;
            Limited, Interrupts: interrupted_putters_strand_no_others;
            Served, Waits: waiting_takers_are_served_in_turn;
        }
        interrupts {
            Every, Nothing: calls_that_never_wait_ignore_a_pending_interrupt;
            Stored, Interrupts: take_meets_a_pending_interrupt_as_promised
                timed_poll_meets_a_pending_interrupt_as_promised
                put_meets_a_pending_interrupt_as_promised
                timed_offer_meets_a_pending_interrupt_as_promised;
            Rendezvous, Interrupts: a_pending_interrupt_does_not_stop_a_handoff;
        }
        concurrency {
            Stored, Nothing: a_traversal_beside_changes_shows_only_what_is_queued
                an_element_that_two_want_goes_to_one
                a_thread_finds_something_while_its_own_element_is_unmatched
                the_queue_owns_each_element_once;
            Batched, Nothing: batches_drained_beside_a_producer_have_no_gaps;
            Every, Nothing: many_producers_and_consumers_lose_and_double_nothing;
            Sequential, Nothing: a_consumer_sees_one_producers_elements_in_order;
            Limited, Interrupts: an_element_that_found_no_room_comes_back_whole;
        }
    };
}
