//! The fork-join pool: its public face.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::builder::{Builder, ParallelismError, check};
use super::common;
use super::completer::{Completer, Node, Root};
use super::deque::LocalOrder;
use super::handle::ForkHandle;
use super::job::Work;
use super::local::Local;
use super::scope::{self, Scope};
use super::shared::{RunState, Shared};
use super::stats::ForkJoinStats;
use super::task::{self, RecursiveTask};
use super::{join, spawn, task::forkable};
use crate::executor::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use crate::interrupt::Interrupted;
use crate::sync::Deadline;
use crate::task::Task;
use crate::unwind::ignore_panic;

/// A pool whose workers take work from each other, for tasks that split themselves.
///
/// It starts its workers as they are needed, up to its parallelism, and ends those that have had
/// nothing to do for a minute. A worker that waits for others is stood in for by another.
///
/// # Blocking
///
/// What the pool does not know of, it does not make up for: when all workers wait for a lock, a queue
/// or a [`TaskHandle`](crate::task::TaskHandle), nothing else runs, and if that is what they wait for,
/// nothing ever will. Wait inside [`blocking`](super::blocking) or
/// [`managed_block`](super::managed_block) instead. Joins and scopes need neither.
///
/// Cloning gives another handle to the same pool; when the last one is dropped the pool is shut down,
/// without waiting.
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
    /// Makes a pool with this parallelism.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`].
    pub fn new(parallelism: usize) -> Result<Self, ParallelismError> {
        Self::builder().parallelism(parallelism).build()
    }

    /// Sets out to make a pool.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The pool that everybody shares, made on first use.
    ///
    /// One worker less than the machine runs threads, and at least one; `WINDLASS_COMMON_PARALLELISM`
    /// in the environment says otherwise, and `WINDLASS_COMMON_MAXIMUM_SPARES` how many threads may
    /// stand in for workers that wait. It cannot be shut down.
    #[must_use]
    #[doc(alias = "commonPool")]
    pub fn common() -> &'static Self {
        common::common()
    }

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

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Runs both closures, perhaps side by side, and gives both results.
    ///
    /// Called outside the pool, it waits while a worker sees to it.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join::join(self.shared(), a, b)
    }

    /// Runs `body` on this thread, and what it spawns in the pool; all have ended when this returns.
    pub fn scope<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        scope::scope(self.shared(), body)
    }

    /// Runs the closure on a worker, and waits for it.
    pub fn install<F, R>(&self, body: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.is_current() {
            body()
        } else {
            join::in_pool(self.shared(), body)
        }
    }

    /// Runs the task on a worker, and waits for it.
    pub fn invoke<K: RecursiveTask>(&self, task: K) -> K::Output {
        self.install(|| task::compute(task))
    }

    /// Runs all tasks, perhaps side by side, and gives all results in order.
    pub fn invoke_tasks<K: RecursiveTask>(&self, tasks: Vec<K>) -> Vec<K::Output> {
        self.install(|| task::all(self.shared(), tasks))
    }

    /// Has the task run, and gives its handle.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn fork<K>(&self, task: K) -> Result<ForkHandle<K::Output>, RejectedExecution>
    where
        K: RecursiveTask + 'static,
        K::Output: 'static,
    {
        let (task, handle) = forkable(task);
        self.execute_task(task)?;
        Ok(ForkHandle::new(handle, Arc::clone(self.shared())))
    }

    /// Has the root of a tree of completers run, and gives it to wait for.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`].
    pub fn submit_completer(
        &self,
        root: impl Completer + 'static,
    ) -> Result<Root, RejectedExecution> {
        Root::submit(Node::root_of(self, root))
    }

    /// How many workers are to run at a time.
    #[must_use]
    pub fn parallelism(&self) -> usize {
        self.shared().stats().parallelism
    }

    /// Changes how many workers are to run at a time; gives the former number.
    ///
    /// # Errors
    ///
    /// [`ParallelismError`], and nothing is changed.
    pub fn set_parallelism(&self, parallelism: usize) -> Result<usize, ParallelismError> {
        Ok(self.shared().set_parallelism(check(parallelism)?))
    }

    /// Whether this is called on a worker of the pool.
    #[must_use]
    #[doc(alias = "inForkJoinPool")]
    #[doc(alias = "getPool")]
    pub fn is_current(&self) -> bool {
        Local::with(|local| local.is_some_and(|local| local.is_of(self.shared())))
    }

    /// Whether nothing is queued and nobody works.
    #[must_use]
    pub fn is_quiescent(&self) -> bool {
        self.shared().is_quiescent()
    }

    /// Waits until nothing is queued and nobody works, for as long as `timeout`; says whether it is so.
    ///
    /// The calling thread helps with what is queued. A worker of the pool only helps, and says yes when
    /// it finds nothing more.
    pub fn await_quiescence(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(timeout);
        let helped = Local::with(|local| {
            let local = local.filter(|local| local.is_of(self.shared()));
            local.map(task::help).is_some()
        });
        if helped {
            return true;
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
        self.shared().await_quiescence(deadline)
    }

    /// Takes out a task that was submitted from outside and that nobody has started.
    pub fn poll_submission(&self) -> Option<Task> {
        self.shared().take_submitted_task()
    }

    /// Takes out all tasks that nobody has started, submitted and forked.
    #[doc(alias = "drainTasksTo")]
    pub fn drain_tasks(&self) -> Vec<Task> {
        self.shared().drain()
    }

    /// Takes the task as if from outside, wherever this is called.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn external_submit(&self, task: Task) -> Result<(), RejectedExecution> {
        self.accepted(spawn::submit(self.shared(), Work::task(task)))
    }

    /// Takes the task and wakes nobody for it: it runs when some worker is about.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    pub fn lazy_submit(&self, task: Task) -> Result<(), RejectedExecution> {
        self.accepted(self.shared().submit_quietly(Work::task(task)).map(drop))
    }

    fn accepted(&self, submitted: Result<(), Work>) -> Result<(), RejectedExecution> {
        submitted.map_err(|work| self.rejection(work))
    }

    /// What is told to whoever submitted this; jobs are never refused to anybody.
    pub(super) fn rejection(&self, work: Work) -> RejectedExecution {
        let task = work.into_task().unwrap_or_else(|| Task::new(|| ()));
        let rejected = RejectedExecution::new(task, RejectionReason::Shutdown);
        rejected.with_executor(format!("{self:?}"))
    }

    /// All figures at one moment; while the pool works they are estimates.
    #[must_use]
    pub fn stats(&self) -> ForkJoinStats {
        self.shared().stats()
    }

    /// Whether workers take what they have forked themselves oldest first.
    #[must_use]
    #[doc(alias = "getAsyncMode")]
    pub fn is_async_mode(&self) -> bool {
        self.shared().config.order == LocalOrder::Fifo
    }
}

#[cold]
fn outlined<R>(f: impl FnOnce() -> R) -> R {
    f()
}

impl Executor for ForkJoinPool {
    /// Takes the task: into the deque of the worker that this is called on, or as a submission.
    #[inline]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        Local::with(|local| match local {
            Some(local)
                if local.is_of(self.shared()) && self.shared().run_state() == RunState::Running =>
            {
                local.push(Work::task(task));
                Ok(())
            }
            // Behind a closure, so that on the way above the task need not lie in memory.
            _ => outlined(move || self.external_submit(task)),
        })
    }
}

impl ExecutorService for ForkJoinPool {
    /// As everywhere; nothing happens to the common pool.
    fn shutdown(&self) {
        if !self.0.is_common {
            self.shared().shutdown();
        }
    }

    /// Cancels what has not started and interrupts what runs. Unlike a thread pool, it hands nothing
    /// back, as in the JDK; nothing happens to the common pool.
    fn shutdown_now(&self) -> Vec<Task> {
        if !self.0.is_common {
            self.shared().shutdown_now();
        }
        Vec::new()
    }

    fn is_shutdown(&self) -> bool {
        self.shared().run_state() > RunState::Running
    }

    fn is_terminated(&self) -> bool {
        self.shared().run_state() == RunState::Terminated
    }

    /// As everywhere; on the common pool it waits for quiescence and says no.
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        if self.0.is_common {
            self.await_quiescence(timeout);
            return Ok(false);
        }
        self.shared().termination.wait(timeout)
    }

    /// As everywhere; nothing happens to the common pool.
    fn close(&self) {
        if self.0.is_common {
            return;
        }
        crate::executor::close(self);
    }
}

impl fmt::Debug for ForkJoinPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run_state = match self.shared().run_state() {
            RunState::Running => "Running",
            RunState::Terminated => "Terminated",
            _ => "Shutting down",
        };
        let stats = self.stats();
        write!(
            f,
            "ForkJoinPool[{run_state}, parallelism = {}, size = {}, active = {}, running = {}, \
             steals = {}, tasks = {}, submissions = {}]",
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
