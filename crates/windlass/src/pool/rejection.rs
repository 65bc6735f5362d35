//! Policies for tasks that a pool cannot accept.

use std::sync::Arc;
use std::time::Duration;

use super::tally::policy_index;
use crate::executor::{RejectedExecution, RejectionReason, limit_of, run_by};
use crate::queue::BlockingQueue;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, arc_dyn};
use crate::task::{Cancellation, Task};

/// A policy for tasks that a pool cannot accept: it is shut down, its queue is full and it has its
/// maximum number of workers, or it has no worker and no thread can be created.
///
/// Closures `Fn(Task, &dyn Saturated) -> Result<(), RejectedExecution>` are handlers too. A handler
/// is called on the submitter's thread, without any lock held. A handler of your own can call a
/// stock policy:
///
/// ```
/// use windlass::pool::{CallerRunsPolicy, RejectedExecutionHandler, Saturated};
/// use windlass::prelude::*;
/// use windlass::task::Task;
///
/// let log_and_run = |task: Task, pool: &dyn Saturated| {
///     eprintln!("{task:?} rejected by {} ({:?})", pool.describe(), pool.reason());
///     CallerRunsPolicy.rejected(task, pool)
/// };
/// let pool = ThreadPoolExecutor::builder().rejection_handler(log_and_run).build().unwrap();
/// # drop(pool);
/// ```
pub trait RejectedExecutionHandler: Send + Sync {
    /// Decides about the task: runs it, drops it, submits it again, or returns it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`] with the task, which the submitter receives.
    #[doc(alias = "rejectedExecution")]
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution>;

    /// Returns the name of the policy, by which a console shows it and rejections are counted.
    fn name(&self) -> &str {
        "custom"
    }
}

/// The interface of a pool that rejects a task, for its rejection handler.
pub trait Saturated {
    /// Returns whether the pool is shut down, and will never accept the task.
    fn is_shutdown(&self) -> bool;

    /// Returns why the pool cannot accept the task.
    fn reason(&self) -> RejectionReason {
        if self.is_shutdown() {
            RejectionReason::Shutdown
        } else {
            RejectionReason::Saturated
        }
    }

    /// Returns the pool's queue.
    #[doc(alias = "getQueue")]
    fn queue(&self) -> &dyn BlockingQueue<Task>;

    /// Tries once more to submit the task, without calling a handler.
    ///
    /// # Errors
    ///
    /// The task, if the pool cannot accept it.
    fn try_execute(&self, task: Task) -> Result<(), Task>;

    /// Waits until the pool has accepted the task, no longer than `timeout`, forever without one.
    ///
    /// A time limit of the submission ends the wait too.
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

    /// Returns the pool's `Debug` output: its name, state and figures.
    fn describe(&self) -> String;

    /// Calls `run`, which runs a task of the pool on this thread: if the task waits for another task of
    /// the pool, this thread runs that one too, as a worker would.
    fn run_here(&self, run: &mut dyn FnMut()) {
        run();
    }
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

    fn name(&self) -> &str {
        (**self).name()
    }
}

/// Converts the handler into the `Arc` that the pool stores.
pub(super) fn shared(
    handler: impl RejectedExecutionHandler + 'static,
) -> Arc<dyn RejectedExecutionHandler> {
    arc_dyn(handler, |handler| {
        Arc::new(handler) as Arc<dyn RejectedExecutionHandler>
    })
}

/// A policy that returns the task to the submitter, with the pool's state: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct AbortPolicy;

impl RejectedExecutionHandler for AbortPolicy {
    fn name(&self) -> &str {
        "abort"
    }

    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        Err(RejectedExecution::new(task, pool.reason()).with_executor(pool.describe()))
    }
}

/// A policy that runs the task on the thread that submits it, which slows the submitter down.
///
/// Such a run calls no hooks and is not counted; a panic of a task without a handle reaches the
/// submitter. After shutdown the task is cancelled instead.
///
/// A submission with a time limit, as [`invoke_all_timeout`](crate::Submit::invoke_all_timeout) makes
/// it, cannot leave a task that it runs itself. It starts a thread for the task and waits for it until
/// the limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallerRunsPolicy;

impl RejectedExecutionHandler for CallerRunsPolicy {
    fn name(&self) -> &str {
        "caller_runs"
    }

    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        if pool.is_shutdown() {
            task.abandon(Cancellation::Shutdown);
        } else {
            let deadline = limit_of(&task);
            let mut task = Some(task);
            pool.run_here(&mut || {
                if let Some(task) = task.take() {
                    run_by(task, deadline);
                }
            });
        }
        Ok(())
    }
}

/// A policy that discards the task; its handle completes as cancelled.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardPolicy;

impl RejectedExecutionHandler for DiscardPolicy {
    fn name(&self) -> &str {
        "discard"
    }

    fn rejected(&self, task: Task, _pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        task.abandon(Cancellation::Discarded);
        Ok(())
    }
}

/// A policy that evicts the task that would run next, and submits the new one instead.
///
/// Where there is nothing to evict, with a hand-off queue or after shutdown, the new task is
/// discarded. The handles of such tasks complete as cancelled.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardOldestPolicy;

impl RejectedExecutionHandler for DiscardOldestPolicy {
    fn name(&self) -> &str {
        "discard_oldest"
    }

    fn rejected(&self, mut task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        loop {
            if pool.is_shutdown() {
                task.abandon(Cancellation::Shutdown);
                return Ok(());
            }
            let Some(oldest) = pool.queue().poll() else {
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

/// A policy that makes the submitter wait until the pool accepts the task, or until a time limit.
///
/// The wait ends with a rejection when the pool is shut down, the time is up, or the submitter is
/// interrupted.
///
/// # Deadlocks
///
/// A worker that submits to its own full pool can wait forever: all workers may wait for room in a
/// queue that only they empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockPolicy {
    timeout: Option<Duration>,
}

impl BlockPolicy {
    /// Creates a policy without a time limit.
    #[must_use]
    pub const fn new() -> Self {
        Self { timeout: None }
    }

    /// Creates a policy that waits no longer than `timeout`.
    #[must_use]
    pub const fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
        }
    }
}

impl RejectedExecutionHandler for BlockPolicy {
    fn name(&self) -> &str {
        "block"
    }

    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        pool.execute_when_possible(task, self.timeout)
    }
}

/// The current handler, which can be replaced.
///
/// A full pool reads it for every task. Most pools never replace their first handler, so that one is
/// read without a lock until then. It is not dropped before the pool is.
pub(crate) struct HandlerCell {
    first: Arc<dyn RejectedExecutionHandler>,
    /// Stored after `later` is set, so a thread that loads true finds a handler in `later`.
    is_replaced: AtomicBool,
    /// The index of the counter of its rejections.
    policy: AtomicUsize,
    later: Mutex<Option<Arc<dyn RejectedExecutionHandler>>>,
}

impl HandlerCell {
    pub(crate) fn new(first: Arc<dyn RejectedExecutionHandler>) -> Self {
        Self {
            policy: AtomicUsize::new(policy_index(first.name())),
            first,
            is_replaced: AtomicBool::new(false),
            later: Mutex::new(None),
        }
    }

    /// Returns the index of the counter of its rejections.
    pub(super) fn policy(&self) -> usize {
        self.policy.load(Ordering::Relaxed)
    }

    /// Calls `f` with the handler, without a lock held.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Arc<dyn RejectedExecutionHandler>) -> R) -> R {
        if !self.is_replaced.load(Ordering::Acquire) {
            return f(&self.first);
        }
        let later = self.later.lock().clone();
        f(later.as_ref().unwrap_or(&self.first))
    }

    pub(crate) fn set(&self, handler: Arc<dyn RejectedExecutionHandler>) {
        let policy = policy_index(handler.name());
        let former = self.later.lock().replace(handler);
        self.policy.store(policy, Ordering::Relaxed);
        self.is_replaced.store(true, Ordering::Release);
        drop(former);
    }
}
