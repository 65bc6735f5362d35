//! The hooks that a pool calls around every task, and what they are told.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::task::{Attributes, Failure, Task, TaskId};

/// Methods that a pool calls around every task that it runs, and at its termination.
///
/// A fork-join pool calls them for tasks that were submitted or forked, not for the closures of `join` and
/// `scope`.
///
/// They are called without any lock held, on the worker's thread, and may use the pool. A pool
/// without hooks does not pay for them.
///
/// After a panic of `before_execute` the task does not run. A panic of `before_execute` or
/// `after_execute` is passed to the pool's uncaught handler, and the worker is replaced, unless the
/// pool [reuses workers](crate::pool::Builder::reuse_worker_after_panic). A worker of a
/// [`ForkJoinPool`](crate::forkjoin::ForkJoinPool) goes on.
///
/// ```
/// use windlass::pool::{Hooks, Outcome, TaskInfo};
/// use windlass::prelude::*;
///
/// struct Log;
///
/// impl Hooks for Log {
///     fn wants_times(&self) -> bool {
///         true
///     }
///
///     fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
///         println!("{} ended as {outcome:?} after {:?}", task.id(), task.ran_for());
///     }
/// }
///
/// let pool = ThreadPoolExecutor::builder().core_pool_size(1).hooks(Log).build().unwrap();
/// pool.submit(|| ()).unwrap().join().unwrap();
/// ```
pub trait Hooks: Send + Sync {
    /// Returns whether [`TaskInfo`] contains times; called once, by
    /// [`Builder::hooks`](crate::pool::Builder::hooks).
    ///
    /// Without them a pool reads no clock for its hooks, and a task does not store the time of its
    /// submission: such hooks cost little more than their calls.
    fn wants_times(&self) -> bool {
        false
    }

    /// Called before the task runs on this thread.
    fn before_execute(&self, task: &TaskInfo) {
        let _ = task;
    }

    /// Called after the task has ended on this thread; it still counts as active.
    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        let _ = (task, outcome);
    }

    /// Called once, when no worker is left.
    ///
    /// A panic reaches the caller of the method that terminated the pool; on a worker it is passed to
    /// the uncaught handler. The pool is terminated nevertheless.
    fn terminated(&self) {}
}

impl<H: Hooks + ?Sized> Hooks for Arc<H> {
    fn wants_times(&self) -> bool {
        (**self).wants_times()
    }

    fn before_execute(&self, task: &TaskInfo) {
        (**self).before_execute(task);
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        (**self).after_execute(task, outcome);
    }

    fn terminated(&self) {
        (**self).terminated();
    }
}

/// How a task ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// It returned.
    Completed,
    /// It panicked, or returned an error to a `…_fallible` submission.
    Failed(Failure),
    /// It was cancelled, before or while it ran.
    Cancelled,
}

impl Outcome {
    /// Returns the failure, if the task failed.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

/// A description of a task, for hooks.
#[derive(Clone)]
pub struct TaskInfo {
    id: TaskId,
    attributes: Option<Arc<Attributes>>,
    has_handle: bool,
    queued_for: Option<Duration>,
    ran_for: Option<Duration>,
}

impl TaskInfo {
    pub(crate) fn of(task: &Task, queued_for: Option<Duration>) -> Self {
        Self {
            id: task.id(),
            attributes: task.attributes().cloned(),
            has_handle: task.has_handle(),
            queued_for,
            ran_for: None,
        }
    }

    pub(crate) fn set_ran_for(&mut self, time: Option<Duration>) {
        self.ran_for = time;
    }

    /// Returns the id of the task.
    #[must_use]
    pub const fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the name of the task.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.attributes.as_ref()?.name.as_deref()
    }

    /// Returns the priority of the task.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.attributes
            .as_ref()
            .map_or(0, |attributes| attributes.priority)
    }

    /// Returns the value of type `S` that was attached to the task.
    #[must_use]
    pub fn attachment<S: 'static>(&self) -> Option<&S> {
        self.attributes
            .as_ref()?
            .attachment
            .as_ref()?
            .downcast_ref()
    }

    /// Returns whether the body of the task enters a span of `tracing` that its submitter was in.
    #[cfg(feature = "tracing")]
    pub(crate) fn enters_span(&self) -> bool {
        self.attributes
            .as_ref()
            .is_some_and(|attributes| attributes.enters_span)
    }

    /// Returns whether the task has a handle, which receives its value or failure.
    #[must_use]
    pub const fn has_handle(&self) -> bool {
        self.has_handle
    }

    /// Returns how long the task waited from its submission to its start, for hooks that
    /// [want times](Hooks::wants_times).
    #[must_use]
    pub const fn queued_for(&self) -> Option<Duration> {
        self.queued_for
    }

    /// Returns how long the task ran, for hooks that [want times](Hooks::wants_times), after its end.
    #[must_use]
    pub const fn ran_for(&self) -> Option<Duration> {
        self.ran_for
    }
}

impl fmt::Debug for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskInfo")
            .field("id", &self.id.as_u64())
            .field("name", &self.name())
            .field("queued_for", &self.queued_for)
            .field("ran_for", &self.ran_for)
            .finish_non_exhaustive()
    }
}
