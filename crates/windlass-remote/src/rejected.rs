//! A submission that was refused, with what was submitted.

use crate::engine::{EngineError, Refusal};
use crate::id::InvalidName;
use std::fmt;

/// Why nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectedReason {
    /// The queue holds as many waiting tasks as it may.
    Full {
        /// How many it may hold.
        capacity: u64,
    },
    /// The queue was closed for everybody.
    Closed,
    /// This executor was shut down.
    Shutdown,
    /// The payload has more bytes than allowed.
    TooLarge {
        /// How many it has.
        size: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// The payload has no form in the codec.
    Encode(String),
    /// The wire name of the type, or the name of a schedule, is not one.
    Name(InvalidName),
    /// The rule of a schedule makes no sense.
    Schedule(String),
    /// The engine did not confirm in time. The task **may** be in the queue; to be sure, submit it again with the same id.
    Engine(EngineError),
    /// The thread was interrupted before the engine had confirmed. The task **may** be in the queue.
    Interrupted,
}

impl From<Refusal> for RejectedReason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full { capacity } => Self::Full { capacity },
            Refusal::Closed => Self::Closed,
        }
    }
}

impl fmt::Display for RejectedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { capacity } => write!(f, "the queue is full with {capacity} tasks"),
            Self::Closed => f.write_str("the queue is closed"),
            Self::Shutdown => f.write_str("the executor is shut down"),
            Self::TooLarge { size, limit } => {
                write!(
                    f,
                    "the payload has {size} bytes, more than the {limit} allowed"
                )
            }
            Self::Encode(error) => write!(f, "the payload cannot be encoded: {error}"),
            Self::Name(error) => error.fmt(f),
            Self::Schedule(error) => write!(f, "the schedule is invalid: {error}"),
            Self::Engine(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// The error of a submission: the reason, and the task itself.
///
/// ```
/// # use windlass_remote::{LocalExecutor, RejectedReason, RemoteTask, TaskCx, TaskError, TaskExecutorService};
/// # #[derive(Debug, serde::Serialize, serde::Deserialize)] struct Add(u32, u32);
/// # impl RemoteTask for Add {
/// #     const NAME: &'static str = "add";
/// #     type Output = u32;
/// #     fn run(self, _: &TaskCx) -> Result<u32, TaskError> { Ok(self.0 + self.1) }
/// # }
/// # let executor = LocalExecutor::fixed(1)?;
/// executor.shutdown();
/// let rejected = executor.submit_task(Add(1, 2)).unwrap_err();
/// assert_eq!(*rejected.reason(), RejectedReason::Shutdown);
/// let Add(1, 2) = rejected.into_task() else { panic!() };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rejected<T> {
    task: T,
    reason: RejectedReason,
}

impl<T> Rejected<T> {
    pub(crate) const fn new(task: T, reason: RejectedReason) -> Self {
        Self { task, reason }
    }

    /// Returns the reason.
    pub const fn reason(&self) -> &RejectedReason {
        &self.reason
    }

    /// Returns what was not submitted; of several tasks, those that the queue did not take.
    pub fn into_task(self) -> T {
        self.task
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task rejected: {}", self.reason)
    }
}

impl<T> std::error::Error for Rejected<T> {}
