//! Closures for every executor: execute, submit, invoke all, invoke any.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::executor::{Executor, RejectedExecution};
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::Deadline;
use crate::task::{
    CancelMode, Cancellation, ExecutionError, Failure, Handle, Task, TaskBuilder, TaskHandle,
    TaskId,
};

/// What every executor can do with closures; a blanket trait, also for `dyn Executor`.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// pool.execute(|| println!("no handle, no result")).unwrap();
/// let mut answer = pool.submit(|| 6 * 7).unwrap();
/// assert_eq!(answer.get().unwrap(), 42);
/// let fastest = pool.invoke_any([|| Ok::<_, std::io::Error>("first"), || Ok("second")]);
/// assert!(fastest.is_ok());
/// ```
#[doc(alias = "AbstractExecutorService")]
pub trait Submit: Executor {
    /// Runs the closure some time; gives the id of the task made of it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) -> Result<TaskId, RejectedExecution> {
        let task = self.prepare(TaskBuilder::new()).build(body);
        let id = task.id();
        self.execute_task(task).map(|()| id)
    }

    /// Runs the closure some time; gives the handle to what it returns.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        send(
            self,
            self.prepare(TaskBuilder::new()).build_with_handle(body),
        )
    }

    /// Runs the closure with this input some time; returns the id of the task.
    ///
    /// If the executor rejects the task, the input can be taken back, with
    /// [`RejectedExecution::into_input`]; and likewise from a task that `shutdown_now` returns, with
    /// [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task.
    fn execute_with<I: Send + 'static>(
        &self,
        input: I,
        body: impl FnOnce(I) + Send + 'static,
    ) -> Result<TaskId, RejectedExecution> {
        let task = self
            .prepare(TaskBuilder::new())
            .build_with_input(input, body);
        let id = task.id();
        self.execute_task(task).map(|()| id)
    }

    /// Runs the closure with this input some time; returns the handle to its value.
    ///
    /// If the executor rejects the task, the input can be taken back, with
    /// [`RejectedExecution::into_input`]; and likewise from a task that `shutdown_now` returns, with
    /// [`Task::into_input`].
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit_with<I: Send + 'static, T: Send + 'static>(
        &self,
        input: I,
        body: impl FnOnce(I) -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        send(
            self,
            self.prepare(TaskBuilder::new())
                .build_with_input_and_handle(input, body),
        )
    }

    /// Runs the closure some time; gives the handle to a value that is known already.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    #[doc(alias = "submit")]
    fn submit_with_result<T: Send + 'static>(
        &self,
        body: impl FnOnce() + Send + 'static,
        value: T,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        self.submit(move || {
            body();
            value
        })
    }

    /// Runs the closure some time; an error that it returns is the task's failure, as a panic is.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    fn submit_fallible<T, E>(
        &self,
        body: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        send(self, fallible(self, body))
    }

    /// Runs all closures and waits for all of them; gives one handle each, in order, all done.
    ///
    /// A task that fails says so in its handle.
    ///
    /// # Errors
    ///
    /// [`InvokeError::Rejected`] or [`InvokeError::Interrupted`]; what was submitted is cancelled,
    /// and what runs is interrupted.
    fn invoke_all<T, F, I>(&self, bodies: I) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_all(self, bodies, None)
    }

    /// Like [`invoke_all`](Self::invoke_all), but for no longer than `timeout`: then what is not
    /// done is cancelled and interrupted, and all handles come back, all done.
    ///
    /// # Errors
    ///
    /// As [`invoke_all`](Self::invoke_all).
    fn invoke_all_timeout<T, F, I>(
        &self,
        bodies: I,
        timeout: Duration,
    ) -> Result<Vec<TaskHandle<T>>, InvokeError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_all(self, bodies, Some(Deadline::after(timeout)))
    }

    /// Runs closures until one succeeds, and gives its value; the others are cancelled, and
    /// interrupted if they run.
    ///
    /// They are submitted one by one, and no more than necessary.
    ///
    /// # Errors
    ///
    /// [`InvokeError::Failed`] with the last failure if none succeeds, [`InvokeError::Empty`] if
    /// there is none, [`InvokeError::Rejected`] or [`InvokeError::Interrupted`].
    fn invoke_any<T, E, F, I>(&self, bodies: I) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_any(self, bodies, None)
    }

    /// Like [`invoke_any`](Self::invoke_any), but for no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`invoke_any`](Self::invoke_any), or [`InvokeError::TimedOut`].
    fn invoke_any_timeout<T, E, F, I>(&self, bodies: I, timeout: Duration) -> Result<T, InvokeError>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        I: IntoIterator<Item = F>,
    {
        invoke_any(self, bodies, Some(Deadline::after(timeout)))
    }
}

impl<E: Executor + ?Sized> Submit for E {}

/// Why [`Submit::invoke_all`] or [`Submit::invoke_any`] gave up.
#[derive(Debug)]
#[non_exhaustive]
pub enum InvokeError {
    /// There was nothing to choose from.
    Empty,
    /// The executor refused a task, which is inside.
    Rejected(RejectedExecution),
    /// None succeeded; this is the last failure.
    Failed(ExecutionError),
    /// The waiting thread was interrupted; its flag is clear.
    Interrupted,
    /// None succeeded in time.
    TimedOut,
}

impl fmt::Display for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there are no tasks to choose from"),
            Self::Rejected(refused) => refused.fmt(f),
            Self::Failed(error) => write!(f, "no task succeeded; the last: {error}"),
            Self::Interrupted => f.write_str("the waiting thread was interrupted"),
            Self::TimedOut => f.write_str("no task succeeded in time"),
        }
    }
}

impl Error for InvokeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(refused) => Some(refused),
            Self::Failed(error) => Some(error),
            Self::Empty | Self::Interrupted | Self::TimedOut => None,
        }
    }
}

/// Gives the executor a task, and the caller its handle.
fn send<E: Executor + ?Sized, T>(
    executor: &E,
    (task, handle): (Task, TaskHandle<T>),
) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
    match executor.execute_task(task) {
        Ok(()) => Ok(handle),
        Err(refused) => Err(refused.with_handle(handle)),
    }
}

fn fallible<X, T, E>(
    executor: &X,
    body: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> (Task, TaskHandle<T>)
where
    X: Executor + ?Sized,
    T: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let body = move || body().map_err(Failure::from_error);
    executor.prepare(TaskBuilder::new()).build_fallible(body)
}

/// Handles whose tasks are cancelled and interrupted, for this reason, unless they are released.
struct CancelAll<T: Send + 'static> {
    handles: Vec<TaskHandle<T>>,
    reason: Cancellation,
}

impl<T: Send + 'static> CancelAll<T> {
    const fn new() -> Self {
        Self {
            handles: Vec::new(),
            reason: Cancellation::Requested,
        }
    }

    fn release(mut self) -> Vec<TaskHandle<T>> {
        std::mem::take(&mut self.handles)
    }
}

impl<T: Send + 'static> Drop for CancelAll<T> {
    fn drop(&mut self) {
        cancel_all(&self.handles, self.reason);
    }
}

/// Cancels the newest first: a worker whose task is interrupted goes on to the next one at once, and
/// that one must be cancelled by then.
fn cancel_all<T: Send + 'static>(handles: &[TaskHandle<T>], reason: Cancellation) {
    for handle in handles.iter().rev() {
        crate::unwind::ignore_panic(|| {
            handle.cancel_for(CancelMode::Interrupt, reason);
        });
    }
}

fn invoke_all<X, T, F>(
    executor: &X,
    bodies: impl IntoIterator<Item = F>,
    deadline: Option<Deadline>,
) -> Result<Vec<TaskHandle<T>>, InvokeError>
where
    X: Executor + ?Sized,
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    // Made first, as in the JDK: what is not submitted any more in time is cancelled unrun.
    let mut tasks = Vec::new();
    let mut handles = CancelAll::new();
    for body in bodies {
        let (task, handle) = executor.prepare(TaskBuilder::new()).build_with_handle(body);
        tasks.push(task);
        handles.handles.push(handle);
    }
    let is_late = || deadline.is_some_and(Deadline::has_passed);
    for task in tasks {
        if is_late() {
            task.abandon(Cancellation::TimedOut);
            continue;
        }
        executor.execute_task(task).map_err(InvokeError::Rejected)?;
    }
    for at in 0..handles.handles.len() {
        match handles.handles[at].wait_by(deadline.unwrap_or(Deadline::Never)) {
            Ok(true) => {}
            Ok(false) => cancel_all(&handles.handles[at..], Cancellation::TimedOut),
            Err(Interrupted) => return Err(InvokeError::Interrupted),
        }
    }
    Ok(handles.release())
}

fn invoke_any<X, T, E, F>(
    executor: &X,
    bodies: impl IntoIterator<Item = F>,
    deadline: Option<Deadline>,
) -> Result<T, InvokeError>
where
    X: Executor + ?Sized,
    T: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce() -> Result<T, E> + Send + 'static,
{
    let done = std::sync::Arc::new(LinkedBlockingQueue::new());
    let mut bodies = bodies.into_iter();
    let mut handles = CancelAll::new();
    let mut running = 0_usize;
    let mut last = None;
    let mut more = true;
    loop {
        let finished = done.poll();
        if finished.is_none() && more {
            let Some(body) = bodies.next() else {
                more = false;
                continue;
            };
            let (task, handle) = fallible(executor, body);
            let (at, done) = (handles.handles.len(), std::sync::Arc::clone(&done));
            handle.on_done(move |_| drop(done.offer(at)));
            handles.handles.push(handle);
            executor.execute_task(task).map_err(InvokeError::Rejected)?;
            running += 1;
            continue;
        }
        let finished = match finished {
            Some(at) => Some(at),
            None if running == 0 => {
                return Err(last.map_or(InvokeError::Empty, InvokeError::Failed));
            }
            None => match deadline {
                None => Some(done.take().map_err(|_| InvokeError::Interrupted)?),
                Some(deadline) => done
                    .poll_timeout(deadline.remaining().unwrap_or(Duration::MAX))
                    .map_err(|_| InvokeError::Interrupted)?,
            },
        };
        let Some(at) = finished else {
            handles.reason = Cancellation::TimedOut;
            return Err(InvokeError::TimedOut);
        };
        running -= 1;
        match handles.handles[at].try_get() {
            Some(Ok(value)) => {
                handles.reason = Cancellation::Superseded;
                return Ok(value);
            }
            Some(Err(error)) => last = Some(error),
            None => {}
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Submit;
    use crate::executor::{Executor, RejectedExecution};
    use crate::queue::{BlockingQueue, LinkedBlockingQueue};
    use crate::sync::{UnsafeCell, model, thread};
    use crate::task::Task;

    /// An executor with one thread, made of a queue.
    struct OneThread(LinkedBlockingQueue<Task>);

    impl Executor for OneThread {
        fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
            assert!(self.0.offer(task).is_ok());
            Ok(())
        }
    }

    /// The cell is written by the submitter, by the task, and read by the getter. Nothing but the
    /// submission and the get orders these accesses: a missing order is an error of the model.
    ///
    /// ES-014
    #[test]
    fn writes_before_submission_reach_the_task_and_its_writes_reach_the_getter() {
        model(|| {
            let executor = Arc::new(OneThread(LinkedBlockingQueue::new()));
            let worker = {
                let executor = Arc::clone(&executor);
                thread::Builder::new()
                    .spawn(move || executor.0.take().unwrap().run())
                    .unwrap()
            };
            let cell = UnsafeCell::new(());
            cell.with_mut(|_| ());
            let body = move || {
                cell.with_mut(|_| ());
                cell
            };
            let cell = executor.submit(body).unwrap().get().unwrap();
            cell.with(|_| ());
            worker.join().unwrap();
        });
    }
}
