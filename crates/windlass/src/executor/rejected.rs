//! A task that was rejected, and why.

use std::error::Error;
use std::fmt;

use crate::task::{Task, TaskHandle};

/// A task that an executor did not accept.
///
/// `H` is the handle of the task, where the submission would have returned one.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// pool.shutdown();
/// let rejected = pool.submit(|| 42).unwrap_err();
/// let (task, handle) = rejected.into_parts();
/// task.run();
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[doc(alias = "RejectedExecutionException")]
pub struct RejectedExecution<H = ()> {
    task: Task,
    handle: H,
    reason: RejectionReason,
    executor: Option<Box<str>>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Why a task was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectionReason {
    /// The executor is shut down.
    Shutdown,
    /// The queue is full, and the pool has its maximum number of workers.
    Saturated,
    /// A thread was needed and could not be created; the source of the error may have the cause.
    NoThread,
    /// There was no room within the time limit of the policy.
    TimedOut,
    /// The submitter was interrupted while it waited for room.
    Interrupted,
    /// A periodic task needs a period above zero.
    ZeroPeriod,
    /// A calendar has no time in the future.
    NeverDue,
    /// The rate of the executor allows no task now.
    RateLimited,
    /// A user-defined rejection handler rejected it for another reason.
    Other,
}

impl RejectedExecution {
    /// Creates the rejection of this task.
    #[must_use]
    pub fn new(task: Task, reason: RejectionReason) -> Self {
        Self {
            task,
            handle: (),
            reason,
            executor: None,
            source: None,
        }
    }

    /// Adds a description of the executor and its state.
    #[must_use]
    pub fn with_executor(mut self, description: impl Into<Box<str>>) -> Self {
        self.executor = Some(description.into());
        self
    }

    /// Adds the error that caused the rejection.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Replaces the task.
    pub(crate) fn replace_task(mut self, task: Task) -> Self {
        self.task = task;
        self
    }

    /// Adds the handle of the task.
    pub(crate) fn with_handle<H>(self, handle: H) -> RejectedExecution<H> {
        let Self {
            task,
            reason,
            executor,
            source,
            ..
        } = self;
        RejectedExecution {
            task,
            handle,
            reason,
            executor,
            source,
        }
    }
}

impl<H> RejectedExecution<H> {
    /// Returns the task, to be submitted again or run in place.
    pub fn into_task(self) -> Task {
        self.task
    }

    /// Returns the task and its handle.
    pub fn into_parts(self) -> (Task, H) {
        (self.task, self.handle)
    }

    /// Converts the rejection into the input of the task, where it was submitted with one; see
    /// [`Submit::submit_with`](crate::Submit::submit_with). The handle is dropped.
    ///
    /// # Errors
    ///
    /// The rejection, if the task has no input of this type.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// pool.shutdown();
    /// let lines = vec![String::from("not cloned")];
    /// let rejected = pool.submit_with(lines, |lines| lines.len()).unwrap_err();
    /// let lines: Vec<String> = rejected.into_input().unwrap();
    /// assert_eq!(lines, ["not cloned"]);
    /// ```
    pub fn into_input<I: 'static>(self) -> Result<I, Self> {
        let Self {
            task,
            handle,
            reason,
            executor,
            source,
        } = self;
        task.into_input().map_err(|task| Self {
            task,
            handle,
            reason,
            executor,
            source,
        })
    }

    /// Drops the handle, and keeps the rejection of the task.
    pub(crate) fn without_handle(self) -> RejectedExecution {
        let Self {
            task,
            reason,
            executor,
            source,
            ..
        } = self;
        RejectedExecution {
            task,
            handle: (),
            reason,
            executor,
            source,
        }
    }

    /// Returns a reference to the task.
    pub const fn task(&self) -> &Task {
        &self.task
    }

    /// Returns why the task was rejected.
    #[must_use]
    pub const fn reason(&self) -> RejectionReason {
        self.reason
    }

    /// Returns whether the executor was shut down.
    #[must_use]
    pub const fn is_shutdown(&self) -> bool {
        matches!(self.reason, RejectionReason::Shutdown)
    }

    /// Returns whether the queue was full and no worker could be added.
    #[must_use]
    pub const fn is_saturated(&self) -> bool {
        matches!(self.reason, RejectionReason::Saturated)
    }

    /// Returns whether a thread was needed and could not be created.
    #[must_use]
    pub const fn is_no_thread(&self) -> bool {
        matches!(self.reason, RejectionReason::NoThread)
    }

    /// Returns whether the time limit of the policy passed.
    #[must_use]
    pub const fn is_timed_out(&self) -> bool {
        matches!(self.reason, RejectionReason::TimedOut)
    }

    /// Returns whether the submitter was interrupted while it waited for room.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self.reason, RejectionReason::Interrupted)
    }

    /// Returns whether the period of a scheduled task was zero.
    #[must_use]
    pub const fn is_zero_period(&self) -> bool {
        matches!(self.reason, RejectionReason::ZeroPeriod)
    }

    /// Returns whether the schedule has no run in the future.
    #[must_use]
    pub const fn is_never_due(&self) -> bool {
        matches!(self.reason, RejectionReason::NeverDue)
    }

    /// Returns whether the rate of the executor allowed no task.
    #[must_use]
    pub const fn is_rate_limited(&self) -> bool {
        matches!(self.reason, RejectionReason::RateLimited)
    }

    /// Returns whether a rejection handler had a reason of its own.
    #[must_use]
    pub const fn is_other(&self) -> bool {
        matches!(self.reason, RejectionReason::Other)
    }

    /// Returns the description of the executor and its state, if there is one.
    #[must_use]
    pub fn executor(&self) -> Option<&str> {
        self.executor.as_deref()
    }
}

impl<T> From<RejectedExecution<TaskHandle<T>>> for RejectedExecution {
    fn from(rejected: RejectedExecution<TaskHandle<T>>) -> Self {
        rejected.without_handle()
    }
}

impl<H> fmt::Debug for RejectedExecution<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedExecution")
            .field("task", &self.task)
            .field("reason", &self.reason)
            .field("executor", &self.executor)
            .finish_non_exhaustive()
    }
}

impl<H> fmt::Display for RejectedExecution<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} rejected", self.task)?;
        if let Some(executor) = &self.executor {
            write!(f, " from {executor}")?;
        }
        f.write_str(match self.reason {
            RejectionReason::Shutdown => ": the executor is shut down",
            RejectionReason::Saturated => ": the queue is full and no worker may be added",
            RejectionReason::NoThread => ": no thread could be created",
            RejectionReason::TimedOut => ": there was no room in time",
            RejectionReason::Interrupted => ": the submitter was interrupted",
            RejectionReason::ZeroPeriod => ": a period must be above zero",
            RejectionReason::NeverDue => ": the calendar has no time in the future",
            RejectionReason::RateLimited => ": the rate of the executor is used up",
            RejectionReason::Other => ": rejected by the handler",
        })
    }
}

impl<H> Error for RejectedExecution<H> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
