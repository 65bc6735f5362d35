//! Replays transcripts and reports the first difference of each.
//!
//! Scenarios mostly wait for quiescence, so many run side by side. On a busy machine a worker
//! may wait for a core while its pool seems quiescent; a scenario that differs is therefore run again
//! with ten times the patience, beside no more others than there are cores, and once more alone with
//! a hundred times; only a difference that is still there counts. Waiting longer never makes a wrong
//! state right.

mod difference;
mod parallel;
mod report;
mod run;

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use crate::format::Scenario;
use crate::subject::Subject;

pub use difference::{Difference, Finding};
pub use report::{Failure, Report};

/// How much longer a scenario that differed may take to become quiescent the second and the third time.
const PATIENCE: [u32; 2] = [10, 100];

/// Makes the subject of one scenario, or says why there is none.
pub type MakeSubject = dyn Fn(&Scenario) -> Result<Box<dyn Subject>, String> + Send + Sync;

/// A recorded scenario and the file it stands in.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The scenario.
    pub scenario: Scenario,
}

/// How many scenarios run side by side where nothing else is asked for.
///
/// They mostly wait: on two cores, watching 32 of them with nothing behind takes a fifth of one
/// core, and a corpus that takes 72 s with 4 side by side is through in 11 s.
#[must_use]
pub fn default_jobs() -> usize {
    cores() * 16
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs every scenario that has steps, `jobs` at a time.
#[must_use]
pub fn replay(cases: Vec<Case>, jobs: usize, make: Arc<MakeSubject>) -> Report {
    let cases: Vec<Arc<Case>> = cases
        .into_iter()
        .filter(|case| case.scenario.has_steps())
        .map(Arc::new)
        .collect();
    let total = cases.len();
    let mut failures = parallel::run_all(&cases, jobs, 1, &make);
    for (patience, threads) in PATIENCE.into_iter().zip([cores(), 1]) {
        let again: Vec<Arc<Case>> = failures.into_iter().map(|failure| failure.case).collect();
        failures = parallel::run_all(&again, jobs.min(threads), patience, &make);
    }
    Report {
        passed: total - failures.len(),
        failures,
    }
}

#[cfg(test)]
mod tests;
