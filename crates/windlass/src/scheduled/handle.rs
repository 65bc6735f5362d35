//! The handle of a scheduled task.

use std::cmp::Ordering;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::executor::RejectedExecution;
use crate::task::{
    Awaitable, CancelMode, Cancellation, ExecutionError, Failure, Handle, Head, OwningHandle, Ref,
    ShareableHandle, SharedHandle, TaskControl, TaskHandle, TimerView, Untyped, handle_methods,
    owning_handle_methods,
};

/// The handle of a scheduled task, with access to its due time.
///
/// For a periodic task `get` and `join` return when the task has ended: it failed, or was cancelled.
/// **Dropping the handle detaches the task**: it still runs, and a periodic one continues to repeat.
///
/// ```
/// use std::time::Duration;
/// use windlass::scheduled::{Schedule, ScheduledThreadPoolExecutor};
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let late = pool.schedule(Duration::from_millis(5), || "now").unwrap();
/// assert!(late.delay() <= Duration::from_millis(5));
/// assert_eq!(late.join().unwrap(), "now");
/// ```
#[must_use = "dropping the handle detaches the task: its value and its failure go unseen"]
#[doc(alias = "ScheduledFuture")]
pub struct ScheduledHandle<T> {
    handle: TaskHandle<T>,
}

impl<T> ScheduledHandle<T> {
    pub(super) fn timer(&self) -> TimerView<'_> {
        let timer = self.handle.timer();
        timer.expect("a scheduled task has a timer")
    }
}

impl<T: Send + 'static> ScheduledHandle<T> {
    /// Wraps the handle of a task that was built with a timer.
    pub(super) const fn new(handle: TaskHandle<T>) -> Self {
        Self { handle }
    }

    /// Returns the time until the task is due next; zero if it is due or overdue.
    #[must_use]
    #[doc(alias = "getDelay")]
    pub fn delay(&self) -> Duration {
        self.timer().delay()
    }

    /// Compares by due time, and equal due times by the order of scheduling.
    #[must_use]
    #[doc(alias = "compareTo")]
    pub fn cmp_due<U>(&self, other: &ScheduledHandle<U>) -> Ordering {
        let key = |timer: TimerView<'_>| (timer.place().due(), timer.place().sequence());
        key(self.timer()).cmp(&key(other.timer()))
    }

    /// Returns whether the task repeats.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.timer().is_periodic()
    }

    /// Returns how many runs of a periodic task have ended, including one that failed.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.timer().run_count()
    }

    /// Returns how many attempts have ended, of a task that was submitted with a
    /// [`Retry`](super::Retry); of a periodic one, as [`runs`](Self::runs).
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.timer().run_count()
    }

    /// Returns how the last attempt failed, of a task that was submitted with a
    /// [`Retry`](super::Retry), also while it waits for the next attempt, and after that has succeeded.
    #[must_use]
    pub fn last_failure(&self) -> Option<Failure> {
        self.timer().last_failure()
    }

    /// Converts the handle into a plain one, without the timer.
    pub fn into_handle(self) -> TaskHandle<T> {
        self.handle
    }
}

impl<T> From<RejectedExecution<ScheduledHandle<T>>> for RejectedExecution {
    fn from(rejected: RejectedExecution<ScheduledHandle<T>>) -> Self {
        rejected.without_handle()
    }
}

impl<T> Handle for ScheduledHandle<T> {
    fn head(&self) -> &Head {
        self.handle.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.handle.to_untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.handle.cancel_for(mode, reason)
    }
}

impl<T> OwningHandle<T> for ScheduledHandle<T> {
    fn take_outcome(&mut self) -> Option<Result<T, ExecutionError>> {
        self.handle.take_outcome()
    }
}

impl<T> ShareableHandle<T> for ScheduledHandle<T> {
    fn into_shareable(self) -> Ref<dyn Awaitable<T>> {
        self.handle.into_shareable()
    }
}

handle_methods!([T: Send + 'static] ScheduledHandle<T>, control = TaskControl);
owning_handle_methods!([T: Send + 'static] ScheduledHandle<T>, value = T, shared = SharedHandle<T>);

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
            .field("timer", &self.timer())
            .finish()
    }
}
