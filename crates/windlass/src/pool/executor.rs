//! The public face of the pool: figures, settings, queued tasks, shutdown.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::ctl::RunState;
use super::rejection::{self, RejectedExecutionHandler};
use super::settings::ConfigError;
use super::shared::Shared;
use super::spawn::SizeLimit;
use super::stats::PoolStats;
use crate::executor::{Executor, ExecutorService, RejectedExecution};
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, CapacityError};
use crate::sync::mutant;
use crate::task::{Cancellation, Task, TaskBuilder, TaskId};
use crate::thread_factory::{self, ThreadFactory};

/// A pool of worker threads with core and maximum size, keep-alive, any work queue, rejection
/// policies, hooks, and everything changeable while it runs.
///
/// A submitted task starts a new worker while there are fewer than core; else it is queued; else,
/// if the queue refuses it, it starts a worker beyond core; else it goes to the rejection handler.
/// So with an unbounded queue there are never more workers than core.
///
/// Cloning gives another handle to the same pool. **When the last handle is dropped the pool is
/// shut down**: in order, without waiting; what was taken is still run. [`close`] waits.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().core_pool_size(2).build().unwrap();
/// let squares: Vec<_> = (0..10_u32).map(|n| pool.submit(move || n * n).unwrap()).collect();
/// let sum: u32 = squares.into_iter().map(|mut handle| handle.get().unwrap()).sum();
/// assert_eq!(sum, 285);
/// pool.close();
/// ```
///
/// [`close`]: ExecutorService::close
#[derive(Clone)]
pub struct ThreadPoolExecutor(Arc<Handle>);

/// What user code leaves behind when it panics inside a pool is never seen half changed: the pool's
/// own state is behind atomics and locks that no user code runs under.
impl UnwindSafe for ThreadPoolExecutor {}
impl RefUnwindSafe for ThreadPoolExecutor {}

/// What the clones share; workers do not, so its drop means that no user is left.
struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        crate::unwind::ignore_panic(|| self.0.shutdown_because(Cancellation::PoolDropped));
    }
}

impl ThreadPoolExecutor {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(Arc::new(Handle(shared)))
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }

    /// Returns the name of the pool: the one it was built with, else the prefix of its thread
    /// factory, else `pool-N`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared().name()
    }

    /// All figures at one moment.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared().stats()
    }

    /// Workers whose threads are there.
    #[must_use]
    pub fn pool_size(&self) -> usize {
        self.stats().pool_size
    }

    /// Workers that are busy with a task.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.stats().active_count
    }

    /// The most workers there ever were.
    #[must_use]
    pub fn largest_pool_size(&self) -> usize {
        self.stats().largest_pool_size
    }

    /// All tasks ever taken, as far as they have not been removed: completed, active and queued.
    #[must_use]
    pub fn task_count(&self) -> u64 {
        self.stats().task_count
    }

    /// Tasks that have ended, in whatever way.
    #[must_use]
    pub fn completed_task_count(&self) -> u64 {
        self.stats().completed_task_count
    }

    /// How often a task could not be taken and was left to the rejection handler.
    #[must_use]
    pub fn rejected_count(&self) -> u64 {
        self.shared().rejections()
    }
}

/// What can be changed while the pool runs.
impl ThreadPoolExecutor {
    /// Workers that are kept even when idle.
    #[must_use]
    pub fn core_pool_size(&self) -> usize {
        self.shared().settings.core()
    }

    /// Changes how many workers are kept even when idle.
    ///
    /// More: new workers are started at once for what is queued. Fewer: idle workers beyond it end
    /// when their keep-alive is over; see [`retire_idle`](Self::retire_idle).
    ///
    /// # Errors
    ///
    /// [`ConfigError::CoreExceedsMaximum`], and nothing is changed.
    pub fn set_core_pool_size(&self, size: usize) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.core = size)?;
        if shared.ctl.load().workers() > size {
            shared.roster.nudge_all();
        } else if size > former.core && !mutant!("pool_grows_for_nobody") {
            // As many as there is work for; it may be done before all of them are there.
            for _ in 0..shared.queue.len().min(size - former.core) {
                if shared.add_worker(None, SizeLimit::Core).is_err() || shared.queue.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The most workers there may be.
    #[must_use]
    pub fn maximum_pool_size(&self) -> usize {
        self.shared().settings.maximum()
    }

    /// Changes how many workers there may be. Surplus workers end at once if they are idle, else
    /// after their task.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroMaximum`] or [`ConfigError::CoreExceedsMaximum`]; nothing is changed.
    pub fn set_maximum_pool_size(&self, size: usize) -> Result<(), ConfigError> {
        let shared = self.shared();
        shared.settings.change(|new| new.maximum = size)?;
        if shared.ctl.load().workers() > size {
            shared.roster.nudge_all();
        }
        shared.nudge_blocked();
        Ok(())
    }

    /// How long a worker beyond core waits for a task before it ends.
    #[must_use]
    pub fn keep_alive(&self) -> Duration {
        self.shared().settings.keep_alive()
    }

    /// Changes how long a worker beyond core waits for a task before it ends; a shorter time counts
    /// for workers that wait already.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroKeepAlive`] if core workers may time out; nothing is changed.
    pub fn set_keep_alive(&self, time: Duration) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.keep_alive = time)?;
        if time < former.keep_alive {
            shared.roster.nudge_all();
        }
        Ok(())
    }

    /// Whether core workers end too when they have waited for as long as keep-alive.
    #[must_use]
    pub fn allows_core_thread_timeout(&self) -> bool {
        self.shared().settings.core_timeout()
    }

    /// Changes whether core workers end too when they have waited for as long as keep-alive.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroKeepAlive`] if keep-alive is zero; nothing is changed.
    #[doc(alias = "allowCoreThreadTimeOut")]
    pub fn set_allow_core_thread_timeout(&self, allow: bool) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.core_timeout = allow)?;
        if allow && !former.core_timeout {
            shared.roster.nudge_all();
        }
        Ok(())
    }

    /// What makes the threads.
    #[must_use]
    pub fn thread_factory(&self) -> Arc<dyn ThreadFactory> {
        self.shared().factory()
    }

    /// Changes what makes the threads, for those made from now on.
    pub fn set_thread_factory(&self, factory: impl ThreadFactory + 'static) {
        self.shared().set_factory(thread_factory::shared(factory));
    }

    /// What happens to a task that cannot be taken.
    #[must_use]
    pub fn rejection_handler(&self) -> Arc<dyn RejectedExecutionHandler> {
        self.shared().handler.with(Arc::clone)
    }

    /// Changes what happens to a task that cannot be taken.
    #[doc(alias = "setRejectedExecutionHandler")]
    pub fn set_rejection_handler(&self, handler: impl RejectedExecutionHandler + 'static) {
        self.shared().handler.set(rejection::shared(handler));
    }

    /// Changes how many tasks may wait, where the queue can; gives the former bound.
    ///
    /// # Errors
    ///
    /// [`CapacityError`]: the queue's bound is fixed, or the new one is zero.
    pub fn set_queue_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let former = self.shared().queue.set_capacity(capacity)?;
        self.shared().nudge_blocked();
        Ok(former)
    }

    /// Ends idle workers beyond core now, without waiting for their keep-alive.
    ///
    /// Does not wait for them: each goes as soon as it has learnt of it.
    pub fn retire_idle(&self) {
        let shared = self.shared();
        shared.request_retirement();
        shared.roster.nudge_all();
    }
}

/// Workers and queued tasks.
impl ThreadPoolExecutor {
    /// Starts a core worker that waits for tasks; false if all are there.
    pub fn prestart_core_thread(&self) -> bool {
        let shared = self.shared();
        shared.ctl.load().workers() < shared.settings.core()
            && shared.add_worker(None, SizeLimit::Core).is_ok()
    }

    /// Starts all core workers, and says how many it started.
    pub fn prestart_all_core_threads(&self) -> usize {
        // No more often than that, should the factory break its promises.
        let tries = 0..self.core_pool_size();
        let started = tries.take_while(|_| self.shared().add_worker(None, SizeLimit::Core).is_ok());
        started.count()
    }

    /// The queue in which tasks wait for a worker.
    ///
    /// For looking at it. A task put into it by hand is run by a worker that is there, but does not
    /// start one.
    #[must_use]
    pub fn queue(&self) -> &dyn BlockingQueue<Task> {
        &*self.shared().queue
    }

    /// Takes a task out of the queue, by its id or handle; `None` if it is not there.
    ///
    /// It is pending while you hold it; dropping it completes its handle as cancelled.
    pub fn remove(&self, task: impl Into<TaskId>) -> Option<Task> {
        let id = task.into();
        let removed = self
            .shared()
            .queue
            .remove_first(&mut |task| task.id() == id);
        if let Some(task) = &removed {
            task.set_drop_reason(Cancellation::Removed);
        }
        self.shared().task_count.invalidate();
        self.shared().try_terminate();
        removed
    }

    /// Drops the queued tasks that have been cancelled, and says how many there were.
    pub fn purge(&self) -> usize {
        let cancelled = self.shared().queue.retain(&mut |task| !task.is_cancelled());
        self.shared().task_count.invalidate();
        self.shared().try_terminate();
        cancelled.len()
    }
}

impl Executor for ThreadPoolExecutor {
    #[inline]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.shared().execute(task)
    }

    #[inline]
    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        match &self.shared().options.prepare {
            None => task,
            Some(prepare) => prepare(task),
        }
    }
}

impl ExecutorService for ThreadPoolExecutor {
    fn shutdown(&self) {
        self.shared().shutdown();
    }

    fn shutdown_now(&self) -> Vec<Task> {
        self.shared().shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.shared().is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.shared().ctl.load().state() == RunState::Terminated
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.shared().termination.wait(timeout)
    }
}

/// In the JDK's words.
impl fmt::Debug for ThreadPoolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.stats(), f)
    }
}
