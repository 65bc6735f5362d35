//! Both halves of a task in one shared object, for code that runs tasks itself.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::body::{Body, Call, Repeating};
use super::builder::TaskBuilder;
use super::cell::Cell;
use super::cell_ref::Ref;
use super::control::TaskControl;
use super::error::{Cancellation, ExecutionError, Failure};
use super::handle_methods::{Handle, ReadingHandle, handle_methods, reading_handle_methods};
use super::head::Head;
use super::header::Header;
use super::id::TaskId;
use super::linked::link;
use super::runnable::{Awaitable, RunOutcome, Runnable, Untyped};
use super::runnable_task::Task;
use super::shared::SharedHandle;
use super::transition::CancelMode;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::unwind::ignore_panic;

/// A task that every clone can run, complete, cancel and wait for.
///
/// The first completion wins: a run, [`complete`](Self::complete), [`fail`](Self::fail) or a cancel.
/// Later ones have no effect.
///
/// Its [`task`](Self::task) is a runnable half that an executor can take. As long as there is a clone or
/// a half, the task can still be run. When the last of them is dropped unrun, the task is cancelled, and
/// the [handles](Self::handle) that wait for it report that.
///
/// ```
/// use windlass::task::FutureTask;
///
/// let answer = FutureTask::new(|| 6 * 7);
/// let waiter = std::thread::spawn({
///     let answer = answer.clone();
///     move || answer.join()
/// });
/// answer.run();
/// assert_eq!(waiter.join().unwrap().unwrap(), 42);
/// assert!(!answer.complete(0));
/// ```
#[doc(alias = "RunnableFuture")]
pub struct FutureTask<T> {
    handle: SharedHandle<T>,
    starters: Arc<Starters<T>>,
}

/// Those who can start the task: the clones of the `FutureTask` and its runnable halves share one of
/// these. When the last of them goes, nobody can start the task any more, and it is abandoned.
struct Starters<T> {
    task: Ref<dyn Awaitable<T>>,
    /// The number of runnable halves.
    halves: AtomicUsize,
}

impl<T> Drop for Starters<T> {
    fn drop(&mut self) {
        ignore_panic(|| self.task.abandon());
    }
}

/// A runnable half.
struct Half<T>(Arc<Starters<T>>);

impl<T> Half<T> {
    fn new(starters: &Arc<Starters<T>>) -> Self {
        starters.halves.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(starters))
    }
}

impl<T> Deref for Half<T> {
    type Target = dyn Awaitable<T>;

    fn deref(&self) -> &Self::Target {
        &*self.0.task
    }
}

impl<T> Drop for Half<T> {
    fn drop(&mut self) {
        let is_last = self.0.halves.fetch_sub(1, Ordering::AcqRel) == 1;
        // An executor that gives a task up says why. Whoever waits for the task must be told, although a
        // clone could still run it: mostly it is a clone that waits.
        if is_last && self.state().drop_reason() != Cancellation::Dropped {
            ignore_panic(|| self.abandon());
        }
    }
}

impl<T: Send + Sync + 'static> FutureTask<T> {
    /// Creates a task whose body runs at most once.
    pub fn new(body: impl FnOnce() -> T + Send + 'static) -> Self {
        TaskBuilder::new().build_future_task(body)
    }

    /// Creates a task whose body can run many times, with [`run_and_reset`](Self::run_and_reset).
    pub fn repeating(mut body: impl FnMut() -> T + Send + 'static) -> Self {
        let header = Header::new(TaskId::next(), None);
        Self::of_cell(Cell::new(header, Repeating(move || Ok(body()))))
    }

    fn of_cell<B: Body<T> + 'static>(cell: Ref<Cell<T, B>>) -> Self {
        let task = cell.awaitable();
        Self {
            handle: SharedHandle::new(task.clone()),
            starters: Arc::new(Starters {
                task,
                halves: AtomicUsize::new(0),
            }),
        }
    }

    /// Runs the task on this thread, unless it is done or running.
    ///
    /// # Panics
    ///
    /// If a done-callback panics; a panic of the task itself is returned by `get`.
    pub fn run(&self) {
        let _ = self.starters.task.run();
    }

    /// Runs the task without keeping a value, so that it can run again.
    ///
    /// Returns false if it did not run (it is done, or running, or its body can run only once), or has
    /// failed, which completes it.
    ///
    /// # Panics
    ///
    /// If the task fails and a done-callback panics.
    pub fn run_and_reset(&self) -> bool {
        matches!(self.starters.task.run_and_reset(), RunOutcome::Completed)
    }

    /// Completes the task with a value; returns false, and drops the value, if it is done.
    ///
    /// A run under way is not interrupted.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "set")]
    pub fn complete(&self, value: T) -> bool {
        self.starters.task.complete(Ok(value))
    }

    /// Completes the task with a failure; returns false if it is done.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "setException")]
    pub fn fail(&self, failure: Failure) -> bool {
        self.starters.task.complete(Err(failure))
    }

    /// Returns a runnable half, for an executor.
    ///
    /// A half that is dropped unrun leaves the task to the clones and to the other halves. But if an
    /// executor gives up the last half (rejects, discards, drains or removes it), the task is cancelled
    /// with that reason when the half is dropped, unless it has started.
    pub fn task(&self) -> Task {
        Task::of_one_of_many(Half::new(&self.starters))
    }

    /// Returns a handle that waits for the task, and cannot run or complete it.
    pub fn handle(&self) -> SharedHandle<T> {
        self.handle.clone()
    }
}

impl TaskBuilder {
    /// Creates a [`FutureTask`], to be run or completed by its user.
    pub fn build_future_task<T: Send + Sync + 'static>(
        mut self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> FutureTask<T> {
        let (context, tokens) = (self.take_context(), self.take_tokens());
        let is_limited = self.has_limits();
        let header = Header::new(TaskId::next(), self.into_attributes());
        let body = move || match context {
            None => body(),
            Some(context) => context.run(body),
        };
        let cell = Cell::new(header, Call(body));
        if is_limited {
            cell.limit();
        }
        let task = FutureTask::of_cell(cell);
        if let Some(tokens) = tokens {
            link(&task.control(), tokens);
        }
        task
    }
}

impl<T> Handle for FutureTask<T> {
    fn head(&self) -> &Head {
        self.handle.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.handle.to_untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.handle.cancel_for(mode, reason)
    }
}

impl<T: Send + Sync + 'static> ReadingHandle<T> for FutureTask<T> {
    fn outcome_ref(&self) -> Option<Result<&T, ExecutionError>> {
        self.handle.outcome_ref()
    }

    fn to_shareable(&self) -> Ref<dyn Awaitable<T>> {
        self.handle.to_shareable()
    }
}

handle_methods!([T: Send + Sync + 'static] FutureTask<T>, control = TaskControl);
reading_handle_methods!([T: Send + Sync + 'static] FutureTask<T>, value = T, shared = SharedHandle<T>);

impl<T> Clone for FutureTask<T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
            starters: Arc::clone(&self.starters),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Future for FutureTask<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(context)
    }
}

/// Written with the JDK's words: not completed, completed normally, completed exceptionally, cancelled.
impl<T: Send + Sync + 'static> fmt::Debug for FutureTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("FutureTask", self.failure_now().as_ref(), f)
    }
}
