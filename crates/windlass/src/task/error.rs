//! How a task can end other than well, and why a get can come back without a value.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::sync::Mutex;
use crate::unwind::{DiscardOnDrop, catch};

/// Why a get has no value.
///
/// The first two are the task's end and will be the same for ever; the others say something about
/// this call only.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ExecutionError {
    /// The task panicked, or returned an error to a `…_fallible` submission.
    Failed(Failure),
    /// The task was cancelled, or will never run for another reason.
    Cancelled(Cancellation),
    /// The thread that waited was interrupted; its flag is clear, the task goes on.
    Interrupted,
    /// The time was up; the task goes on, and its result can still be had.
    TimedOut,
    /// An earlier get has taken the value out of this handle.
    Taken,
}

/// Why a task will never have a result, though its code did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// Somebody cancelled it.
    Requested,
    /// Its executor refused it.
    Rejected,
    /// A rejection policy dropped it.
    Discarded,
    /// A rejection policy dropped it to make room for a newer task.
    Evicted,
    /// `shutdown_now` handed it back, and it was dropped without being run.
    Drained,
    /// It was removed from the queue, and dropped without being run.
    Removed,
    /// Its runnable half was dropped without being run, with its queue for example.
    Dropped,
}

impl ExecutionError {
    /// Whether the task panicked or returned an error.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Whether the task was cancelled or will never run.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// Whether the waiting thread was interrupted.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted)
    }

    /// Whether the time was up.
    #[must_use]
    pub const fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut)
    }

    /// What made the task fail, if it failed.
    #[must_use]
    #[doc(alias = "getCause")]
    pub fn into_failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

impl fmt::Display for ExecutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => write!(f, "the task failed: {failure}"),
            Self::Cancelled(why) => write!(f, "the task was cancelled: {why}"),
            Self::Interrupted => f.write_str("the waiting thread was interrupted"),
            Self::TimedOut => f.write_str("the task was not done in time"),
            Self::Taken => f.write_str("the task's value was taken by an earlier get"),
        }
    }
}

impl Error for ExecutionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(failure) => failure.error().map(|error| error as _),
            _ => None,
        }
    }
}

impl fmt::Display for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "on request",
            Self::Rejected => "its executor refused it",
            Self::Discarded => "the rejection policy dropped it",
            Self::Evicted => "the rejection policy dropped it for a newer task",
            Self::Drained => "it was drained by shutdown_now and never run",
            Self::Removed => "it was removed from the queue and never run",
            Self::Dropped => "it was dropped before it ran",
        })
    }
}

/// What made a task fail: the payload of its panic, or the error that it returned.
///
/// Cloning shares the cause.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, mut handle) = Task::with_handle(|| -> u32 { panic!("no such row") });
/// task.run();
/// let failure = handle.get().unwrap_err().into_failure().unwrap();
/// assert!(failure.is_panic());
/// assert_eq!(failure.message(), Some("no such row"));
/// ```
#[derive(Clone)]
pub struct Failure(Arc<Cause>);

enum Cause {
    Panic {
        message: Option<Cow<'static, str>>,
        /// Behind a lock because a payload is `Send` but not `Sync`.
        payload: Mutex<DiscardOnDrop<Box<dyn Any + Send>>>,
    },
    Error(DiscardOnDrop<Box<dyn Error + Send + Sync>>),
}

impl Failure {
    /// A failure by an error.
    pub fn from_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::new(Cause::Error(DiscardOnDrop::new(error.into()))))
    }

    /// A failure by a panic with this payload.
    #[must_use]
    pub fn from_panic(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast_ref::<&'static str>() {
            Some(text) => Some(Cow::Borrowed(*text)),
            None => payload
                .downcast_ref::<String>()
                .map(|text| Cow::Owned(text.clone())),
        };
        Self(Arc::new(Cause::Panic {
            message,
            payload: Mutex::new(DiscardOnDrop::new(payload)),
        }))
    }

    /// Whether the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(*self.0, Cause::Panic { .. })
    }

    /// The error that the task returned.
    #[must_use]
    pub fn error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match &*self.0 {
            Cause::Error(error) => error.get().map(|error| &**error),
            Cause::Panic { .. } => None,
        }
    }

    /// The panic's message, where its payload was text.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &*self.0 {
            Cause::Panic { message, .. } => message.as_deref(),
            Cause::Error(_) => None,
        }
    }

    /// Shows the panic's payload to `look`; nothing if there was none, if it was taken, or if
    /// somebody else looks at it right now.
    pub fn with_payload<R>(&self, look: impl FnOnce(&(dyn Any + Send)) -> R) -> Option<R> {
        match &*self.0 {
            Cause::Panic { payload, .. } => {
                // Out of the lock while user code looks, and back afterwards.
                let taken = payload.lock().take()?;
                let seen = catch(|| look(&*taken));
                payload.lock().put(taken);
                Some(seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }
            Cause::Error(_) => None,
        }
    }

    /// Takes the panic's payload; only the first of several sharers gets it.
    #[must_use]
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        match &*self.0 {
            Cause::Panic { payload, .. } => payload.lock().take(),
            Cause::Error(_) => None,
        }
    }

    /// Goes on panicking with the task's payload; with a description where there is none.
    ///
    /// # Panics
    ///
    /// Always.
    pub fn resume_unwind(self) -> ! {
        let payload = self.take_payload();
        std::panic::resume_unwind(payload.unwrap_or_else(|| Box::new(self.to_string())))
    }

    /// Whether both are the same failure of the same task.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Error(error) => {
                let mut shown = f.debug_tuple("Failure::Error");
                error.get().iter().for_each(|error| {
                    shown.field(error);
                });
                shown.finish()
            }
            Cause::Panic { message, .. } => {
                let message = message.as_deref().unwrap_or("..");
                f.debug_tuple("Failure::Panic").field(&message).finish()
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Error(error) => error.get().map_or(Ok(()), |error| error.fmt(f)),
            Cause::Panic {
                message: Some(message),
                ..
            } => write!(f, "panicked: {message}"),
            Cause::Panic { message: None, .. } => f.write_str("panicked"),
        }
    }
}
