//! What happens to a task that a pool cannot take.

use std::sync::Arc;
use std::time::Duration;

use crate::executor::{RejectedExecution, RejectionReason};
use crate::queue::BlockingQueue;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, arc_dyn};
use crate::task::{Cancellation, Task};

/// Decides about a task that a pool cannot take: it is shut down, or its queue is full and it has
/// as many workers as it may have.
///
/// Closures `Fn(Task, &dyn Saturated) -> Result<(), RejectedExecution>` are handlers too. A handler
/// is called on the submitter's thread, without any lock held.
///
/// ```
/// use windlass::pool::Saturated;
/// use windlass::prelude::*;
/// use windlass::task::Task;
/// use windlass::{RejectedExecution, RejectionReason};
///
/// let handler = |task: Task, pool: &dyn Saturated| {
///     eprintln!("{task:?} refused by {}", pool.describe());
///     Err(RejectedExecution::new(task, RejectionReason::Other))
/// };
/// let pool = ThreadPoolExecutor::builder().rejection_handler(handler).build().unwrap();
/// # drop(pool);
/// ```
pub trait RejectedExecutionHandler: Send + Sync {
    /// Takes charge of the task.
    ///
    /// # Errors
    ///
    /// What the submitter gets to see, with the task.
    #[doc(alias = "rejectedExecution")]
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution>;
}

/// What a handler sees of the pool that refused a task.
pub trait Saturated {
    /// Whether the pool takes nothing any more, as opposed to nothing right now.
    fn is_shutdown(&self) -> bool;

    /// The pool's queue.
    fn queue(&self) -> &dyn BlockingQueue<Task>;

    /// Tries once more to have the task run, without a handler.
    ///
    /// # Errors
    ///
    /// The task, if it is refused again.
    fn try_execute(&self, task: Task) -> Result<(), Task>;

    /// Waits until the task has been taken, for as long as `timeout`, or for ever without one.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], when the pool is shut down, the time is up, or the submitter is
    /// interrupted.
    fn execute_when_possible(
        &self,
        task: Task,
        timeout: Option<Duration>,
    ) -> Result<(), RejectedExecution>;

    /// The pool in words.
    fn describe(&self) -> String;
}

impl<F> RejectedExecutionHandler for F
where
    F: Fn(Task, &dyn Saturated) -> Result<(), RejectedExecution> + Send + Sync,
{
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        self(task, pool)
    }
}

impl<H: RejectedExecutionHandler + ?Sized> RejectedExecutionHandler for Arc<H> {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        (**self).rejected(task, pool)
    }
}

/// Returns the handler as the pool keeps it.
pub(super) fn shared(
    handler: impl RejectedExecutionHandler + 'static,
) -> Arc<dyn RejectedExecutionHandler> {
    arc_dyn(handler, |handler| {
        Arc::new(handler) as Arc<dyn RejectedExecutionHandler>
    })
}

/// Gives the task back, with what the pool looked like: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct AbortPolicy;

impl RejectedExecutionHandler for AbortPolicy {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        Err(RejectedExecution::new(task, reason(pool)).with_executor(pool.describe()))
    }
}

/// Runs the task on the thread that submits it, which slows the submitter down.
///
/// Such a run calls no hooks and counts nowhere; a task without a handle that panics does so in the
/// submitter. After shutdown the task is dropped, and its handle says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallerRunsPolicy;

impl RejectedExecutionHandler for CallerRunsPolicy {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        if pool.is_shutdown() {
            task.abandon(Cancellation::Discarded);
        } else {
            task.run();
        }
        Ok(())
    }
}

/// Drops the task; its handle says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardPolicy;

impl RejectedExecutionHandler for DiscardPolicy {
    fn rejected(&self, task: Task, _pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        task.abandon(Cancellation::Discarded);
        Ok(())
    }
}

/// Drops the task that would run next, and takes the new one instead.
///
/// Where there is nothing to drop, with a hand-off queue or after shutdown, the new task is
/// dropped. The handles of dropped tasks say so.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardOldestPolicy;

impl RejectedExecutionHandler for DiscardOldestPolicy {
    fn rejected(&self, mut task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        loop {
            let oldest = if pool.is_shutdown() {
                None
            } else {
                pool.queue().poll()
            };
            let Some(oldest) = oldest else {
                task.abandon(Cancellation::Discarded);
                return Ok(());
            };
            oldest.abandon(Cancellation::Evicted);
            match pool.try_execute(task) {
                Ok(()) => return Ok(()),
                Err(refused) => task = refused,
            }
        }
    }
}

/// Makes the submitter wait until the pool has taken the task, or for no longer than a time.
///
/// The wait ends with a refusal when the pool is shut down, the time is up, or the submitter is
/// interrupted.
///
/// # Deadlocks
///
/// A worker that submits to its own full pool waits for room that it would have to make itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockPolicy {
    timeout: Option<Duration>,
}

impl BlockPolicy {
    /// Waits for as long as it takes.
    #[must_use]
    pub const fn new() -> Self {
        Self { timeout: None }
    }

    /// Waits for no longer than `timeout`.
    #[must_use]
    pub const fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
        }
    }
}

impl RejectedExecutionHandler for BlockPolicy {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        pool.execute_when_possible(task, self.timeout)
    }
}

/// The handler in force.
///
/// The one that the pool was built with is read without a lock for as long as no other has taken
/// its place, which is mostly for ever: a full pool calls it for every task. It lives as long as
/// the pool does.
pub(crate) struct HandlerCell {
    first: Arc<dyn RejectedExecutionHandler>,
    /// Set after `later` has been; the lock orders the two for who looks there.
    is_replaced: AtomicBool,
    later: Mutex<Option<Arc<dyn RejectedExecutionHandler>>>,
}

impl HandlerCell {
    pub(crate) fn new(first: Arc<dyn RejectedExecutionHandler>) -> Self {
        Self {
            first,
            is_replaced: AtomicBool::new(false),
            later: Mutex::new(None),
        }
    }

    /// Shows the handler to `f`, without a lock held.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Arc<dyn RejectedExecutionHandler>) -> R) -> R {
        if !self.is_replaced.load(Ordering::Acquire) {
            return f(&self.first);
        }
        let later = self.later.lock().clone();
        f(later.as_ref().unwrap_or(&self.first))
    }

    pub(crate) fn set(&self, handler: Arc<dyn RejectedExecutionHandler>) {
        let former = self.later.lock().replace(handler);
        self.is_replaced.store(true, Ordering::Release);
        drop(former);
    }
}

fn reason(pool: &dyn Saturated) -> RejectionReason {
    if pool.is_shutdown() {
        RejectionReason::Shutdown
    } else {
        RejectionReason::Saturated
    }
}
