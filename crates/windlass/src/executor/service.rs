//! The executor traits: [`Executor`], and [`ExecutorService`] with a lifecycle.

use std::sync::Arc;
use std::time::Duration;

use super::rejected::RejectedExecution;
use super::running::RunningTask;
use super::shutdown_cancels::ShutdownCancels;
use crate::interrupt::{self, Interrupted};
use crate::task::{LimitOwner, Task, TaskBuilder};

/// An object that runs submitted tasks, each at most once; it chooses the thread and the time.
///
/// What the submitting thread does before the submission happens before the task.
///
/// ```
/// use windlass::RejectedExecution;
/// use windlass::prelude::*;
/// use windlass::task::Task;
///
/// /// Runs every task where it is submitted.
/// struct Here;
///
/// impl Executor for Here {
///     fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
///         task.run();
///         Ok(())
///     }
/// }
///
/// let sum = Here.submit(|| 1 + 2).unwrap();
/// assert_eq!(sum.join().unwrap(), 3);
/// ```
pub trait Executor: Send + Sync {
    /// Accepts the task, and runs it now or later.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task. A policy that drops tasks silently returns `Ok`; the
    /// handle of such a task completes as cancelled, with the reason.
    #[doc(alias = "execute")]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution>;

    /// Adds to the builder of a task.
    ///
    /// Every submission of a closure calls it, so an executor can set a name, a priority or an
    /// attachment for its tasks.
    #[doc(alias = "newTaskFor")]
    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        task
    }

    /// Returns who counts the tasks whose time limits are up.
    #[doc(hidden)]
    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        None
    }

    /// Returns where futures are registered, so that a shutdown finds those that are suspended.
    #[doc(hidden)]
    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        None
    }
}

/// An executor that can be shut down.
///
/// It has three states: it runs; after a shutdown it accepts no more tasks and finishes the accepted
/// ones; when all of them have ended, it is terminated.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
///
/// fn end(service: &dyn ExecutorService) -> usize {
///     service.shutdown();
///     if service.await_termination(Duration::from_secs(10)) == Ok(true) {
///         return 0;
///     }
///     service.shutdown_now().len() // dropped, which cancels them
/// }
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// pool.execute(|| ()).unwrap();
/// assert_eq!(end(&pool), 0);
/// ```
pub trait ExecutorService: Executor {
    /// Stops accepting tasks; accepted tasks still run. Does not wait.
    fn shutdown(&self);

    /// Stops accepting tasks, interrupts those that run, and returns those that have not started, in
    /// queue order.
    ///
    /// The returned tasks stay pending: run them, submit them elsewhere, or drop them, which completes
    /// their handles as cancelled. Handing them back takes time and memory for each: a million queued
    /// tasks take some 30 ms, most of it for the 40 MB of the list.
    fn shutdown_now(&self) -> Vec<Task>;

    /// Returns whether it was shut down.
    fn is_shutdown(&self) -> bool;

    /// Returns whether it was shut down and all tasks have ended.
    fn is_terminated(&self) -> bool;

    /// Waits until the executor is terminated, no longer than `timeout`; returns whether it is.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread was interrupted while it had to wait.
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted>;

    /// Returns the tasks that run at present, each with its name and the time since when; empty for an
    /// executor that does not know.
    ///
    /// A worker between two tasks is not listed. See [`RunningTask::since`] for how exact the times are.
    fn running_tasks(&self) -> Vec<RunningTask> {
        Vec::new()
    }

    /// Returns how many tasks have run and ended; `None` for an executor that does not count them.
    fn completed_count(&self) -> Option<u64> {
        None
    }

    /// Returns how many accepted tasks its shutdown has cancelled; `None` for an executor that does not
    /// count them.
    ///
    /// Those are tasks that neither run after a shutdown nor are returned by
    /// [`shutdown_now`](Self::shutdown_now): periodic and delayed ones, as the executor is set to, and futures that are
    /// suspended. Their handles have the reason.
    fn cancelled_by_shutdown(&self) -> Option<u64> {
        None
    }

    /// Returns whether it was shut down and is not yet terminated.
    fn is_terminating(&self) -> bool {
        self.is_shutdown() && !self.is_terminated()
    }

    /// Shuts down and waits until the executor is terminated.
    ///
    /// If the waiting thread is interrupted, it calls [`shutdown_now`](Self::shutdown_now) once, drops
    /// the returned tasks and continues to wait; the interrupt is pending again when this returns.
    ///
    /// # Deadlocks
    ///
    /// Waits forever for a task that never ends, and so for itself if called inside a task.
    fn close(&self) {
        close(self);
    }
}

/// Implements the default of [`ExecutorService::close`].
pub(crate) fn close<E: ExecutorService + ?Sized>(executor: &E) {
    let mut interrupted = false;
    executor.shutdown();
    loop {
        match executor.await_termination(Duration::MAX) {
            Ok(true) => break,
            Ok(false) => {}
            Err(Interrupted) => {
                if !interrupted {
                    drop(executor.shutdown_now());
                }
                interrupted = true;
            }
        }
    }
    if interrupted {
        interrupt::current().interrupt();
    }
}

/// Implements both traits for a pointer to an executor.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<E: Executor + ?Sized> Executor for $pointer {
            fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
                (**self).execute_task(task)
            }
            fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
                (**self).prepare(task)
            }
            fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
                (**self).limit_owner()
            }
            fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
                (**self).shutdown_cancels()
            }
        }

        impl<E: ExecutorService + ?Sized> ExecutorService for $pointer {
            fn shutdown(&self) {
                (**self).shutdown();
            }
            fn shutdown_now(&self) -> Vec<Task> {
                (**self).shutdown_now()
            }
            fn is_shutdown(&self) -> bool {
                (**self).is_shutdown()
            }
            fn is_terminated(&self) -> bool {
                (**self).is_terminated()
            }
            fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
                (**self).await_termination(timeout)
            }
            fn running_tasks(&self) -> Vec<RunningTask> {
                (**self).running_tasks()
            }
            fn completed_count(&self) -> Option<u64> {
                (**self).completed_count()
            }
            fn cancelled_by_shutdown(&self) -> Option<u64> {
                (**self).cancelled_by_shutdown()
            }
            fn is_terminating(&self) -> bool {
                (**self).is_terminating()
            }
            fn close(&self) {
                (**self).close();
            }
        }
    )*};
}

forward!(&E, Arc<E>, Box<E>);
