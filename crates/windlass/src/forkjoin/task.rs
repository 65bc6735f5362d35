//! Tasks that split themselves, and the handles of what they have forked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::job::Work;
use super::join;
use super::local::Local;
use crate::interrupt;
use crate::sync::Deadline;
use crate::task::{ExecutionError, Task, TaskHandle, TaskId};

/// A computation that splits itself into smaller ones.
///
/// For ports of Java's `RecursiveTask` and `RecursiveAction` (`Output = ()`), and for tasks that
/// carry state. Closures with [`join`](super::join) are shorter and may borrow.
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
        self.local.push(Work::Task(task));
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
        let (mut left, mut right) = join::join(core, || all(core, tasks), || all(core, right));
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

    /// Waits for the end of the task, whatever it is and whatever interrupts come.
    #[doc(alias = "quietlyJoin")]
    pub fn wait(&self) {
        Local::with(|local| {
            if let Some(local) = local {
                self.help(local);
            }
            if !self.handle.is_done() {
                self.sleep(local);
            }
        });
    }

    /// Waits for the task, but no longer than `timeout`, and gives its value.
    ///
    /// # Errors
    ///
    /// As [`TaskHandle::get_timeout`].
    pub fn get_timeout(&mut self, timeout: Duration) -> Result<T, ExecutionError> {
        self.handle.get_timeout(timeout)
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
    /// it; else gives the handle back.
    ///
    /// # Errors
    ///
    /// The handle.
    pub fn try_unfork(self) -> Result<(Task, TaskHandle<T>), Self> {
        let newest = Local::with(|local| {
            let local = local.filter(|local| local.is_of(&self.core))?;
            match local.deque.pop()? {
                Work::Task(task) if task.id() == self.handle.id() => Some(task),
                other => {
                    local.deque.push(other);
                    None
                }
            }
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

    /// Runs the task if nobody has started it; else work that its runner has forked since.
    fn help(&self, local: &Local) {
        if local.is_of(&self.core) && !self.handle.is_done() {
            match local.deque.pop() {
                Some(Work::Task(task)) if task.id() == self.handle.id() => local.run_task(task),
                Some(other) => local.deque.push(other),
                None => {}
            }
        }
        // Buried under newer forks, or with another worker who has not begun: run from here.
        self.handle.run_here();
        while !self.handle.is_done() {
            let runner = self.core.runner_of(self.handle.id());
            let Some(work) = runner.and_then(|runner| self.core.steal_from(runner)) else {
                break;
            };
            local.run(work);
            local.member.count_steal();
        }
    }

    fn sleep(&self, local: Option<&Local>) {
        if let Some(local) = local {
            local.core.begin_block();
        }
        let mut interrupted = false;
        while self.handle.wait_by(Deadline::Never).is_err() {
            interrupted = true;
        }
        if interrupted {
            interrupt::current().interrupt();
        }
        if let Some(local) = local {
            local.core.end_block();
        }
    }
}

impl<T> fmt::Debug for ForkHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkHandle").field(&self.handle).finish()
    }
}
