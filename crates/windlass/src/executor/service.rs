//! What runs tasks: [`Executor`], and [`ExecutorService`] with a lifecycle.

use std::sync::Arc;
use std::time::Duration;

use super::rejected::RejectedExecution;
use crate::interrupt::{self, Interrupted};
use crate::task::{Task, TaskBuilder};

/// Runs tasks: at some later time, on whatever thread it chooses, each at most once.
///
/// What a submitter did before is visible to the task.
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
    /// Takes the task, to run it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task. A policy that drops tasks silently answers `Ok`; the
    /// handle of such a task reports that it was cancelled, and why.
    #[doc(alias = "execute")]
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution>;

    /// Completes what a task is to carry before it is made.
    ///
    /// All submissions of closures go through this step, so an executor can give its tasks names,
    /// priorities, or a state that is found again in queues, hooks and handed-back tasks.
    #[doc(alias = "newTaskFor")]
    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        task
    }
}

/// An executor with a life that can be ended.
///
/// Running; then shut down: nothing new is taken, what was taken is finished; then terminated:
/// nothing runs any more and nothing will.
pub trait ExecutorService: Executor {
    /// Takes nothing new from now on; what was taken is still run. Does not wait.
    fn shutdown(&self);

    /// Takes nothing new, interrupts what runs, and hands back the tasks that never started, in
    /// queue order.
    ///
    /// They are pending while you hold them; run them, pass them on, or drop them, which completes
    /// their handles as cancelled.
    fn shutdown_now(&self) -> Vec<Task>;

    /// Whether shutdown has been asked for.
    fn is_shutdown(&self) -> bool;

    /// Whether everything has ended after a shutdown.
    fn is_terminated(&self) -> bool;

    /// Waits until everything has ended after a shutdown, but no longer than `timeout`; says
    /// whether it has.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if it had to wait.
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted>;

    /// Whether shutdown has been asked for and not everything has ended yet.
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
    /// Waits for ever for a task that never ends, and so for itself if called inside a task.
    fn close(&self) {
        close(self);
    }
}

/// What [`ExecutorService::close`] does unless an executor does it otherwise.
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

/// Passes both traits on to what a pointer points to.
macro_rules! pass_on {
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

pass_on!(&E, Arc<E>, Box<E>);
