//! The handle of a task that is due later, or again and again.

use std::cmp::Ordering;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::executor::RejectedExecution;
use crate::task::{ExecutionError, TaskControl, TaskHandle, TaskId, TaskState, Timer};

/// Waits for a scheduled task, and knows when it is due.
///
/// For a periodic task a get comes back when the task has ended: it failed, or was cancelled.
/// **Dropping the handle detaches the task**, which runs, and goes on running, all the same.
///
/// ```
/// use std::time::Duration;
/// use windlass::scheduled::{Schedule, ScheduledThreadPoolExecutor};
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let mut late = pool.schedule(Duration::from_millis(5), || "now").unwrap();
/// assert!(late.delay() <= Duration::from_millis(5));
/// assert_eq!(late.get().unwrap(), "now");
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
#[doc(alias = "ScheduledFuture")]
pub struct ScheduledHandle<T> {
    handle: TaskHandle<T>,
}

impl<T> ScheduledHandle<T> {
    pub(super) fn timer(&self) -> &Timer {
        let timer = self.handle.timer();
        timer.expect("a scheduled task has a timer")
    }
}

impl<T: Send + 'static> ScheduledHandle<T> {
    /// For the handle of a task that was built with a schedule.
    pub(super) const fn new(handle: TaskHandle<T>) -> Self {
        Self { handle }
    }

    /// How long it is until the task is due next; zero if it is due, or overdue.
    #[must_use]
    #[doc(alias = "getDelay")]
    pub fn delay(&self) -> Duration {
        self.timer().delay()
    }

    /// Compares by due time, and equal times by the order of scheduling.
    #[must_use]
    #[doc(alias = "compareTo")]
    pub fn cmp_due<U>(&self, other: &ScheduledHandle<U>) -> Ordering {
        let key = |timer: &Timer| (timer.due(), timer.sequence());
        key(self.timer()).cmp(&key(other.timer()))
    }

    /// Whether the task runs again and again.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.timer().is_periodic()
    }

    /// How many runs of a periodic task have ended, the one that failed included.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.timer().run_count()
    }

    /// Waits for the task and gives its value.
    ///
    /// # Errors
    ///
    /// As [`TaskHandle::get`]; for a periodic task always one.
    pub fn get(&mut self) -> Result<T, ExecutionError> {
        self.handle.get()
    }

    /// Waits for the task, but no longer than `timeout`, and gives its value.
    ///
    /// # Errors
    ///
    /// As [`TaskHandle::get_timeout`].
    pub fn get_timeout(&mut self, timeout: Duration) -> Result<T, ExecutionError> {
        self.handle.get_timeout(timeout)
    }

    /// The outcome if the task is done, without waiting.
    pub fn try_get(&mut self) -> Option<Result<T, ExecutionError>> {
        self.handle.try_get()
    }

    /// Cancels the task; a run under way ends undisturbed, and none follows.
    pub fn cancel(&self) -> bool {
        self.handle.cancel()
    }

    /// Cancels the task, and interrupts a run under way.
    pub fn cancel_now(&self) -> bool {
        self.handle.cancel_now()
    }

    /// Whether the task has ended, in whatever way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.handle.is_done()
    }

    /// Whether the task was cancelled or will never run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.handle.is_cancelled()
    }

    /// How far the task has come; a periodic one is queued between its runs.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.handle.state()
    }

    /// Identifies the task; all its runs have the same id.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.handle.id()
    }

    /// A handle that can cancel the task and watch it, and be passed on.
    #[must_use]
    pub fn control(&self) -> TaskControl {
        self.handle.control()
    }

    /// The plain handle, without the schedule.
    pub fn into_handle(self) -> TaskHandle<T> {
        self.handle
    }
}

impl<T: Send + 'static> From<&ScheduledHandle<T>> for TaskId {
    fn from(handle: &ScheduledHandle<T>) -> Self {
        handle.id()
    }
}

impl<T> From<RejectedExecution<ScheduledHandle<T>>> for RejectedExecution {
    fn from(rejected: RejectedExecution<ScheduledHandle<T>>) -> Self {
        rejected.without_handle()
    }
}

impl<T: Send + 'static> Future for ScheduledHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(context)
    }
}

impl<T> fmt::Debug for ScheduledHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledHandle")
            .field("handle", &self.handle)
            .field("timer", self.timer())
            .finish()
    }
}
