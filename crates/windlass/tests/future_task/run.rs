//! Running a task, once or again and again, and completing it by hand.

use std::sync::{Arc, Weak};
use std::thread;

use windlass::task::{Failure, FutureTask, TaskState};
use windlass::testing::{DropCounter, Gate};

use super::{Count, End, Probe};

/// FT-001
#[test]
fn a_task_is_done_once_it_has_run_and_nothing_changes_it_any_more() {
    let probe = Probe::seven();
    probe.is_pending();
    probe.task.run();
    assert_eq!(probe.runs.get(), 1);
    probe.assert_completed_as(&End::Value(7));
}

/// FT-002
#[test]
fn run_and_reset_runs_the_body_keeps_no_value_and_can_be_repeated() {
    let probe = Probe::seven();
    for round in 1..=3 {
        assert!(probe.task.run_and_reset());
        assert_eq!(probe.runs.get(), round);
        assert_eq!(probe.task.state(), TaskState::Queued);
        probe.is_pending();
    }
}

/// FT-002
#[test]
fn run_and_reset_drops_each_value_it_does_not_keep() {
    let drops = DropCounter::new();
    let task = FutureTask::repeating({
        let drops = drops.clone();
        move || Arc::new(drops.token())
    });
    assert!(task.run_and_reset());
    assert!(task.run_and_reset());
    assert_eq!(drops.count(), 2);
}

/// FT-002
#[test]
fn run_and_reset_of_code_that_can_run_only_once_says_no_and_leaves_it_to_run() {
    let task = FutureTask::new(|| 7);
    assert!(!task.run_and_reset());
    assert_eq!(task.state(), TaskState::Queued);
    task.run();
    assert_eq!(task.get().unwrap(), 7);
}

/// FT-003
#[test]
fn run_and_reset_does_nothing_on_a_cancelled_task_and_says_so() {
    for cancel in [FutureTask::cancel, FutureTask::cancel_now] {
        let probe = Probe::seven();
        assert!(cancel(&probe.task));
        assert!(!probe.task.run_and_reset());
        assert_eq!(probe.runs.get(), 0);
        probe.assert_completed_as(&End::Cancelled);
    }
}

/// FT-004
#[test]
fn set_completes_the_task_with_a_value_and_the_body_never_runs() {
    let probe = Probe::seven();
    assert!(probe.task.complete(8));
    probe.task.run();
    assert_eq!(probe.runs.get(), 0);
    probe.assert_completed_as(&End::Value(8));
}

/// FT-005
#[test]
fn fail_completes_the_task_as_failed_and_the_body_never_runs() {
    let probe = Probe::seven();
    let cause = Failure::from_error("no luck");
    assert!(probe.task.fail(cause.clone()));
    probe.task.run();
    assert_eq!(probe.runs.get(), 0);
    probe.assert_completed_as(&End::Failed(cause));
}

/// FT-006
#[test]
fn the_first_completion_wins_and_later_attempts_change_nothing() {
    type Attempt = (fn(&FutureTask<u32>) -> bool, fn(&Probe) -> End);
    let attempts: [Attempt; 5] = [
        (|task| task.complete(1), |_| End::Value(1)),
        (
            |task| task.fail(Failure::from_error("first")),
            |probe| End::Failed(probe.failure()),
        ),
        (FutureTask::cancel, |_| End::Cancelled),
        (FutureTask::cancel_now, |_| End::Cancelled),
        (
            |task| {
                task.run();
                true
            },
            |_| End::Value(7),
        ),
    ];
    for (attempt, end) in attempts {
        let probe = Probe::seven();
        assert!(attempt(&probe.task));
        let end = end(&probe);
        probe.assert_completed_as(&end);
        probe.assert_completed_as(&end);
    }
}

/// FT-006
#[test]
fn a_set_during_the_run_wins_over_the_value_of_the_run() {
    let (started, go) = (Gate::new(), Gate::new());
    let probe = Probe::of({
        let (started, go) = (started.clone(), go.clone());
        move || {
            started.open();
            go.pass_uninterruptibly();
            7
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| probe.task.run());
        started.pass().unwrap();
        assert!(probe.task.complete(8));
        assert_eq!(probe.task.get().unwrap(), 8);
        go.open();
    });
    probe.assert_completed_as(&End::Value(8));
}

/// FT-016
#[test]
fn only_one_thread_runs_a_task_and_a_second_attempt_returns_without_effect() {
    let (started, go) = (Gate::new(), Gate::new());
    let probe = Probe::of({
        let (started, go) = (started.clone(), go.clone());
        move || {
            started.open();
            go.pass_uninterruptibly();
            7
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| probe.task.run());
        started.pass().unwrap();
        probe.task.run();
        assert!(!probe.task.run_and_reset());
        assert_eq!(probe.task.state(), TaskState::Running);
        probe.is_pending();
        go.open();
    });
    assert_eq!(probe.runs.get(), 1);
    probe.assert_completed_as(&End::Value(7));
}

/// FT-023
#[test]
fn a_body_that_fails_in_run_and_reset_completes_the_task_as_failed() {
    let probe = Probe::of(|| panic!("in the second act"));
    assert!(!probe.task.run_and_reset());
    let cause = probe.failure();
    assert_eq!(cause.message(), Some("in the second act"));
    probe.assert_completed_as(&End::Failed(cause));
}

/// FT-030
#[test]
fn after_run_and_reset_a_final_run_keeps_its_value() {
    let rounds = Count::default();
    let probe = Probe::of({
        let rounds = rounds.clone();
        move || u32::try_from(rounds.up()).unwrap()
    });
    assert!(probe.task.run_and_reset());
    assert!(probe.task.run_and_reset());
    assert_eq!(rounds.get(), 2);
    probe.task.run();
    probe.assert_completed_as(&End::Value(3));
}

/// A task that captures something, and a way to see whether it still does.
fn capturing(body: impl FnOnce() -> u32 + Send + 'static) -> (FutureTask<u32>, Weak<()>) {
    let captured = Arc::new(());
    let seen = Arc::downgrade(&captured);
    let task = FutureTask::new(move || {
        let _captured = captured;
        body()
    });
    (task, seen)
}

/// FT-032
#[test]
fn a_task_that_ran_has_dropped_what_it_captured_when_its_value_can_be_got() {
    let (task, captured) = capturing(|| 7);
    assert_eq!(captured.strong_count(), 1);
    thread::scope(|scope| {
        scope.spawn(|| task.run());
        task.get().unwrap();
        assert_eq!(captured.strong_count(), 0);
    });
}

/// FT-032
#[test]
fn a_task_that_failed_was_cancelled_or_was_set_drops_what_it_captured() {
    let (failing, captured_by_failing) = capturing(|| panic!("lost"));
    failing.run();
    assert_eq!(captured_by_failing.strong_count(), 0);

    let ends: [fn(&FutureTask<u32>) -> bool; 4] = [
        FutureTask::cancel,
        FutureTask::cancel_now,
        |task| task.complete(1),
        |task| task.fail(Failure::from_error("no")),
    ];
    for end in ends {
        let (task, captured) = capturing(|| 7);
        assert!(end(&task));
        assert_eq!(captured.strong_count(), 0);
    }
}

/// FT-032
#[test]
fn a_repeating_task_drops_its_body_when_it_ends_and_not_before() {
    let drops = DropCounter::new();
    let token = drops.token();
    let task = FutureTask::repeating(move || {
        let _captured = &token;
    });
    assert!(task.run_and_reset());
    assert_eq!(drops.count(), 0);
    task.cancel();
    assert_eq!(drops.count(), 1);
}

/// FT-032
#[test]
fn a_repeating_task_cancelled_in_the_middle_of_a_run_drops_its_body_after_it() {
    let drops = DropCounter::new();
    let (started, go) = (Gate::new(), Gate::new());
    let task = FutureTask::repeating({
        let (token, started, go) = (drops.token(), started.clone(), go.clone());
        move || {
            let _captured = &token;
            started.open();
            go.pass_uninterruptibly();
        }
    });
    thread::scope(|scope| {
        let runner = scope.spawn(|| task.run_and_reset());
        started.pass().unwrap();
        assert!(task.cancel());
        assert_eq!(drops.count(), 0);
        go.open();
        assert!(!runner.join().unwrap());
    });
    assert_eq!(drops.count(), 1);
}
