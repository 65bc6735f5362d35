//! Runs one scenario, step by step, up to its first difference.

use crate::format::{Expected, StepLine};
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
    for (index, line) in case.scenario.steps().enumerate() {
        progress.begin(index);
        if let Err(finding) = compare(line, subject, &mut quiescence) {
            if subject.differs_by_design() {
                return Ok(());
            }
            return Err(Difference::at(line, finding));
        }
    }
    Ok(())
}

fn compare(
    line: &StepLine,
    subject: &mut dyn Subject,
    quiescence: &mut Quiescence,
) -> Result<(), Finding> {
    let Expected { result, state } = line.expected.clone().ok_or(Finding::Unrecorded)?;
    quiescence.observe(&line.step);
    let got = subject.step(&line.step).to_string();
    if got != result {
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
