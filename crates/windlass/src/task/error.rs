//! The errors of tasks: why a task ended without a value, and why a `get` returned without one.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::deadlock::Deadlock;
use crate::interrupt::Interrupted;
use crate::sync::Mutex;
use crate::unwind::{DiscardOnDrop, catch};

/// The reason why a `get` has no value.
///
/// `Failed` and `Cancelled` are the end of the task, and every later call returns the same. The others
/// concern one call only.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "ExecutionException")]
pub enum ExecutionError {
    /// The task panicked, or returned an error to a `…_fallible` submission.
    Failed(Failure),
    /// The task was cancelled, or will never run for another reason.
    Cancelled(Cancellation),
    /// The waiting thread was interrupted; its flag is clear, and the task goes on.
    Interrupted,
    /// The time limit passed; the task goes on, and a later call can return its value.
    #[doc(alias = "TimeoutException")]
    TimedOut,
    /// An earlier call has moved the value out of this handle.
    Taken,
    /// The wait was in a circle: the task waits for the one that waited for it, perhaps through others.
    /// The task goes on, and if the wait's own task ends, so can the others.
    Deadlock(Deadlock),
}

/// Why a wait for a task ended without the task being done, other than by its time limit.
#[derive(Debug)]
pub(crate) enum WaitError {
    Interrupted,
    Deadlock(Deadlock),
}

impl WaitError {
    /// Returns the error of a wait that can report nothing else.
    pub(crate) fn into_interrupted(self) -> Interrupted {
        Interrupted
    }
}

impl From<Interrupted> for WaitError {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<Deadlock> for WaitError {
    fn from(deadlock: Deadlock) -> Self {
        Self::Deadlock(deadlock)
    }
}

impl From<WaitError> for ExecutionError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Interrupted => Self::Interrupted,
            WaitError::Deadlock(deadlock) => Self::Deadlock(deadlock),
        }
    }
}

/// The reason why a task has no result though its code did not fail.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::task::Cancellation;
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let periodic = pool.schedule_at_fixed_rate(Duration::ZERO, Duration::from_secs(60), || ()).unwrap();
/// pool.close();
/// assert_eq!(periodic.cancellation(), Some(Cancellation::Shutdown));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
#[doc(alias = "CancellationException")]
pub enum Cancellation {
    /// It was cancelled through a handle.
    Requested,
    /// Its executor rejected it.
    Rejected,
    /// A rejection policy discarded it.
    Discarded,
    /// A rejection policy discarded it in favour of a newer task.
    Evicted,
    /// `shutdown_now` returned it, and it was dropped without being run.
    Drained,
    /// It was removed from the queue, and dropped without being run.
    Removed,
    /// Its runnable half was dropped without being run.
    Dropped,
    /// Its pool was shut down, and does not run tasks of its kind any more.
    Shutdown,
    /// Its pool was dropped.
    PoolDropped,
    /// It was not done within the limit of an `invoke_…_timeout`, or a run took longer than its
    /// [`run_limit`](super::TaskBuilder::run_limit).
    TimedOut,
    /// Another task of an `invoke_any` completed first.
    Superseded,
    /// Its calendar has no further time.
    ScheduleEnded,
    /// Its handle was dropped, and was set to [`cancel_on_drop`](super::TaskHandle::cancel_on_drop).
    HandleDropped,
    /// Its executor had no thread to run it, and could not create one.
    NoThread,
    /// Another task of its group failed.
    Sibling,
    /// The task that submitted it was cancelled.
    Parent,
    /// A [`CancelToken`](super::CancelToken) was cancelled.
    Token,
    /// Its [`deadline`](super::TaskBuilder::deadline) or its
    /// [`queue_limit`](super::TaskBuilder::queue_limit) passed before it was started.
    Expired,
    /// Its pool sheds load, since tasks wait too long; see `pool::Codel`.
    Shed,
}

impl Cancellation {
    const ALL: [Self; 19] = [
        Self::Requested,
        Self::Rejected,
        Self::Discarded,
        Self::Evicted,
        Self::Drained,
        Self::Removed,
        Self::Dropped,
        Self::Shutdown,
        Self::PoolDropped,
        Self::TimedOut,
        Self::Superseded,
        Self::ScheduleEnded,
        Self::HandleDropped,
        Self::NoThread,
        Self::Sibling,
        Self::Parent,
        Self::Token,
        Self::Expired,
        Self::Shed,
    ];

    /// How many bits a [`code`](Self::code) takes.
    pub(super) const CODE_BITS: u32 = 5;

    /// Returns the number that stands for the reason in the state word of a task.
    pub(super) const fn code(self) -> u64 {
        const { assert!(Self::ALL.len() <= 1 << Self::CODE_BITS) };
        self as u64
    }

    /// Returns the reason with this [`code`](Self::code).
    pub(super) const fn from_code(code: u64) -> Self {
        if (code as usize) < Self::ALL.len() {
            Self::ALL[code as usize]
        } else {
            Self::Dropped
        }
    }
}

impl ExecutionError {
    /// Returns whether the task panicked or returned an error.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Returns whether the task was cancelled or will never run.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// Returns whether the waiting thread was interrupted.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted)
    }

    /// Returns whether the time limit passed.
    #[must_use]
    pub const fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut)
    }

    /// Returns whether an earlier call has moved the value out.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        matches!(self, Self::Taken)
    }

    /// Returns whether the wait was in a circle of waits.
    #[must_use]
    pub const fn is_deadlock(&self) -> bool {
        matches!(self, Self::Deadlock(_))
    }

    /// Returns the circle of waits that the wait was in, if it was in one.
    #[must_use]
    pub const fn deadlock(&self) -> Option<&Deadlock> {
        match self {
            Self::Deadlock(deadlock) => Some(deadlock),
            _ => None,
        }
    }

    /// Returns what made the task fail, if it failed.
    #[must_use]
    #[doc(alias = "getCause")]
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Converts the error into what made the task fail, if it failed.
    #[must_use]
    #[doc(alias = "getCause")]
    pub fn into_failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Returns why the task was cancelled, if it was.
    #[must_use]
    pub const fn cancellation(&self) -> Option<Cancellation> {
        match self {
            Self::Cancelled(why) => Some(*why),
            _ => None,
        }
    }
}

impl From<Interrupted> for ExecutionError {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
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
            Self::Deadlock(circle) => write!(f, "the tasks wait in a circle: {circle}"),
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
            Self::Rejected => "its executor rejected it",
            Self::Discarded => "the rejection policy discarded it",
            Self::Evicted => "the rejection policy discarded it in favour of a newer task",
            Self::Drained => "it was drained by shutdown_now and never run",
            Self::Removed => "it was removed from the queue and never run",
            Self::Dropped => "it was dropped before it ran",
            Self::Shutdown => "its pool was shut down",
            Self::PoolDropped => "its pool was dropped",
            Self::TimedOut => "it was not done within the time limit",
            Self::Superseded => "another task completed first",
            Self::ScheduleEnded => "its calendar has no further time",
            Self::HandleDropped => "its handle was dropped",
            Self::NoThread => "no thread could be created to run it",
            Self::Sibling => "another task of its group failed",
            Self::Parent => "the task that submitted it was cancelled",
            Self::Token => "its token was cancelled",
            Self::Expired => "its time was up before it was started",
            Self::Shed => "its pool sheds load",
        })
    }
}

/// The cause of a task's failure: the payload of its panic, or the error that it returned.
///
/// Clones share the cause. Two failures are equal if they are the same failure of the same task.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, handle) = Task::with_handle(|| -> u32 { panic!("no such row") });
/// task.run();
/// let failure = handle.join().unwrap_err().into_failure().unwrap();
/// assert!(failure.is_panic());
/// assert_eq!(failure.message(), Some("no such row"));
/// ```
#[derive(Clone)]
pub struct Failure(Arc<Inner>);

struct Inner {
    cause: Cause,
    /// How many attempts there were, of a task that was tried again.
    attempts: Option<NonZeroU64>,
}

impl From<Cause> for Inner {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            attempts: None,
        }
    }
}

enum Cause {
    Panic {
        message: Option<Cow<'static, str>>,
        /// Behind a lock because a payload is `Send` but not `Sync`.
        payload: Mutex<DiscardOnDrop<Box<dyn Any + Send>>>,
    },
    Error(DiscardOnDrop<Box<dyn Error + Send + Sync>>),
}

impl Failure {
    /// Creates a failure by an error. An error that is a `Failure` is returned as it is.
    pub fn from_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self(Arc::new(Cause::Error(DiscardOnDrop::new(error)).into())),
        }
    }

    /// Creates a failure by a panic with this payload.
    #[must_use]
    pub fn from_panic(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast_ref::<&'static str>() {
            Some(text) => Some(Cow::Borrowed(*text)),
            None => payload
                .downcast_ref::<String>()
                .map(|text| Cow::Owned(text.clone())),
        };
        let cause = Cause::Panic {
            message,
            payload: Mutex::new(DiscardOnDrop::new(payload)),
        };
        Self(Arc::new(cause.into()))
    }

    /// Records how many attempts there were. A failure that others have already is left as it is.
    pub(crate) fn after_attempts(mut self, attempts: u64) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.attempts = NonZeroU64::new(attempts);
        }
        self
    }

    /// Returns how many attempts there were, if the task was submitted with a
    /// [`Retry`](crate::scheduled::Retry).
    #[must_use]
    pub fn attempts(&self) -> Option<u64> {
        self.0.attempts.map(NonZeroU64::get)
    }

    fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Returns whether the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.cause(), Cause::Panic { .. })
    }

    /// Returns the error that the task returned, if it did not panic.
    #[must_use]
    pub fn error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match self.cause() {
            Cause::Error(error) => error.get().map(|error| &**error),
            Cause::Panic { .. } => None,
        }
    }

    /// Returns the message of the panic, if its payload is a string.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self.cause() {
            Cause::Panic { message, .. } => message.as_deref(),
            Cause::Error(_) => None,
        }
    }

    /// Calls `inspect` with the payload of the panic. Returns `None` if there is none, if it was taken,
    /// or if another thread inspects it at the same time.
    pub fn with_payload<R>(&self, inspect: impl FnOnce(&(dyn Any + Send)) -> R) -> Option<R> {
        match self.cause() {
            Cause::Panic { payload, .. } => {
                // User code must not run under the lock: the payload is out of it meanwhile.
                let taken = payload.lock().take()?;
                let seen = catch(|| inspect(&*taken));
                payload.lock().put(taken);
                Some(seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }
            Cause::Error(_) => None,
        }
    }

    /// Takes the payload of the panic. Only the first call on any clone returns it.
    #[must_use]
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        match self.cause() {
            Cause::Panic { payload, .. } => payload.lock().take(),
            Cause::Error(_) => None,
        }
    }

    /// Continues the panic with the task's payload, or with a description if there is none.
    ///
    /// # Panics
    ///
    /// Always.
    pub fn resume_unwind(self) -> ! {
        let payload = self.take_payload();
        std::panic::resume_unwind(payload.unwrap_or_else(|| Box::new(self.to_string())))
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Failure {}

/// Displayed as the error that it wraps, whose source is its source.
impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error()?.source()
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause() {
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
        match self.cause() {
            Cause::Error(error) => error.get().map_or(Ok(()), |error| error.fmt(f)),
            Cause::Panic {
                message: Some(message),
                ..
            } => write!(f, "panicked: {message}"),
            Cause::Panic { message: None, .. } => f.write_str("panicked"),
        }?;
        match self.attempts() {
            None => Ok(()),
            Some(1) => f.write_str(" (after 1 attempt)"),
            Some(attempts) => write!(f, " (after {attempts} attempts)"),
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::Cancellation;

    #[test]
    fn every_reason_comes_back_from_its_code() {
        for why in Cancellation::ALL {
            assert_eq!(Cancellation::from_code(why.code()), why);
        }
        assert_eq!(Cancellation::from_code(31), Cancellation::Dropped);
    }
}
