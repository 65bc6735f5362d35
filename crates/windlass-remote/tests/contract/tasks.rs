//! Task types for this suite alone.

use crate::support::tasks::BOARD;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use windlass_remote::{RemoteTask, TaskCx, TaskError, TaskOptions};

/// Fails or panics until its attempt is the given one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Flaky {
    pub(crate) key: String,
    pub(crate) succeeds_at: u32,
    pub(crate) panics: bool,
}

impl RemoteTask for Flaky {
    const NAME: &'static str = "test.flaky";
    type Output = u32;

    fn run(self, cx: &TaskCx) -> Result<u32, TaskError> {
        BOARD.start(&self.key);
        assert!(!self.panics, "on purpose");
        if cx.attempt() >= self.succeeds_at {
            return Ok(cx.attempt());
        }
        Err(TaskError::new(format!("attempt {}", cx.attempt())))
    }

    fn options() -> TaskOptions {
        TaskOptions::default()
            .max_attempts(3)
            .backoff(Duration::from_millis(1), Duration::from_millis(20))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Text(pub(crate) String);

impl RemoteTask for Text {
    const NAME: &'static str = "test.text";
    type Output = String;

    fn run(self, _: &TaskCx) -> Result<String, TaskError> {
        Ok(self.0.repeat(2))
    }
}

/// Runs at most once.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Once;

impl RemoteTask for Once {
    const NAME: &'static str = "test.once";
    type Output = ();

    fn run(self, _: &TaskCx) -> Result<(), TaskError> {
        Ok(())
    }

    fn options() -> TaskOptions {
        TaskOptions::default().at_most_once()
    }
}
