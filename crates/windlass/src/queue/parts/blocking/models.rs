//! Models of a fair queue around a discipline.

use std::collections::VecDeque;

use super::Blocking;
use crate::queue::Fairness;
use crate::queue::parts::deque_discipline::DequeDiscipline;
use crate::queue::parts::scenarios;
use crate::sync::model;

fn queue(capacity: usize) -> Blocking<DequeDiscipline<u32>> {
    let discipline = DequeDiscipline {
        items: VecDeque::new(),
        capacity: Some(capacity),
    };
    Blocking::with_fairness(discipline, Fairness::Fair)
}

#[test]
fn every_element_finds_a_taker() {
    model(|| scenarios::every_element_finds_a_taker(queue(2)));
}

#[test]
fn a_putter_gets_the_place_that_a_taker_frees() {
    model(|| scenarios::a_freed_place_finds_its_putter(queue(1)));
}

#[test]
fn an_interrupted_putter_passes_its_place_on() {
    model(|| scenarios::an_interrupted_putter_strands_nobody(queue(1)));
}

#[test]
fn an_interrupted_taker_passes_its_element_on() {
    model(|| scenarios::an_interrupted_taker_strands_nobody(queue(2)));
}

#[test]
fn an_element_is_counted_or_its_producer_sees_who_counts() {
    model(|| scenarios::an_element_is_counted_or_its_producer_sees_who_counts(queue(1)));
}

#[test]
fn places_freed_together_let_in_as_many_putters() {
    model(|| scenarios::places_freed_together_let_in_as_many_putters(queue(2)));
}

#[test]
fn no_newcomer_takes_the_element_that_is_kept_for_a_waiting_taker() {
    model(|| scenarios::no_newcomer_takes_the_element_of_a_waiting_taker(queue(1)));
}

#[test]
fn no_newcomer_gets_the_place_that_is_kept_for_a_waiting_putter() {
    model(|| scenarios::no_newcomer_gets_the_place_of_a_waiting_putter(queue(1)));
}
