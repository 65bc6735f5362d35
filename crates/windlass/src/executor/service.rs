//! What runs tasks: [`Executor`], and [`ExecutorService`] with a lifecycle.

use std::sync::Arc;
use std::time::Duration;

use super::rejected::RejectedExecution;
use crate::interrupt::{self, Interrupted};
use crate::task::{Task, TaskBuilder};

/// An object that runs submitted tasks, each at most once, at a time and on a thread of its choice.
///
/// What a submitter did before the submission is visible to the task.
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
/// let mut sum = Here.submit(|| 1 + 2).unwrap();
/// assert_eq!(sum.get().unwrap(), 3);
/// ```
pub trait Executor: Send + Sync {
    /// Accepts the task, to run it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task. A policy that drops tasks silently returns `Ok`; the
    /// handle of such a task completes as cancelled, with the reason.
    #[doc(alias = "execute")]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution>;

    /// Completes the builder of a task.
    ///
    /// Every submission of a closure calls it, so an executor can give its tasks names, priorities, or
    /// an attachment that queues, hooks and rejections show.
    #[doc(alias = "newTaskFor")]
    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        task
    }
}

/// An executor that can be shut down.
///
/// It runs; then it is shut down: it accepts nothing new and finishes what it has accepted; then it
/// is terminated: nothing runs any more.
pub trait ExecutorService: Executor {
    /// Accepts nothing new from now on; what was accepted is still run. Does not wait.
    fn shutdown(&self);

    /// Accepts nothing new, interrupts what runs, and returns the tasks that never started, in queue
    /// order.
    ///
    /// They stay pending: run them, submit them elsewhere, or drop them, which completes their handles
    /// as cancelled.
    fn shutdown_now(&self) -> Vec<Task>;

    /// Returns whether it was shut down.
    fn is_shutdown(&self) -> bool;

    /// Returns whether it was shut down and everything has ended.
    fn is_terminated(&self) -> bool;

    /// Waits until everything has ended after a shutdown, no longer than `timeout`; returns whether it
    /// has.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread was interrupted while it had to wait.
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted>;

    /// Returns whether it was shut down and not everything has ended.
    fn is_terminating(&self) -> bool {
        self.is_shutdown() && !self.is_terminated()
    }

    /// Shuts down and waits until everything has ended.
    ///
    /// If the waiting thread is interrupted, it calls [`shutdown_now`](Self::shutdown_now) once and
    /// goes on waiting; the interrupt is pending again when this returns.
    ///
    /// # Deadlocks
    ///
    /// Waits forever for a task that never ends, and so for itself if called inside a task.
    fn close(&self) {
        close(self);
    }
}

/// The default of [`ExecutorService::close`].
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
