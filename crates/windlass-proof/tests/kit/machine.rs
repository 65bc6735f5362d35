//! Runs a state machine against its model.

use proptest::test_runner::{Config, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use windlass_proof::cases;

/// Tries random steps, up to so many at a time, in as many cases as usual.
pub(crate) fn check<M>(usual_cases: u32, most_steps: usize)
where
    M: StateMachineTest<Reference = M> + ReferenceStateMachine,
{
    let config = Config {
        cases: cases(usual_cases),
        failure_persistence: None,
        ..Config::default()
    };
    let steps = M::sequential_strategy(1..most_steps + 1);
    let checked = TestRunner::new(config.clone()).run(&steps, |(model, steps, seen)| {
        M::test_sequential(config.clone(), model, steps, seen);
        Ok(())
    });
    if let Err(violation) = checked {
        panic!("{violation}");
    }
}
