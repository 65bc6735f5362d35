//! The differ passes what agrees and fails what does not.

use super::*;
use crate::format::{Expected, Line, Step, parse};
use crate::outcome::Outcome;
use crate::state::{Phase, State};

const STEPS: &str = "\
# scenario 7
pool core=1 max=1 keep_alive=never queue=linked policy=abort
submit t1
get t1 timeout=5
shutdown
";

/// What the scripted subject answers, step by step.
fn script() -> Vec<(Outcome, State)> {
    let state = |phase, total| State {
        phase,
        total,
        ..State::default()
    };
    vec![
        (Outcome::Ok, state(Phase::Running, 0)),
        (Outcome::Ok, state(Phase::Running, 1)),
        (Outcome::Timeout, state(Phase::Running, 1)),
        (Outcome::Ok, state(Phase::Shutdown, 1)),
    ]
}

/// Answers from a script, whatever the steps are.
struct Scripted {
    script: Vec<(Outcome, State)>,
    done: usize,
}

impl Subject for Scripted {
    fn step(&mut self, _: &Step) -> Outcome {
        self.done += 1;
        self.script[self.done - 1].0.clone()
    }

    fn state(&self) -> State {
        self.script[self.done - 1].1.clone()
    }
}

/// The steps with what `script` says as their expectation.
fn recorded(script: &[(Outcome, State)]) -> Case {
    let mut scenario = parse(STEPS).unwrap().remove(0);
    let mut script = script.iter();
    for line in &mut scenario.lines {
        if let Line::Step(step) = line {
            let (result, state) = script.next().unwrap();
            let (result, state) = (result.to_string(), state.to_string());
            step.expected = Some(Expected { result, state });
        }
    }
    Case {
        file: "made.txt".into(),
        scenario,
    }
}

fn scripted(script: Vec<(Outcome, State)>) -> Arc<MakeSubject> {
    Arc::new(move |_| {
        Ok(Box::new(Scripted {
            script: script.clone(),
            done: 0,
        }))
    })
}

fn replay_against(script: Vec<(Outcome, State)>) -> Report {
    replay(vec![recorded(&self::script())], 2, scripted(script))
}

#[test]
fn a_subject_that_does_as_recorded_passes() {
    assert_eq!(replay_against(script()).to_string(), "1 passed, 0 failed");
}

#[test]
fn a_wrong_result_is_found_and_named() {
    let mut wrong = script();
    wrong[2].0 = Outcome::Cancelled;
    assert_eq!(
        replay_against(wrong).to_string(),
        "made.txt:4: scenario 7: get t1 timeout=5\n  expected > timeout\n  got      > cancelled\n\
         0 passed, 1 failed"
    );
}

#[test]
fn a_wrong_state_is_found_and_named() {
    let mut wrong = script();
    wrong[3].1.phase = Phase::Terminated;
    assert_eq!(
        replay_against(wrong).to_string(),
        "made.txt:5: scenario 7: shutdown\n  expected = shutdown total=1 hooks=0/0/0/0\n  \
         got      = terminated total=1 hooks=0/0/0/0\n0 passed, 1 failed"
    );
}

#[test]
fn only_the_first_difference_of_a_scenario_counts() {
    let mut wrong = script();
    wrong[1].1.pool = 3;
    wrong[3].0 = Outcome::Rejected;
    let report = replay_against(wrong);
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].difference.line, 3);
}

#[test]
fn a_step_that_was_never_recorded_does_not_pass() {
    let scenario = parse(STEPS).unwrap().remove(0);
    let report = replay(
        vec![Case {
            file: "made.txt".into(),
            scenario,
        }],
        1,
        scripted(script()),
    );
    assert_eq!(report.failures[0].difference.finding, Finding::Unrecorded);
}

#[test]
fn a_subject_that_panics_fails_its_own_scenario_only() {
    let cases = vec![recorded(&script()), recorded(&script())];
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let make: Arc<MakeSubject> = Arc::new(move |_| {
        // The first of both scenarios has too short a script, and so has its second attempt.
        let mut script = script();
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) != 1 {
            script.truncate(2);
        }
        Ok(Box::new(Scripted { script, done: 0 }))
    });
    let report = replay(cases, 1, make);
    assert_eq!((report.passed, report.failures.len()), (1, 1));
    assert_eq!(report.failures[0].difference.finding, Finding::Panicked);
    assert_eq!(report.failures[0].difference.step, "get t1 timeout=5");
}

#[test]
fn a_subject_that_is_quiescent_late_passes_at_the_second_attempt() {
    let late = std::sync::atomic::AtomicBool::new(true);
    let make: Arc<MakeSubject> = Arc::new(move |_| {
        let mut script = script();
        if late.swap(false, std::sync::atomic::Ordering::SeqCst) {
            script[1].1.total = 0;
        }
        Ok(Box::new(Scripted { script, done: 0 }))
    });
    let report = replay(vec![recorded(&script())], 1, make);
    assert_eq!(report.to_string(), "1 passed, 0 failed");
}

#[test]
fn a_missing_subject_is_a_failure() {
    let make: Arc<MakeSubject> = Arc::new(|_| Err("none built".to_owned()));
    let report = replay(vec![recorded(&script())], 1, make);
    assert_eq!((report.passed, report.failures.len()), (0, 1));
}
