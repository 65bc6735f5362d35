//! Random calls to pools of every queue and policy, against a model of a pool at rest.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/machine.rs"]
mod machine;
#[path = "pool/model.rs"]
mod model;
#[path = "pool/subject.rs"]
mod subject;

use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use model::{Model, Plan, Policy, QueueKind, Setup, Step};
use subject::Subject;

const QUEUES: [QueueKind; 8] = [
    QueueKind::Linked(None),
    QueueKind::Linked(Some(2)),
    QueueKind::Resizable(2),
    QueueKind::Array(2),
    QueueKind::Deque(3),
    QueueKind::Priority,
    QueueKind::Synchronous,
    QueueKind::Transfer,
];

const POLICIES: [Policy; 5] = [
    Policy::Abort,
    Policy::CallerRuns,
    Policy::Discard,
    Policy::DiscardOldest,
    Policy::Block,
];

/// Pools with the queue `QUEUES[Q]`.
struct Machine<const Q: usize>;

impl<const Q: usize> ReferenceStateMachine for Machine<Q> {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        let sizes = (1..4_usize).prop_flat_map(|maximum| (0..=maximum, Just(maximum)));
        let setup = (sizes, select(&POLICIES), any::<bool>());
        let model = setup.prop_map(|((core, maximum), policy, eager)| {
            Model::new(Setup {
                queue: QUEUES[Q],
                policy,
                core,
                maximum,
                eager,
            })
        });
        model.boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let plan = (0..3, any::<bool>(), any::<bool>());
        let execute = plan.prop_map(|(priority, has_handle, panics)| {
            Step::Execute(Plan {
                priority,
                has_handle,
                panics,
            })
        });
        let task = 0..model.tasks.len().max(1);
        let steps = prop_oneof![
            16 => execute.clone(),
            8 => (0..model.running.len().max(1)).prop_map(Step::Finish),
            2 => task.clone().prop_map(Step::Cancel),
            2 => task.clone().prop_map(Step::CancelNow),
            2 => task.prop_map(Step::Remove),
            2 => Just(Step::Purge),
            3 => (0..5_usize).prop_map(Step::SetCore),
            3 => (0..5_usize).prop_map(Step::SetMaximum),
            2 => (0..4_usize).prop_map(Step::SetCapacity),
            1 => Just(Step::Prestart),
            1 => Just(Step::RetireIdle),
        ];
        let ends = prop_oneof![Just(Step::Shutdown), Just(Step::ShutdownNow)];
        // What does not go is replaced by what always goes.
        let model = model.clone();
        prop_oneof![40 => steps, 1 => ends]
            .prop_flat_map(move |step| match model.allows(step) {
                true => Just(step).boxed(),
                false => execute.clone().boxed(),
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

impl<const Q: usize> StateMachineTest for Machine<Q> {
    type SystemUnderTest = Subject;
    type Reference = Self;

    fn init_test(model: &Model) -> Subject {
        Subject::new(model.setup)
    }

    fn apply(mut subject: Subject, model: &Model, step: Step) -> Subject {
        subject.apply(model, step);
        subject
    }

    fn teardown(subject: Subject, model: Model) {
        subject.finish(&model);
    }
}

macro_rules! tests {
    ($($name:ident: $queue:literal)*) => {$(
        #[test]
        fn $name() {
            machine::check::<Machine<$queue>>(40, 49);
        }
    )*};
}

tests! {
    a_pool_with_a_linked_queue_does_as_predicted: 0
    a_pool_with_a_bounded_linked_queue_does_as_predicted: 1
    a_pool_with_a_resizable_queue_does_as_predicted: 2
    a_pool_with_an_array_queue_does_as_predicted: 3
    a_pool_with_a_deque_does_as_predicted: 4
    a_pool_with_a_priority_queue_does_as_predicted: 5
    a_pool_with_a_synchronous_queue_does_as_predicted: 6
    a_pool_with_a_transfer_queue_does_as_predicted: 7
}
