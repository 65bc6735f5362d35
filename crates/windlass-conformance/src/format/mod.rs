//! Scenarios and transcripts as text.
//!
//! Scenarios stand apart by a blank line. A line that begins with `#` is a comment; every other
//! line is a [`Step`], in a transcript followed by `> result` and `= state`. Reading and printing
//! are exact inverses for files in canonical form: single spaces, options in the order in which
//! [`Step`] prints them, a blank line after each scenario.

mod error;
mod pool;
mod read;
mod scenario;
mod step;
mod words;

pub use error::{ParseError, Problem};
pub use pool::{KeepAlive, Policy, PoolSpec, QueueKind, ScheduledSpec, ThreadPoolSpec};
pub use read::{parse, parse_step};
pub use scenario::{Expected, Line, Scenario, StepLine};
pub use step::{Ending, Setting, Step, TaskId, TaskSpec};

#[cfg(test)]
mod tests;
