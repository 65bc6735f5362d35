//! Recursive tasks, which split themselves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::deque::LocalOrder;
use super::handle::ForkHandle;
use super::help_quiesce::help_quiesce;
use super::job::Work;
use super::join::join_in;
use super::local::Local;
use super::shared::{Config, Shared};
use super::worker;
use crate::sync::Deadline;
use crate::task::{Sources, Task, TaskHandle};
use crate::thread_factory::DefaultThreadFactory;
use crate::times::Times;

/// A computation that splits itself into smaller ones.
///
/// Meant for ports of Java's `RecursiveTask` and `RecursiveAction` (`Output = ()`), and for tasks with
/// state. Closures with [`join`](fn@super::join) are shorter and may borrow.
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
    /// The result.
    type Output: Send;

    /// Computes the result, and may fork further tasks.
    fn compute(self, cx: &Cx<'_>) -> Self::Output;
}

/// The context of a [`RecursiveTask`]: the worker that runs it.
pub struct Cx<'a> {
    local: &'a Local,
}

impl<'a> Cx<'a> {
    pub(super) fn new(local: &'a Local) -> Self {
        Self { local }
    }

    /// Forks the task, to be run by this or another worker, and returns its handle.
    pub fn fork<K>(&self, task: K) -> ForkHandle<K::Output>
    where
        K: RecursiveTask + 'static,
        K::Output: 'static,
    {
        let (task, handle) = forkable(&self.local.shared, task);
        let task = self.local.shared.record_submission_time(task);
        self.local.push(Work::task(task));
        ForkHandle::new(handle, Arc::clone(&self.local.shared))
    }

    /// Runs both tasks, potentially in parallel, and returns both results.
    ///
    /// # Panics
    ///
    /// If a task panics, after both have ended.
    pub fn join<A: RecursiveTask, B: RecursiveTask>(&self, a: A, b: B) -> (A::Output, B::Output) {
        join_in(&self.local.shared, || compute(a), || compute(b))
    }

    /// Runs all tasks, potentially in parallel, and returns all results in order.
    ///
    /// # Panics
    ///
    /// If a task panics, after all have ended.
    pub fn invoke_all<K: RecursiveTask>(&self, tasks: Vec<K>) -> Vec<K::Output> {
        all(&self.local.shared, tasks)
    }

    /// Runs tasks of the pool until none is queued, and waits until the other workers have ended theirs.
    ///
    /// Does not wait for a worker that is blocked: in a join, in a wait for a handle, or inside
    /// [`blocking`](super::blocking).
    pub fn help_quiesce(&self) {
        help_quiesce(self.local, Deadline::Never);
    }

    /// Removes the next task of this worker's own deque, without running it.
    #[must_use]
    #[doc(alias = "pollNextLocalTask")]
    pub fn poll_next_local(&self) -> Option<Task> {
        self.local.take_if(|work| !work.is_job())?.into_task()
    }

    /// Removes a task without running it: of this worker, of another one, or from the injector.
    #[must_use]
    #[doc(alias = "pollTask")]
    pub fn poll_task(&self) -> Option<Task> {
        let own = self.poll_next_local();
        let others = || match self.local.shared.steal()? {
            Work::Job(job) if job.is_join_job() => {
                Local::return_job(job);
                None
            }
            job @ Work::Job(_) => {
                self.local.push(job);
                None
            }
            task => task.into_task(),
        };
        own.or_else(others)
            .or_else(|| self.local.shared.take_submitted_task())
    }

    /// Returns how many tasks this worker has forked that have not started.
    #[must_use]
    pub fn queued_task_count(&self) -> usize {
        self.local.worker.stealer.len()
    }

    /// Returns how many more unstarted tasks this worker has forked than there are other workers.
    #[must_use]
    pub fn surplus_queued_task_count(&self) -> usize {
        let stats = self.local.shared.stats();
        self.queued_task_count()
            .saturating_sub(stats.parallelism.saturating_sub(1))
    }

    /// Returns the index of this worker, which no other worker of the pool has or had.
    #[must_use]
    pub fn worker_index(&self) -> usize {
        self.local.worker.index
    }
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("worker", &self.worker_index())
            .finish()
    }
}

/// Runs the task on the worker that this is called on; elsewhere on this thread alone.
pub(super) fn compute<K: RecursiveTask>(task: K) -> K::Output {
    Local::with(|local| match local {
        Some(local) => task.compute(&Cx::new(local)),
        None => compute_alone(task),
    })
}

/// Runs a task, which was rejected or returned, on a thread that is no worker, as the only thread of a
/// temporary pool.
#[cold]
fn compute_alone<K: RecursiveTask>(task: K) -> K::Output {
    let config = Config {
        name: "ForkJoinPool.none".into(),
        order: LocalOrder::Lifo,
        keep_alive: Duration::ZERO,
        max_spares: 0,
        factory: Arc::new(DefaultThreadFactory::named("ForkJoinPool.none")),
        uncaught: None,
        prepare: None,
        hooks: None,
        sources: Sources::default(),
        times: Times::Off,
        run_worker: worker::run,
    };
    Shared::new(config, 0).as_helper(|local| task.compute(&Cx::new(local)))
}

/// Creates a task for a deque, and its handle.
pub(super) fn forkable<K>(shared: &Arc<Shared>, task: K) -> (Task, TaskHandle<K::Output>)
where
    K: RecursiveTask + 'static,
    K::Output: 'static,
{
    let builder = shared.forked_task();
    builder.build_with_handle(move || compute(task))
}

/// Runs all tasks by splitting the list in halves, down to single tasks.
pub(super) fn all<K: RecursiveTask>(shared: &Arc<Shared>, mut tasks: Vec<K>) -> Vec<K::Output> {
    if tasks.len() > 1 {
        let right = tasks.split_off(tasks.len() / 2);
        // The second closure of a join runs first, so a worker alone keeps the order of the list.
        let (mut right, mut left) = join_in(shared, || all(shared, right), || all(shared, tasks));
        left.append(&mut right);
        return left;
    }
    tasks.into_iter().map(compute).collect()
}
