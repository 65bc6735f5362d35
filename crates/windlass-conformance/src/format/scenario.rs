//! One scenario: its steps, its comments and, once recorded, what to expect.

use std::fmt;

use super::step::Step;

/// A run of lines without a blank one between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The lines, in order.
    pub lines: Vec<Line>,
}

/// A line of a scenario that is not an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A comment, as it stands, with its `#`.
    Comment(String),
    /// A step.
    Step(StepLine),
}

/// A step in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLine {
    /// The line's number in its file, from 1; 0 where it never was in one.
    pub number: usize,
    /// The step.
    pub step: Step,
    /// What to expect of it, once it has been recorded.
    pub expected: Option<Expected>,
}

/// What a step gave when it was recorded.
///
/// Both are text and not values: a replay must agree to the letter, and a transcript may come from
/// an oracle that has more to say than this crate knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The result, without its `> `.
    pub result: String,
    /// The state once the pool is quiescent, without its `= `.
    pub state: String,
}

impl Scenario {
    /// The first comment, without its `#`: by custom the scenario's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.lines.iter().find_map(|line| match line {
            Line::Comment(text) => Some(text.trim_start_matches('#').trim()),
            Line::Step(_) => None,
        })
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = &StepLine> {
        self.lines.iter().filter_map(|line| match line {
            Line::Step(step) => Some(step),
            Line::Comment(_) => None,
        })
    }

    /// Whether there is anything to run; a block of comments has no steps.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.steps().next().is_some()
    }

    /// Adds a comment.
    pub fn comment(&mut self, text: &str) {
        self.lines.push(Line::Comment(format!("# {text}")));
    }

    /// Adds a step of which nothing is known yet.
    pub fn push(&mut self, step: Step) {
        self.lines.push(Line::Step(StepLine {
            number: 0,
            step,
            expected: None,
        }));
    }

    /// The same scenario with nothing to expect.
    #[must_use]
    pub fn without_expectations(mut self) -> Scenario {
        for line in &mut self.lines {
            if let Line::Step(step) = line {
                step.expected = None;
            }
        }
        self
    }
}

impl fmt::Display for Scenario {
    /// Prints the lines, with a blank one after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            match line {
                Line::Comment(text) => writeln!(f, "{text}")?,
                Line::Step(StepLine { step, expected, .. }) => {
                    writeln!(f, "{step}")?;
                    if let Some(Expected { result, state }) = expected {
                        writeln!(f, "> {result}\n= {state}")?;
                    }
                }
            }
        }
        writeln!(f)
    }
}
