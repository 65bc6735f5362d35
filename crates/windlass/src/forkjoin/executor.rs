//! The public type of the fork-join pool.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::delayed::DueTasks;
use super::deque::LocalOrder;
use super::handle::ForkHandle;
use super::help_quiesce::help_quiesce;
use super::job::Work;
use super::join::join_in;
use super::local::Local;
use super::parallelism::{ParallelismError, check};
use super::scope::{self, Scope};
use super::shared::{Refused, Shared};
use super::state::RunState;
use super::stats::ForkJoinStats;
use super::task::{self, RecursiveTask, forkable};
use super::timer_service::PoolTimers;
use crate::executor::{Executor, ExecutorService, RejectedExecution, RunningTask, ShutdownCancels};
use crate::interrupt::Interrupted;
use crate::sync::Deadline;
use crate::task::{LimitOwner, Task, TaskBuilder};
use crate::unwind::ignore_panic;

/// A work-stealing pool, for tasks that split themselves.
///
/// It starts workers on demand, up to its parallelism, and retires those that have been idle for the
/// keep-alive time. A worker that waits for others is replaced meanwhile.
///
/// # Blocking
///
/// The pool cannot detect a worker that waits for a lock or a queue, and does not replace it. When all
/// workers wait in this way, no task runs; if they wait for what a queued task does, they wait forever.
/// Wait inside [`blocking`](super::blocking) or [`managed_block`](super::managed_block) instead.
///
/// Joins, scopes and waits for the handle of a task need neither. A worker that waits for a queued task
/// of its pool runs it, if the task is near in its own deque; otherwise another worker replaces it. If
/// none can, because the pool has as many threads as it may have, the worker runs the task wherever in
/// the pool it is queued. It never runs other work meanwhile.
///
/// Clones refer to the same pool; when the last one is dropped the pool is shut down, without waiting.
///
/// ```
/// use windlass::forkjoin::ForkJoinPool;
///
/// let pool = ForkJoinPool::new(2).unwrap();
/// let (even, odd) = pool.join(
///     || (0..1_000_u32).step_by(2).sum::<u32>(),
///     || (1..1_000_u32).step_by(2).sum::<u32>(),
/// );
/// assert_eq!(even + odd, 499_500);
/// ```
#[derive(Clone)]
pub struct ForkJoinPool(Arc<Handle>);

/// Shared by the clones but not by workers, so that it is dropped with the last clone.
struct Handle {
    shared: Arc<Shared>,
    is_common: bool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        ignore_panic(|| self.shared.shutdown());
    }
}

impl ForkJoinPool {
    pub(super) fn over(shared: Arc<Shared>) -> Self {
        Self(Arc::new(Handle {
            shared,
            is_common: false,
        }))
    }

    pub(super) fn into_common(mut self) -> Self {
        if let Some(handle) = Arc::get_mut(&mut self.0) {
            handle.is_common = true;
        }
        self
    }

    pub(super) fn is_common(&self) -> bool {
        self.0.is_common
    }

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Returns the timers of the pool; calls `create` for the first.
    pub(crate) fn timers(
        &self,
        create: impl FnOnce(DueTasks) -> Box<dyn PoolTimers>,
    ) -> &dyn PoolTimers {
        self.shared().timers(create)
    }

    /// Runs both closures, potentially in parallel, and returns both results.
    ///
    /// Outside the pool, the calling thread waits while a worker runs them; if the pool is shut down, it
    /// runs them itself.
    ///
    /// # Panics
    ///
    /// If a closure panics, after both have ended.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_in(self.shared(), a, b)
    }

    /// Runs `body` on this thread, and the closures that it spawns in the pool; all have ended when this
    /// returns.
    ///
    /// The closures are no tasks: they have no handles, are not counted, and run on this thread if the pool is
    /// shut down. [`Submit::scope`](crate::Submit::scope) is another method, which this one hides: its closures
    /// are tasks, with handles, and can be rejected; `pool.group().scope(…)` opens such a scope here. On an
    /// `Arc` of a pool it is the other way around, since the `Arc` is an executor too: there `scope` is that of
    /// `Submit`. A pool needs no `Arc`, its clones refer to the same one; where there is one anyway, name the
    /// pool:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::prelude::*;
    ///
    /// let pool = Arc::new(ForkJoinPool::new(2).unwrap());
    /// let (mut left, mut right) = (0, 0);
    /// ForkJoinPool::scope(&pool, |s| s.spawn(|| left = 1));
    /// pool.scope(|s| s.spawn(|| right = 2).unwrap().join().unwrap());
    /// assert_eq!((left, right), (1, 2));
    /// ```
    ///
    /// # Panics
    ///
    /// If `body` or a spawned closure panics, after all have ended.
    pub fn scope<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        scope::scope(self.shared(), body)
    }

    /// Runs the closure on a worker and waits for it; runs it on this thread if the pool is shut down, or
    /// has no worker and no thread can be created.
    ///
    /// [`ForkJoinStats::caller_run_count`] counts the closures that ran on the calling thread, also those of
    /// `join`, `scope` and `invoke`. [`try_install`](Self::try_install) returns the closure instead.
    ///
    /// # Panics
    ///
    /// If the closure panics.
    pub fn install<F, R>(&self, body: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        Local::of(self.shared(), |local| match local {
            Some(_) => body(),
            None => self.shared().run_on_worker(body),
        })
    }

    /// Runs the closure on a worker and waits for it, as [`install`](Self::install), unless the pool is
    /// shut down.
    ///
    /// # Errors
    ///
    /// The closure, if the pool is shut down and this is not called on one of its workers.
    ///
    /// # Panics
    ///
    /// If the closure panics.
    ///
    /// ```
    /// use windlass::ExecutorService;
    /// use windlass::forkjoin::ForkJoinPool;
    ///
    /// let pool = ForkJoinPool::new(1).unwrap();
    /// assert_eq!(pool.try_install(|| 1).ok(), Some(1));
    /// pool.close();
    /// assert!(pool.try_install(|| 1).is_err());
    /// ```
    pub fn try_install<F, R>(&self, body: F) -> Result<R, F>
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        Local::of(self.shared(), |local| match local {
            Some(_) => Ok(body()),
            None => self.shared().try_run_on_worker(body),
        })
    }

    /// Runs the task on a worker, as [`install`](Self::install), and returns its result.
    ///
    /// # Panics
    ///
    /// If the task panics.
    pub fn invoke<K: RecursiveTask>(&self, task: K) -> K::Output {
        self.install(|| task::compute(task))
    }

    /// Runs all tasks, potentially in parallel, and returns all results in order.
    ///
    /// # Panics
    ///
    /// If a task panics, after all have ended.
    pub fn invoke_tasks<K: RecursiveTask>(&self, tasks: Vec<K>) -> Vec<K::Output> {
        self.install(|| task::all(self.shared(), tasks))
    }

    /// Submits the task and returns its handle.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    pub fn fork<K>(
        &self,
        task: K,
    ) -> Result<ForkHandle<K::Output>, RejectedExecution<ForkHandle<K::Output>>>
    where
        K: RecursiveTask + 'static,
        K::Output: 'static,
    {
        let (task, handle) = forkable(self.shared(), task);
        let handle = ForkHandle::new(handle, Arc::clone(self.shared()));
        match self.execute_task(task) {
            Ok(()) => Ok(handle),
            Err(rejected) => Err(rejected.with_handle(handle)),
        }
    }

    /// Returns the name of the pool: the one it was built with, else the prefix of its thread factory,
    /// else `ForkJoinPool-N`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().config.name
    }

    /// Returns how many workers run at a time.
    #[must_use]
    pub fn parallelism(&self) -> usize {
        self.shared().parallelism()
    }

    /// Sets how many workers run at a time; returns the former number.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`] if it is not between 1 and 32767; nothing is changed.
    pub fn set_parallelism(&self, parallelism: usize) -> Result<usize, ParallelismError> {
        Ok(self.shared().set_parallelism(check(parallelism)?))
    }

    /// Returns whether this is called on a worker of the pool.
    #[must_use]
    #[doc(alias = "inForkJoinPool")]
    #[doc(alias = "getPool")]
    pub fn is_current(&self) -> bool {
        Local::is_in(self.shared())
    }

    /// Returns whether nothing is queued and no thread runs work.
    #[must_use]
    pub fn is_quiescent(&self) -> bool {
        self.shared().is_quiescent()
    }

    /// Waits until nothing is queued and no thread runs work, no longer than `timeout`; returns whether
    /// that is the case.
    ///
    /// The calling thread runs queued work meanwhile; what it has begun it ends, also after the timeout.
    /// On a worker of the pool it waits for all other work, as
    /// [`Cx::help_quiesce`](super::Cx::help_quiesce) does.
    pub fn await_quiescence(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(timeout);
        let helped = Local::of(self.shared(), |local| {
            local.map(|local| help_quiesce(local, deadline))
        });
        if let Some(is_quiet) = helped {
            return is_quiet;
        }
        let find = || {
            let submitted = self.shared().take_submission();
            submitted.or_else(|| self.shared().steal())
        };
        let first = (!deadline.has_passed()).then(find).flatten();
        if let Some(first) = first {
            self.shared().as_helper(|local| {
                local.run(first);
                while let Some(work) = (!deadline.has_passed()).then(find).flatten() {
                    local.run(work);
                }
            });
        }
        Local::while_blocked(|| self.shared().await_quiescence(deadline))
    }

    /// Removes a task that was submitted from outside the pool and has not started.
    pub fn poll_submission(&self) -> Option<Task> {
        self.shared().take_submitted_task()
    }

    /// Removes all tasks that have not started, submitted and forked.
    #[doc(alias = "drainTasksTo")]
    pub fn drain_tasks(&self) -> Vec<Task> {
        self.shared().drain()
    }

    /// Submits the task to the injector, also on a worker of the pool.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn external_submit(&self, task: Task) -> Result<(), RejectedExecution> {
        let task = self.shared().record_submission_time(task);
        self.accepted(self.shared().submit(Work::task(task)))
    }

    /// Submits the task without waking a worker: it runs when a worker next searches for work.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn lazy_submit(&self, task: Task) -> Result<(), RejectedExecution> {
        let task = self.shared().record_submission_time(task);
        self.accepted(self.shared().inject(Work::task(task)).map(drop))
    }

    /// Pushes the task to the deque that the current thread has as a worker of this pool while it is a
    /// guest of another; else submits it.
    fn execute_elsewhere(&self, task: Task) -> Result<(), RejectedExecution> {
        Local::of(self.shared(), |local| match local {
            Some(local) if self.shared().run_state() <= RunState::Shutdown => {
                local.push(Work::task(task));
                Ok(())
            }
            _ => self.accepted(self.shared().submit(Work::task(task))),
        })
    }

    fn accepted(&self, submitted: Result<(), Refused>) -> Result<(), RejectedExecution> {
        submitted.map_err(|refused| self.rejection(refused))
    }

    pub(super) fn rejection(&self, refused: Refused) -> RejectedExecution {
        self.shared().count_rejection();
        refused.into_rejection().with_executor(format!("{self:?}"))
    }

    /// Returns a snapshot of the pool's figures; while it works they are estimates.
    #[must_use]
    pub fn stats(&self) -> ForkJoinStats {
        self.shared().stats_with_times()
    }

    /// Returns whether workers run their own forks oldest first.
    #[must_use]
    #[doc(alias = "getAsyncMode")]
    pub fn is_async_mode(&self) -> bool {
        self.shared().config.order == LocalOrder::Fifo
    }
}

/// Calls `f` out of line.
#[cold]
fn outlined<R>(f: impl FnOnce() -> R) -> R {
    f()
}

impl Executor for ForkJoinPool {
    /// Pushes the task to the deque of the worker that this is called on, or submits it.
    ///
    /// A running task can still submit others after [`shutdown`](ExecutorService::shutdown), as it can
    /// fork them, and not after `shutdown_now`.
    #[inline]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let task = self.shared().record_submission_time(task);
        Local::with(|local| match local {
            Some(local)
                if local.is_of(self.shared())
                    && self.shared().run_state() <= RunState::Shutdown =>
            {
                local.push(Work::task(task));
                Ok(())
            }
            // In a closure of its own, so that the task stays in registers on the path above.
            _ => outlined(move || self.execute_elsewhere(task)),
        })
    }

    #[inline]
    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        match &self.shared().config.prepare {
            None => task,
            Some(prepare) => {
                let task = prepare(task);
                if task.has_limits() {
                    task.limit_owner(self.limit_owner())
                } else {
                    task
                }
            }
        }
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        Some(Arc::clone(&self.shared().limits) as _)
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        Some(Arc::clone(&self.shared().cancels))
    }
}

impl ExecutorService for ForkJoinPool {
    /// Stops accepting tasks; queued tasks still run. Has no effect on the common pool.
    fn shutdown(&self) {
        if !self.0.is_common {
            self.shared().shutdown();
        }
    }

    /// Returns the tasks that have not started, submitted and forked, and interrupts those that run.
    ///
    /// The handle of a returned task stays pending until the task is run or dropped. The closures of
    /// joins and scopes still run, since threads wait for them. Tasks that running tasks fork from now
    /// on run only if they are joined, and are cancelled otherwise.
    ///
    /// Has no effect on the common pool.
    fn shutdown_now(&self) -> Vec<Task> {
        if self.0.is_common {
            return Vec::new();
        }
        self.shared().shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.shared().run_state() > RunState::Running
    }

    fn is_terminated(&self) -> bool {
        self.shared().run_state() == RunState::Terminated
    }

    /// Returns what each worker does, and each thread from outside that runs tasks of the pool: the outermost
    /// task of each. A task that it runs inside, because it waits for it, is not listed, nor are the
    /// closures of `join` and `scope`.
    fn running_tasks(&self) -> Vec<RunningTask> {
        self.shared().running_tasks()
    }

    /// Returns how many tasks have completed or failed.
    fn completed_count(&self) -> Option<u64> {
        let tasks = self.shared().roster.task_counts();
        Some(tasks.completed + tasks.failed)
    }

    /// Returns how many delayed and periodic tasks and suspended futures were cancelled; not tasks that
    /// running ones have forked after [`shutdown_now`](ExecutorService::shutdown_now).
    fn cancelled_by_shutdown(&self) -> Option<u64> {
        let timers = self.shared().timers.get();
        let timed = timers.map_or(0, |timers| timers.cancelled_by_shutdown());
        Some(timed + self.shared().cancels.count())
    }

    /// Waits for termination. On the common pool it waits for quiescence and returns false.
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        if self.0.is_common {
            self.await_quiescence(timeout);
            return Ok(false);
        }
        self.shared().termination.wait(timeout)
    }

    /// Shuts down and waits for termination. Has no effect on the common pool.
    fn close(&self) {
        if self.0.is_common {
            return;
        }
        crate::executor::close(self);
    }
}

impl UnwindSafe for ForkJoinPool {}
impl RefUnwindSafe for ForkJoinPool {}

impl fmt::Debug for ForkJoinPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.shared().stats();
        write!(
            f,
            "ForkJoinPool@{}[{}, parallelism = {}, size = {}, active = {}, running = {}, \
             steals = {}, tasks = {}, submissions = {}]",
            stats.name,
            stats.state,
            stats.parallelism,
            stats.pool_size,
            stats.active_thread_count,
            stats.running_thread_count,
            stats.steal_count,
            stats.queued_task_count,
            stats.queued_submission_count
        )
    }
}
