//! A short soak, and one with a queue that loses a task.

use std::time::Duration;

use windlass_proof::soak::{Plan, run};

const PLAN: Plan = Plan {
    time: Duration::from_secs(5),
    round: Duration::from_secs(1),
    seed: 7,
    lose_a_task: false,
};

/// One test, because threads are counted by process.
#[test]
fn all_accounts_balance_and_a_lost_task_is_noticed() {
    let ended = run(&PLAN, |line| println!("{line}"));
    assert_eq!(ended, Ok(()));
    let losing = Plan {
        time: Duration::from_millis(500),
        lose_a_task: true,
        ..PLAN
    };
    let ended = run(&losing, |line| println!("{line}"));
    assert!(ended.is_err_and(|violation| violation.contains("lost or doubled")));
}
