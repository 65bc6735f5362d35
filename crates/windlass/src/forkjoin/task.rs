//! Tasks that split themselves, and the handles of what they have forked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::job::Work;
use super::join;
use super::local::Local;
use crate::interrupt::{self, Interrupted};
use crate::sync::Deadline;
use crate::task::{ExecutionError, Failure, Task, TaskHandle, TaskId};

/// A computation that splits itself into smaller ones.
///
/// For ports of Java's `RecursiveTask` and `RecursiveAction` (`Output = ()`), and for tasks that
/// carry state. Closures with [`join`](fn@super::join) are shorter and may borrow.
///
/// ```
/// use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask};
///
/// struct Fib(u32);
///
/// impl RecursiveTask for Fib {
///     type Output = u64;
///     fn compute(self, cx: &Cx<'_>) -> u64 {
///         if self.0 < 2 {
///             return u64::from(self.0);
///         }
///         let left = cx.fork(Fib(self.0 - 1));
///         let right = Fib(self.0 - 2).compute(cx);
///         left.join().unwrap() + right
///     }
/// }
///
/// assert_eq!(ForkJoinPool::new(2).unwrap().invoke(Fib(20)), 6765);
/// ```
#[doc(alias = "RecursiveAction")]
#[doc(alias = "ForkJoinTask")]
pub trait RecursiveTask: Send {
    /// What it computes.
    type Output: Send;

    /// Computes it, splitting as it likes.
    fn compute(self, cx: &Cx<'_>) -> Self::Output;
}

/// The worker that a [`RecursiveTask`] runs on. It can be had only inside one.
pub struct Cx<'a> {
    local: &'a Local,
}

impl<'a> Cx<'a> {
    pub(super) fn new(local: &'a Local) -> Self {
        Self { local }
    }

    /// Has the task run, here or by another worker, and gives its handle.
    pub fn fork<K>(&self, task: K) -> ForkHandle<K::Output>
    where
        K: RecursiveTask + 'static,
        K::Output: 'static,
    {
        let (task, handle) = forkable(task);
        self.local.push(Work::task(task));
        ForkHandle {
            handle,
            core: Arc::clone(&self.local.core),
        }
    }

    /// Runs both tasks, perhaps side by side, and gives both results.
    pub fn join<A: RecursiveTask, B: RecursiveTask>(&self, a: A, b: B) -> (A::Output, B::Output) {
        join::join(&self.local.core, || compute(a), || compute(b))
    }

    /// Runs all tasks, perhaps side by side, and gives all results in order.
    pub fn invoke_all<K: RecursiveTask>(&self, tasks: Vec<K>) -> Vec<K::Output> {
        all(&self.local.core, tasks)
    }

    /// Runs tasks of the pool until none is queued.
    pub fn help_quiesce(&self) {
        help(self.local);
    }

    /// Takes out the task that this worker would run next of those it has forked, without running it.
    #[must_use]
    #[doc(alias = "pollNextLocalTask")]
    pub fn poll_next_local(&self) -> Option<Task> {
        self.local.take_where(|work| !work.is_job())?.into_task()
    }

    /// Takes out a task without running it: of this worker, or of another, or a submission.
    #[must_use]
    #[doc(alias = "pollTask")]
    pub fn poll_task(&self) -> Option<Task> {
        let own = self.poll_next_local();
        let others = || match self.local.core.steal()? {
            Work::Job(part) if part.is_of_join() => {
                self.local.give_back(part);
                None
            }
            job @ Work::Job(_) => {
                self.local.push(job);
                None
            }
            task => task.into_task(),
        };
        own.or_else(others)
            .or_else(|| self.local.core.take_submitted_task())
    }

    /// How many tasks this worker has forked that nobody has started.
    #[must_use]
    pub fn queued_task_count(&self) -> usize {
        self.local.member.stealer.len()
    }

    /// How many more tasks this worker has forked than there are others to take them.
    #[must_use]
    pub fn surplus_queued_task_count(&self) -> usize {
        let figures = self.local.core.figures();
        self.queued_task_count()
            .saturating_sub(figures.parallelism.saturating_sub(1))
    }

    /// The number of this worker, which no other worker of the pool has or had.
    #[must_use]
    pub fn worker_index(&self) -> usize {
        self.local.member.number
    }
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("worker", &self.worker_index())
            .finish()
    }
}

/// Runs the task on the worker that this is called on.
pub(super) fn compute<K: RecursiveTask>(task: K) -> K::Output {
    Local::with(|local| match local {
        Some(local) => task.compute(&Cx::new(local)),
        None => unreachable!("a recursive task runs on a worker"),
    })
}

/// A task for a deque, and its handle.
pub(super) fn forkable<K>(task: K) -> (Task, TaskHandle<K::Output>)
where
    K: RecursiveTask + 'static,
    K::Output: 'static,
{
    Task::with_handle(move || compute(task))
}

/// Splits a list in halves, down to single tasks.
pub(super) fn all<K: RecursiveTask>(core: &Arc<Core>, mut tasks: Vec<K>) -> Vec<K::Output> {
    if tasks.len() > 1 {
        let right = tasks.split_off(tasks.len() / 2);
        // The second closure of a join runs first; one worker alone keeps to the order of the list.
        let (mut right, mut left) = join::join(core, || all(core, right), || all(core, tasks));
        left.append(&mut right);
        return left;
    }
    tasks.into_iter().map(compute).collect()
}

/// Runs what the worker has, and what it can find, until there is nothing.
pub(super) fn help(local: &Local) {
    while let Some(work) = local.deque.pop().or_else(|| local.steal()) {
        local.run(work);
    }
}

/// The handle of a task that was forked.
///
/// On a worker, [`join`](Self::join) runs the task itself if nobody has started it. Dropping the
/// handle detaches the task.
#[must_use = "dropping the handle detaches the task"]
pub struct ForkHandle<T> {
    handle: TaskHandle<T>,
    core: Arc<Core>,
}

impl<T: Send + 'static> ForkHandle<T> {
    pub(super) fn new(handle: TaskHandle<T>, core: Arc<Core>) -> Self {
        Self { handle, core }
    }

    /// Waits for the task, whatever interrupts come, and gives its value.
    ///
    /// # Errors
    ///
    /// [`ExecutionError::Failed`] or [`ExecutionError::Cancelled`].
    pub fn join(mut self) -> Result<T, ExecutionError> {
        self.wait();
        self.handle.get()
    }

    /// Waits for the task and gives its value.
    ///
    /// # Errors
    ///
    /// As [`TaskHandle::get`].
    pub fn get(&mut self) -> Result<T, ExecutionError> {
        self.wait_by(Deadline::Never)?;
        self.handle.get()
    }

    /// Waits for the task, but no longer than `timeout`, and gives its value.
    ///
    /// # Errors
    ///
    /// As [`TaskHandle::get_timeout`].
    pub fn get_timeout(&mut self, timeout: Duration) -> Result<T, ExecutionError> {
        self.wait_by(Deadline::after(timeout))?;
        self.handle.get()
    }

    /// Waits for the end of the task, whatever it is and whatever interrupts come.
    #[doc(alias = "quietlyJoin")]
    pub fn wait(&self) {
        let _ = self.wait_uninterruptibly(Deadline::Never);
    }

    /// Waits for the end of the task, whatever it is, but no longer than `timeout`; says whether it
    /// came.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    #[doc(alias = "quietlyJoin")]
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool, Interrupted> {
        match self.wait_by(Deadline::after(timeout)) {
            Err(ExecutionError::Interrupted) => Err(Interrupted),
            ended => Ok(ended.is_ok()),
        }
    }

    /// The same, whatever interrupts come; they stay pending.
    #[doc(alias = "quietlyJoinUninterruptibly")]
    pub fn wait_timeout_uninterruptibly(&self, timeout: Duration) -> bool {
        self.wait_uninterruptibly(Deadline::after(timeout))
    }

    fn wait_uninterruptibly(&self, deadline: Deadline) -> bool {
        let mut interrupted = false;
        let ended = loop {
            match self.wait_by(deadline) {
                Err(ExecutionError::Interrupted) => interrupted = true,
                ended => break ended.is_ok(),
            }
        };
        if interrupted {
            interrupt::current().interrupt();
        }
        ended
    }

    /// Helps with the task, then waits for its end.
    fn wait_by(&self, deadline: Deadline) -> Result<(), ExecutionError> {
        Local::with(|local| {
            self.help(local);
            if self.handle.is_done() {
                return Ok(());
            }
            match local {
                Some(local) => local.while_blocked(|| self.handle.wait_by(deadline)),
                None => self.handle.wait_by(deadline),
            }
        })
    }

    /// Completes the task with this value, unless it is done; its body then never starts.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn complete(&self, value: T) -> bool {
        self.handle.complete(Ok(value))
    }

    /// Has the task fail, unless it is done; its body then never starts.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "completeExceptionally")]
    pub fn fail(&self, failure: Failure) -> bool {
        self.handle.complete(Err(failure))
    }

    /// Cancels the task unless it is done; code that runs already goes on, uninterrupted.
    pub fn cancel(&self) -> bool {
        self.handle.cancel()
    }

    /// Whether the task has ended, in whatever way.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.handle.is_done()
    }

    /// Whether the task was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.handle.is_cancelled()
    }

    /// Identifies the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.handle.id()
    }

    /// Takes the task back, if it is the one that this worker has forked last and nobody has started
    /// it; else gives the handle back. In async mode it need not be the last.
    ///
    /// # Errors
    ///
    /// The handle.
    pub fn try_unfork(self) -> Result<(Task, TaskHandle<T>), Self> {
        let newest = Local::with(|local| {
            let local = local.filter(|local| local.is_of(&self.core))?;
            let taken = local.take_newest_if(|work| work.is_task(self.id()))?;
            taken.into_task()
        });
        match newest {
            Some(task) => Ok((task, self.handle)),
            None => Err(self),
        }
    }

    /// The plain handle: blocking get, `.await`, callbacks.
    pub fn into_handle(self) -> TaskHandle<T> {
        self.handle
    }

    /// Runs the task if nobody has started it; else jobs of joins that its runner has entered since.
    fn help(&self, local: Option<&Local>) {
        match local.filter(|local| local.is_of(&self.core)) {
            Some(local) => self.help_on(local),
            None if self.core.has_no_workers() => {
                self.core.as_guest(|local| self.run_here(local));
            }
            None => {}
        }
    }

    fn help_on(&self, local: &Local) {
        if self.handle.is_done() {
            return;
        }
        let id = self.id();
        match local.take_newest_if(|work| work.is_task(id)) {
            Some(own) => local.run(own),
            // Buried under newer forks, or with another worker who has not begun.
            None => self.run_here(local),
        }
        let runner = || self.core.runner_of(id).filter(|_| !self.handle.is_done());
        while join::help(local, runner) {}
    }

    fn run_here(&self, local: &Local) {
        if !self.handle.is_done() {
            local.as_task(self.id().as_u64(), || self.handle.run_here());
        }
    }
}

impl<T> fmt::Debug for ForkHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkHandle").field(&self.handle).finish()
    }
}
