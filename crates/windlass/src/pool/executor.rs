//! The public type of the pool: figures, settings, queued tasks, shutdown.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::advice::SizeAdvice;
use super::config_error::ConfigError;
use super::ctl::RunState;
use super::reconfigure::{Patch, ReconfigureError, Reconfigured};
use super::rejection::{self, RejectedExecutionHandler};
use super::shared::Shared;
use super::spawn::SizeLimit;
use super::stats::PoolStats;
use super::tally::Dropped;
use crate::executor::{Executor, ExecutorService, RejectedExecution, RunningTask, ShutdownCancels};
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, CapacityError};
use crate::task::{Cancellation, LimitOwner, Task, TaskBuilder, TaskId};
use crate::thread_factory::{self, ThreadFactory};

/// A pool of worker threads with a core and a maximum size, a keep-alive time, any work queue,
/// rejection policies and hooks; most settings can change while it runs.
///
/// A submitted task starts a new worker if there are fewer than core. Otherwise it is queued. If the
/// queue refuses it, it starts a worker beyond core, up to the maximum. Otherwise the rejection
/// handler is called. So with an unbounded queue there are never more workers than core, or than one
/// if core is zero, unless the pool [grows eagerly](super::Builder::grow_eagerly).
///
/// A clone is another handle to the same pool. **When the last handle is dropped the pool is shut
/// down**, without waiting; accepted tasks still run, unless the process ends first. [`close`]
/// waits, and [`CloseOnDrop`](crate::CloseOnDrop) does so when it is dropped.
///
/// If the system refuses a thread, the pool goes on with the workers that it has. Without any, a
/// submission is rejected with the system's error, and tasks that are queued already are cancelled
/// with [`Cancellation::NoThread`]: no handle waits for a thread that does not come.
///
/// # Panics
///
/// A submission that starts a worker panics if the thread factory does; the task is dropped.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().core_pool_size(2).build().unwrap();
/// let squares: Vec<_> = (0..10_u32).map(|n| pool.submit(move || n * n).unwrap()).collect();
/// let sum: u32 = squares.into_iter().map(|handle| handle.join().unwrap()).sum();
/// assert_eq!(sum, 285);
/// pool.close();
/// ```
///
/// [`close`]: ExecutorService::close
#[derive(Clone)]
pub struct ThreadPoolExecutor(Arc<Handle>);

/// The pool's own state is behind atomics and locks that no user code runs under.
impl UnwindSafe for ThreadPoolExecutor {}
impl RefUnwindSafe for ThreadPoolExecutor {}

/// Shared by the clones but not by workers, so that it is dropped with the last clone.
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

    /// Returns a snapshot of all figures, with the times of the tasks.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared().stats_with_times()
    }

    /// Returns the number of workers that have a thread.
    #[must_use]
    #[doc(alias = "getPoolSize")]
    pub fn pool_size(&self) -> usize {
        self.shared().stats().pool_size
    }

    /// Returns the number of workers that run a task.
    #[must_use]
    #[doc(alias = "getActiveCount")]
    pub fn active_count(&self) -> usize {
        self.shared().stats().active_count
    }

    /// Returns the largest number of workers so far.
    #[must_use]
    #[doc(alias = "getLargestPoolSize")]
    pub fn largest_pool_size(&self) -> usize {
        self.shared().stats().largest_pool_size
    }

    /// Returns the number of all tasks accepted so far and not removed: completed, active and
    /// queued.
    #[must_use]
    #[doc(alias = "getTaskCount")]
    pub fn task_count(&self) -> u64 {
        self.shared().stats().task_count
    }

    /// Returns the number of tasks that workers have taken and that have ended: completed, failed or
    /// cancelled.
    #[must_use]
    #[doc(alias = "getCompletedTaskCount")]
    pub fn completed_task_count(&self) -> u64 {
        self.shared().stats().completed_task_count
    }

    /// Returns how often the rejection handler was called.
    #[must_use]
    pub fn rejected_count(&self) -> u64 {
        self.shared().rejections()
    }
}

/// Settings, which can change while the pool runs.
impl ThreadPoolExecutor {
    /// Returns how many workers are kept even when idle.
    #[must_use]
    #[doc(alias = "getCorePoolSize")]
    pub fn core_pool_size(&self) -> usize {
        self.shared().settings.core()
    }

    /// Sets how many workers are kept even when idle.
    ///
    /// A larger size starts workers at once for queued tasks. With a smaller one, idle workers
    /// beyond it end after their keep-alive time; see [`retire_idle`](Self::retire_idle).
    ///
    /// # Errors
    ///
    /// [`ConfigError::CoreExceedsMaximum`]; nothing is changed.
    ///
    /// # Panics
    ///
    /// If the thread factory panics; the new size is in effect.
    pub fn set_core_pool_size(&self, size: usize) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.core = size)?;
        if shared.ctl.load().workers() > size {
            shared.roster.nudge_all();
        } else if size > former.core {
            // No more than there are tasks, which may be done before all have started.
            for _ in 0..shared.queue.len().min(size - former.core) {
                if shared.add_worker(None, SizeLimit::Core).is_err() || shared.queue.is_empty() {
                    break;
                }
            }
        }
        shared.nudge_blocked();
        Ok(())
    }

    /// Returns the maximum number of workers.
    #[must_use]
    #[doc(alias = "getMaximumPoolSize")]
    pub fn maximum_pool_size(&self) -> usize {
        self.shared().settings.maximum()
    }

    /// Sets the maximum number of workers. Surplus workers end at once if they are idle, else after
    /// their task.
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

    /// Returns how long a worker beyond core waits for a task before it ends.
    #[must_use]
    #[doc(alias = "getKeepAliveTime")]
    pub fn keep_alive(&self) -> Duration {
        self.shared().settings.keep_alive()
    }

    /// Sets how long a worker beyond core waits for a task before it ends; a shorter time takes
    /// effect on workers that already wait.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroKeepAlive`] if the time is zero and core workers may time out; nothing is
    /// changed.
    pub fn set_keep_alive(&self, time: Duration) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.keep_alive = time)?;
        if time < former.keep_alive {
            shared.roster.nudge_all();
        }
        Ok(())
    }

    /// Returns whether core workers end too when they are idle for the keep-alive time.
    #[must_use]
    pub fn allows_core_thread_timeout(&self) -> bool {
        self.shared().settings.core_timeout()
    }

    /// Sets whether core workers end too when they are idle for the keep-alive time.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroKeepAlive`] if the keep-alive time is zero; nothing is changed.
    #[doc(alias = "allowCoreThreadTimeOut")]
    pub fn set_allow_core_thread_timeout(&self, allow: bool) -> Result<(), ConfigError> {
        let shared = self.shared();
        let former = shared.settings.change(|new| new.core_timeout = allow)?;
        if allow && !former.core_timeout {
            shared.roster.nudge_all();
        }
        Ok(())
    }

    /// Returns the thread factory.
    #[must_use]
    #[doc(alias = "getThreadFactory")]
    pub fn thread_factory(&self) -> Arc<dyn ThreadFactory> {
        self.shared().factory()
    }

    /// Sets the thread factory, for threads that are created from now on.
    pub fn set_thread_factory(&self, factory: impl ThreadFactory + 'static) {
        self.shared().set_factory(thread_factory::shared(factory));
    }

    /// Returns the handler of tasks that the pool cannot accept.
    #[must_use]
    #[doc(alias = "getRejectedExecutionHandler")]
    pub fn rejection_handler(&self) -> Arc<dyn RejectedExecutionHandler> {
        self.shared().handler.with(Arc::clone)
    }

    /// Sets the handler of tasks that the pool cannot accept.
    #[doc(alias = "setRejectedExecutionHandler")]
    pub fn set_rejection_handler(&self, handler: impl RejectedExecutionHandler + 'static) {
        let (shared, handler) = (self.shared(), rejection::shared(handler));
        let former = shared.settings.exclusively(|| {
            let former = shared.handler.with(Arc::clone);
            shared.handler.set(handler);
            former
        });
        drop(former);
    }

    /// Sets the capacity of the queue, if the queue supports it; returns the former one.
    ///
    /// # Errors
    ///
    /// [`CapacityError`]: the queue's bound is fixed, or the new one is zero.
    pub fn set_queue_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let shared = self.shared();
        let set = || shared.queue.set_capacity(capacity);
        let former = shared.settings.exclusively(set)?;
        shared.nudge_blocked();
        Ok(former)
    }

    /// Returns the size that the pool should have for this target utilisation of the processors (0 to 1),
    /// by what its tasks have waited and computed so far; see [`SizeAdvice`].
    #[must_use]
    pub fn size_advice(&self, utilisation: f64) -> SizeAdvice {
        SizeAdvice::of(self.shared().compute_totals(), utilisation)
    }

    /// Changes several settings at once: all of them, or none.
    ///
    /// The settings are validated as a whole, so their order does not matter. Sizes and times change in one
    /// step for those who read them; then the queue's capacity and the handler are those of the patch too.
    ///
    /// # Errors
    ///
    /// [`ReconfigureError`]: the settings contradict each other, or the queue refuses the capacity.
    /// Nothing is changed.
    ///
    /// # Panics
    ///
    /// If the thread factory panics; the new settings are in effect.
    ///
    /// ```
    /// use windlass::pool::Patch;
    /// use windlass::prelude::*;
    /// use windlass::queue::ResizableBlockingQueue;
    ///
    /// let queue = ResizableBlockingQueue::with_capacity(100).unwrap();
    /// let pool = ThreadPoolExecutor::builder().core_pool_size(2).work_queue(queue).build().unwrap();
    /// let tuned = Patch::new().core_pool_size(4).maximum_pool_size(8).queue_capacity(500);
    /// let changed = pool.reconfigure(tuned).unwrap();
    /// assert!(changed.warnings.is_empty());
    ///
    /// // The capacity is refused, so the sizes stay too.
    /// let refused = pool.reconfigure(Patch::new().maximum_pool_size(16).queue_capacity(0));
    /// assert!(refused.unwrap_err().is_capacity());
    /// assert_eq!(pool.maximum_pool_size(), 8);
    ///
    /// pool.reconfigure(changed.former).unwrap();
    /// assert_eq!(pool.core_pool_size(), 2);
    /// ```
    pub fn reconfigure(&self, patch: Patch) -> Result<Reconfigured, ReconfigureError> {
        self.shared().reconfigure(patch)
    }

    /// Ends idle workers beyond core now, before their keep-alive time is over. Does not wait for
    /// them.
    pub fn retire_idle(&self) {
        let shared = self.shared();
        shared.request_retirement();
        shared.roster.nudge_all();
    }
}

/// Workers and queued tasks.
impl ThreadPoolExecutor {
    /// Starts a core worker that waits for tasks. Returns false if all core workers exist, the pool is
    /// shut down, or no thread can be created.
    ///
    /// # Panics
    ///
    /// If the thread factory panics.
    pub fn prestart_core_thread(&self) -> bool {
        let shared = self.shared();
        shared.ctl.load().workers() < shared.settings.core()
            && shared.add_worker(None, SizeLimit::Core).is_ok()
    }

    /// Starts all core workers; returns how many it started.
    ///
    /// # Panics
    ///
    /// If the thread factory panics.
    pub fn prestart_all_core_threads(&self) -> usize {
        self.shared().prestart_all()
    }

    /// Returns the queue in which tasks wait for a worker.
    ///
    /// It is meant for monitoring. A task that is put into it directly does not start a worker; an
    /// existing worker runs it.
    #[must_use]
    #[doc(alias = "getQueue")]
    pub fn queue(&self) -> &dyn BlockingQueue<Task> {
        &*self.shared().queue
    }

    /// Removes a task from the queue, by its id or handle; returns `None` if it is not there.
    ///
    /// The task stays pending; dropping it completes its handle as cancelled.
    ///
    /// # Panics
    ///
    /// If this terminates the pool, and the [`terminated`](super::Hooks::terminated) hook panics.
    pub fn remove(&self, task: impl Into<TaskId>) -> Option<Task> {
        let id = task.into();
        let removed = self
            .shared()
            .queue
            .remove_first(&mut |task| task.id() == id);
        if let Some(task) = &removed {
            task.set_drop_reason(Cancellation::Removed);
            self.shared().tally.count_dropped(Dropped::Purged, 1);
        }
        self.shared().task_count.invalidate();
        self.shared().room.serve();
        self.shared().try_terminate();
        removed
    }

    /// Drops the queued tasks that have been cancelled; returns how many there were.
    ///
    /// # Panics
    ///
    /// If this terminates the pool, and the [`terminated`](super::Hooks::terminated) hook panics.
    pub fn purge(&self) -> usize {
        self.shared().purge()
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

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        Some(Arc::clone(&self.shared().options.limits) as _)
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        Some(Arc::clone(&self.shared().options.cancels))
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

    fn running_tasks(&self) -> Vec<RunningTask> {
        self.shared().running_tasks()
    }

    fn completed_count(&self) -> Option<u64> {
        Some(self.completed_task_count())
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        Some(self.shared().options.cancels.count())
    }
}

/// Has the format of the JDK's `toString`, with the name of the pool after the `@`.
impl fmt::Debug for ThreadPoolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.shared().stats(), f)
    }
}
