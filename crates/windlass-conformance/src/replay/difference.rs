//! Where a replay left its transcript.

use std::fmt;

/// The first step at which a replay and its transcript part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The step's line in its file.
    pub line: usize,
    /// The step.
    pub step: String,
    /// What is wrong there.
    pub finding: Finding,
}

/// What is wrong at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The step gave something else.
    Result {
        /// What the transcript says.
        expected: String,
        /// What came.
        got: String,
    },
    /// The quiescent pool was in another state.
    State {
        /// What the transcript says.
        expected: String,
        /// What came.
        got: String,
    },
    /// The step was never recorded, so there is nothing to compare.
    Unrecorded,
    /// The step did not return in time.
    Stuck,
    /// The step panicked.
    Panicked,
    /// There was no subject to begin with.
    NoSubject(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Result { expected, got } => {
                write!(f, "expected > {expected}\n  got      > {got}")
            }
            Finding::State { expected, got } => {
                write!(f, "expected = {expected}\n  got      = {got}")
            }
            Finding::Unrecorded => f.write_str("nothing is recorded for this step"),
            Finding::Stuck => f.write_str("the step did not return"),
            Finding::Panicked => f.write_str("the step panicked"),
            Finding::NoSubject(why) => write!(f, "no pool to test: {why}"),
        }
    }
}
