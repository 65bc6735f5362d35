//! What can be wrong with a scenario file, and where.

use std::error::Error;
use std::fmt;

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The line's number in its file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The first word names no step.
    UnknownStep(String),
    /// The step needs a task's name and has none.
    MissingTask,
    /// The step needs this option and does not have it.
    MissingOption(&'static str),
    /// A `set` that names nothing that can be set.
    MissingSetting,
    /// An option's value is none that the option can have.
    BadValue {
        /// The option.
        option: &'static str,
        /// What stood there.
        value: String,
    },
    /// A word that the step does not know, or knows once and has twice.
    UnexpectedWord(String),
    /// A result line that follows no step.
    ResultWithoutStep,
    /// A state line that follows no result line.
    StateWithoutResult,
    /// A result line that no state line follows.
    ResultWithoutState,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::UnknownStep(word) => write!(f, "unknown step `{word}`"),
            Problem::MissingTask => f.write_str("the task's name is missing"),
            Problem::MissingOption(option) => write!(f, "`{option}=` is missing"),
            Problem::MissingSetting => f.write_str("nothing that can be set is named"),
            Problem::BadValue { option, value } => write!(f, "`{option}=` cannot be `{value}`"),
            Problem::UnexpectedWord(word) => write!(f, "unexpected `{word}`"),
            Problem::ResultWithoutStep => f.write_str("a result line must follow its step"),
            Problem::StateWithoutResult => f.write_str("a state line must follow its result line"),
            Problem::ResultWithoutState => {
                f.write_str("a result line must be followed by a state line")
            }
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl Error for ParseError {}
