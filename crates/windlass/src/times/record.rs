//! A task that has ended and is worth remembering: it was slow, or it has failed.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::task::{Failure, TaskId};
use crate::unwind::{catch, discard_payload};

/// How many bytes of a message are kept.
const MESSAGE: usize = 256;

/// How a remembered task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// It has returned, or it is not known otherwise.
    Ok,
    /// It has returned an error.
    Failed,
    /// It has panicked.
    Panicked,
    /// It was cancelled.
    Cancelled,
}

impl Ending {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A task that has ended and was slow, or has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskRecord {
    /// Identifies the task.
    pub id: TaskId,
    /// The name that it was built with.
    pub name: Option<Arc<str>>,
    /// The name of the thread that ran it.
    pub thread: Option<Arc<str>>,
    /// When it ended.
    pub ended: Instant,
    /// How long it waited, if that was measured.
    pub wait: Option<Duration>,
    /// How long it ran, if that was measured.
    pub run: Option<Duration>,
    /// How it ended.
    pub ending: Ending,
    /// The message of its panic, or its error; at most 256 bytes.
    pub message: Option<Arc<str>>,
}

impl TaskRecord {
    /// Creates the record of a task of which nothing else is known.
    #[must_use]
    pub const fn new(id: TaskId, ended: Instant, ending: Ending) -> Self {
        Self {
            id,
            name: None,
            thread: None,
            ended,
            wait: None,
            run: None,
            ending,
            message: None,
        }
    }

    /// Adds the message of a failure. The text of an error is written by the user's code.
    pub(crate) fn with_message(mut self, failure: &Failure) -> Self {
        let message = match (failure.message(), failure.error()) {
            (Some(message), _) => Some(message.to_owned()),
            (None, Some(error)) => catch(|| error.to_string()).map_err(discard_payload).ok(),
            (None, None) => None,
        };
        self.message = message.map(|message| {
            let mut end = message.len().min(MESSAGE);
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            Arc::from(&message[..end])
        });
        self
    }
}
