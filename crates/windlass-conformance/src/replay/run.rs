//! Runs one scenario, step by step, up to its first difference.

use crate::format::{Expected, PoolSpec, Step, StepLine};
use crate::quiescence::Quiescence;
use crate::subject::Subject;

use super::Case;
use super::difference::{Difference, Finding};
use super::parallel::Progress;

impl Difference {
    pub(super) fn at(line: &StepLine, finding: Finding) -> Difference {
        Difference {
            line: line.number,
            step: line.step.to_string(),
            finding,
        }
    }
}

/// Applies each step and compares; `progress` hears of each step before it begins.
pub(super) fn run(
    case: &Case,
    subject: &mut dyn Subject,
    patience: u32,
    progress: &Progress,
) -> Result<(), Difference> {
    let mut quiescence = Quiescence::new(patience);
    let mut is_scheduled = false;
    for (index, line) in case.scenario.steps().enumerate() {
        progress.begin(index);
        if let Step::Pool(pool) = &line.step {
            is_scheduled = matches!(pool, PoolSpec::Scheduled(_));
        }
        if let Err(finding) = compare(line, is_scheduled, subject, &mut quiescence) {
            if subject.differs_by_design() {
                return Ok(());
            }
            return Err(Difference::at(line, finding));
        }
    }
    Ok(())
}

/// Returns whether the results of a step agree.
///
/// `shutdown_now` of a scheduled pool returns the tasks that are not due in the order of the JDK's heap
/// there, and in the order of time here: only which they are is compared.
fn agree(step: &Step, is_scheduled: bool, expected: &str, got: &str) -> bool {
    let sorted = |tasks: &str| {
        let mut tasks: Vec<String> = tasks
            .trim_matches(['[', ']'])
            .split(' ')
            .map(str::to_owned)
            .collect();
        tasks.sort_unstable();
        tasks
    };
    match step {
        Step::ShutdownNow if is_scheduled => sorted(expected) == sorted(got),
        _ => expected == got,
    }
}

fn compare(
    line: &StepLine,
    is_scheduled: bool,
    subject: &mut dyn Subject,
    quiescence: &mut Quiescence,
) -> Result<(), Finding> {
    let Expected { result, state } = line.expected.clone().ok_or(Finding::Unrecorded)?;
    quiescence.observe(&line.step);
    let got = subject.step(&line.step).to_string();
    if !agree(&line.step, is_scheduled, &result, &got) {
        return Err(Finding::Result {
            expected: result,
            got,
        });
    }
    let got = quiescence.await_quiescence(subject).to_string();
    if got != state {
        return Err(Finding::State {
            expected: state,
            got,
        });
    }
    Ok(())
}
