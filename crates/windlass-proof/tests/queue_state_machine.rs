//! Random calls to every queue, with threads that wait on it, against a plain list.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/machine.rs"]
mod machine;
#[path = "queue/model.rs"]
mod model;
#[path = "queue/subject.rs"]
mod subject;

use proptest::prelude::{BoxedStrategy, Just, Strategy, prop_oneof};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use model::{Kind, Model, Step};
use subject::Subject;
use windlass::queue::Fairness;

const KINDS: [Kind; 13] = [
    Kind::Linked(None),
    Kind::Linked(Some(3)),
    Kind::Resizable(Some(2)),
    Kind::Resizable(None),
    Kind::Array(3, Fairness::Unfair),
    Kind::Array(2, Fairness::Fair),
    Kind::Deque(None),
    Kind::Deque(Some(3)),
    Kind::Priority,
    Kind::Delay,
    Kind::Synchronous(Fairness::Unfair),
    Kind::Synchronous(Fairness::Fair),
    Kind::Transfer,
];

/// The queue `KINDS[K]`, or the seeded one.
struct Machine<const K: usize>;

impl<const K: usize> ReferenceStateMachine for Machine<K> {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new(KINDS.get(K).copied().unwrap_or(Kind::Seeded))).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let key = || 0..6_u32;
        let calls = prop_oneof![
            8 => key().prop_map(Step::Offer),
            2 => key().prop_map(Step::OfferInNoTime),
            2 => key().prop_map(Step::Put),
            4 => key().prop_map(Step::OfferFirst),
            4 => key().prop_map(Step::TryTransfer),
            4 => Just(Step::Poll),
            1 => Just(Step::PollInNoTime),
            4 => Just(Step::PollLast),
            2 => Just(Step::Take),
            3 => key().prop_map(Step::Remove),
            1 => key().prop_map(Step::Retain),
            1 => (0..4_usize).prop_map(Step::Drain),
            1 => Just(Step::DrainAll),
            1 => Just(Step::Peek),
            1 => Just(Step::Visit),
            2 => (0..5_usize).prop_map(Step::SetCapacity),
            4 => (0..4_u32).prop_map(Step::Advance),
        ];
        let threads = prop_oneof![
            4 => Just(Step::TakerComes),
            1 => Just(Step::TakerIsInterrupted),
            4 => key().prop_map(Step::PutterComes),
            1 => Just(Step::PutterIsInterrupted),
        ];
        // What does not go is replaced by what always goes.
        let model = model.clone();
        let step = prop_oneof![4 => calls, 1 => threads];
        step.prop_map(move |step| {
            if model.allows(step) {
                step
            } else {
                Step::Visit
            }
        })
        .boxed()
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.apply(*step);
        model
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        model.allows(*step)
    }
}

impl<const K: usize> StateMachineTest for Machine<K> {
    type SystemUnderTest = Subject;
    type Reference = Self;

    fn init_test(model: &Model) -> Subject {
        Subject::new(model.kind)
    }

    fn apply(mut subject: Subject, model: &Model, step: Step) -> Subject {
        subject.apply(model, step);
        subject
    }

    fn check_invariants(subject: &Subject, model: &Model) {
        subject.check(model);
    }
}

macro_rules! tests {
    ($($name:ident: $kind:literal)*) => {$(
        #[test]
        fn $name() {
            machine::check::<Machine<$kind>>(48, 59);
        }
    )*};
}

tests! {
    a_linked_queue_is_a_list: 0
    a_bounded_linked_queue_is_a_list_with_a_bound: 1
    a_resizable_queue_is_a_list_with_a_changing_bound: 2
    a_resizable_queue_may_begin_without_a_bound: 3
    an_array_queue_is_a_list_with_a_bound: 4
    a_fair_array_queue_is_a_list_with_a_bound: 5
    a_deque_is_a_list_with_two_ends: 6
    a_bounded_deque_is_a_list_with_two_ends_and_a_bound: 7
    a_priority_queue_is_a_sorted_list: 8
    a_delay_queue_is_a_sorted_list_that_becomes_due: 9
    a_synchronous_queue_is_a_meeting_place: 10
    a_fair_synchronous_queue_is_a_meeting_place: 11
    a_transfer_queue_is_a_list_whose_senders_may_wait: 12
}

#[test]
#[should_panic(expected = "minimal failing input")]
fn a_queue_that_is_last_in_first_out_is_noticed() {
    machine::check::<Machine<13>>(48, 59);
}
