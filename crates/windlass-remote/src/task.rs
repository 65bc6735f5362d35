//! What a user writes: a task type with a wire name.

use crate::context::TaskCx;
use crate::options::TaskOptions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;

/// A task that can run in another process: a type with a stable name, not a closure.
///
/// The fields are the payload. A worker that has [registered](crate::RemoteWorkerBuilder::register) the type
/// reads them back and calls [`run`](Self::run).
///
/// **A task may run more than once.** A worker that dies, or that the engine has not heard of for too long,
/// loses its tasks to another one. Effects outside of the task may then happen twice; use
/// [`TaskCx::id`] to recognise a repetition, or [`TaskOptions::at_most_once`] for a type that must
/// rather fail. Its *result* is visible at most once: the first success counts, and later ones are dropped.
///
/// ```
/// use windlass_remote::{RemoteTask, TaskCx, TaskError};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Thumbnail { url: String, width: u32 }
///
/// impl RemoteTask for Thumbnail {
///     const NAME: &'static str = "media.thumbnail";
///     type Output = usize;
///
///     fn run(self, cx: &TaskCx) -> Result<usize, TaskError> {
///         if cx.is_cancelled() {
///             return Err(TaskError::new("cancelled"));
///         }
///         Ok(self.url.len() * self.width as usize)
///     }
/// }
/// ```
pub trait RemoteTask: Serialize + DeserializeOwned + Send + 'static {
    /// The name on the wire: `[a-z0-9._-]{1,100}`, stable, with the area first.
    const NAME: &'static str;
    /// The version of the payload. A worker gives tasks of a newer version back to the queue, for a worker
    /// that has been upgraded already.
    const VERSION: u16 = 1;
    /// What a run returns.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Runs the task on a thread of the worker's pool. A panic is a failure of the task and of nothing else.
    ///
    /// # Errors
    ///
    /// The error completes the future; the task is repeated only if [`TaskOptions::max_attempts`] says so.
    fn run(self, cx: &TaskCx) -> Result<Self::Output, TaskError>;

    /// Returns the rules for tasks of this type. They are read where the task is submitted and travel with it.
    fn options() -> TaskOptions {
        TaskOptions::default()
    }

    /// Reads a payload of an older version. The default refuses it.
    ///
    /// # Errors
    ///
    /// A payload that is refused goes to the dead letters.
    fn upgrade(from: u16, payload: &OldPayload<'_>) -> Result<Self, TaskError> {
        let _ = payload;
        Err(TaskError::new(format!(
            "{} does not read version {from}",
            Self::NAME
        )))
    }
}

/// The payload of an older version, for [`RemoteTask::upgrade`].
#[derive(Clone, Copy, Debug)]
pub struct OldPayload<'a> {
    pub(crate) codec: crate::Codec,
    pub(crate) bytes: &'a [u8],
}

impl OldPayload<'_> {
    /// Reads the payload as the type that it had.
    ///
    /// # Errors
    ///
    /// If the bytes are not of that type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        Ok(self.codec.decode(self.bytes)?)
    }

    /// Returns the bytes.
    pub const fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

/// Why a run failed, and whether it is worth another attempt.
///
/// Any error becomes one with `?`. For that reason it is not an [`Error`](std::error::Error) itself.
///
/// ```
/// use windlass_remote::TaskError;
///
/// fn parse(text: &str) -> Result<u32, TaskError> {
///     Ok(text.parse()?)
/// }
/// assert!(parse("x").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct TaskError {
    message: String,
    retry: RetryHint,
}

/// What a [`TaskError`] says about another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryHint {
    ByOptions,
    Never,
    After(Duration),
}

impl TaskError {
    /// Creates an error; whether there is another attempt depends on [`TaskOptions::max_attempts`].
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            retry: RetryHint::ByOptions,
        }
    }

    /// Makes this failure final, whatever the options allow.
    #[must_use]
    pub fn no_retry(mut self) -> Self {
        self.retry = RetryHint::Never;
        self
    }

    /// Sets the time until the next attempt, if the options allow another one.
    #[must_use]
    pub const fn retry_after(mut self, delay: Duration) -> Self {
        self.retry = RetryHint::After(delay);
        self
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) const fn hint(&self) -> RetryHint {
        self.retry
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}
