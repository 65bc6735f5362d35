//! What came of a replay, for people and for scripts.

use std::fmt;
use std::sync::Arc;

use super::Case;
use super::difference::Difference;

/// What came of a replay.
#[derive(Debug)]
pub struct Report {
    /// How many scenarios agreed to the letter.
    pub passed: usize,
    /// Those that did not, in the order of the files.
    pub failures: Vec<Failure>,
}

/// A scenario that differs.
#[derive(Debug)]
pub struct Failure {
    /// The scenario.
    pub case: Arc<Case>,
    /// Where it differs first.
    pub difference: Difference,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            line,
            step,
            finding,
        } = &self.difference;
        let name = self
            .case
            .scenario
            .name()
            .unwrap_or("scenario without a name");
        write!(f, "{}:{line}: {name}: {step}\n  {finding}", self.case.file)
    }
}

impl fmt::Display for Report {
    /// Prints each failure, and last of all `N passed, M failed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failures.len())
    }
}
