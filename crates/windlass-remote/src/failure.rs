//! Why a task has no result.

use std::fmt;

/// What kind of thing went wrong with a task; part of its record, so that another process reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The task returned an error.
    Task,
    /// The task panicked.
    Panic,
    /// Its worker vanished, and the task must not run twice.
    WorkerLost,
    /// Workers vanished under it as often as its type allows.
    Poison,
    /// It waited in the queue for longer than its type allows.
    QueueTimeout,
    /// It ran for longer than its type allows.
    RunTimeout,
    /// Its payload was not what its type reads, or not signed as required.
    Payload,
    /// Its result has no bytes, or more than allowed.
    Result,
    /// No worker knew its name or its version for too long.
    Unknown,
}

impl FailureKind {
    const CODES: [(Self, char); 9] = [
        (Self::Task, 't'),
        (Self::Panic, 'p'),
        (Self::WorkerLost, 'l'),
        (Self::Poison, 'x'),
        (Self::QueueTimeout, 'q'),
        (Self::RunTimeout, 'r'),
        (Self::Payload, 'd'),
        (Self::Result, 'o'),
        (Self::Unknown, 'u'),
    ];

    /// Returns the letter that stands for this kind in a record.
    pub fn code(self) -> char {
        Self::CODES
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or('t', |(_, code)| *code)
    }

    /// Returns the kind for a letter; [`FailureKind::Task`] for one of a later release.
    pub fn from_code(code: char) -> Self {
        Self::CODES
            .iter()
            .find(|(_, c)| *c == code)
            .map_or(Self::Task, |(kind, _)| *kind)
    }
}

/// A failure as it is kept in the task's record.
///
/// ```
/// use windlass_remote::{Failure, FailureKind};
///
/// let failure = Failure::new(FailureKind::Task, "no such picture");
/// assert_eq!(failure.to_string(), "the task failed: no such picture");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: FailureKind,
    message: String,
}

/// Longer messages are cut: they are kept in the record, and a record is small.
const MAX_MESSAGE: usize = 2_000;

impl Failure {
    /// Creates a failure; a message of more than 2,000 bytes is cut.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            let end = (0..=MAX_MESSAGE)
                .rev()
                .find(|&at| message.is_char_boundary(at));
            message.truncate(end.unwrap_or(0));
        }
        Self { kind, message }
    }

    /// Returns the kind.
    pub const fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Returns the message, without the kind.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the form for a record: one letter, then the message.
    pub fn to_wire(&self) -> String {
        format!("{}{}", self.kind.code(), self.message)
    }

    /// Reads the form of [`to_wire`](Self::to_wire). Reads anything, since records may be of another release.
    pub fn from_wire(text: &str) -> Self {
        let mut chars = text.chars();
        let kind = chars
            .next()
            .map_or(FailureKind::Task, FailureKind::from_code);
        Self::new(kind, chars.as_str())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FailureKind::Task => "the task failed",
            FailureKind::Panic => "the task panicked",
            FailureKind::WorkerLost => "the worker vanished",
            FailureKind::Poison => "too many workers vanished under the task",
            FailureKind::QueueTimeout => "the task waited too long",
            FailureKind::RunTimeout => "the task ran too long",
            FailureKind::Payload => "the payload was refused",
            FailureKind::Result => "the result was refused",
            FailureKind::Unknown => "no worker knows the task",
        };
        if self.message.is_empty() {
            f.write_str(kind)
        } else {
            write!(f, "{kind}: {}", self.message)
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureKind};

    #[test]
    fn every_kind_survives_the_wire() {
        for (kind, _) in FailureKind::CODES {
            let failure = Failure::new(kind, "überall");
            assert_eq!(Failure::from_wire(&failure.to_wire()), failure);
        }
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let failure = Failure::new(FailureKind::Task, "ä".repeat(1_500));
        assert!(failure.message().len() <= 2_000 && failure.message().len() > 1_990);
    }
}
