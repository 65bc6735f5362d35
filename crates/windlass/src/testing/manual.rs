//! An executor whose tasks run when the test asks for it.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::choice::Choice;
use super::stepper::Stepper;
use crate::clock::TestClock;
use crate::executor::{Executor, ExecutorService, RejectedExecution, ShutdownCancels};
use crate::interrupt::Interrupted;
use crate::task::{LimitOwner, Task, TaskHandle, TaskId};

/// An executor whose tasks run when the test asks for it, on the thread that asks.
///
/// Code that takes an [`Executor`] or [`ExecutorService`] can so be stopped between any two of its
/// tasks, and its tasks can run in any order. Its clock stands still until it is
/// [advanced](Self::advance).
///
/// A task that waits for the handle of another runs it first. So does a wait inside of
/// [`enter`](Self::enter), and [`await_termination`](ExecutorService::await_termination) runs
/// everything. A limit of a wait is time on the clock, which is advanced no further. A wait without a limit
/// that nothing can end panics: at once if a task waits for one that is
/// below it on the stack, otherwise after [`PATIENCE`](super::PATIENCE). A panic of a task without a
/// handle reaches the caller that runs it.
///
/// Other waits, such as [`sleep`](crate::interrupt::sleep), block the thread that runs the task until another
/// one advances the clock.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::testing::ManualExecutor;
///
/// let executor = ManualExecutor::new();
/// let first = executor.submit(|| 1).unwrap();
/// let second = executor.submit(|| 2).unwrap();
/// assert!(executor.run(&second));
/// assert!(second.is_done() && !first.is_done());
/// assert_eq!(executor.run_until_idle(), 1);
///
/// let later = executor.schedule(Duration::from_secs(3600), || 3).unwrap();
/// executor.advance(Duration::from_secs(3600));
/// assert_eq!(later.join().unwrap(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct ManualExecutor(Arc<Stepper>);

/// Its state is behind a lock that no user code runs under.
impl UnwindSafe for ManualExecutor {}
impl RefUnwindSafe for ManualExecutor {}

impl ManualExecutor {
    /// Creates an executor with a clock of its own. Clones of it are the same executor.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(TestClock::new())
    }

    /// Creates an executor on this clock.
    #[must_use]
    pub fn with_clock(clock: TestClock) -> Self {
        Self(Stepper::new(Choice::Oldest, clock))
    }

    /// Runs the oldest queued task. Returns whether there was one.
    pub fn run_next(&self) -> bool {
        self.0.run_next()
    }

    /// Runs this task, if it is queued; takes the task's id or a handle of it.
    pub fn run(&self, task: impl Into<TaskId>) -> bool {
        self.0.run_task(task.into())
    }

    /// Runs the tasks that are queued now, and not those that they submit. Returns how many.
    pub fn run_all(&self) -> usize {
        self.0.run_all()
    }
}

impl Default for ManualExecutor {
    fn default() -> Self {
        Self::new()
    }
}

/// Implements what the executors for tests have in common.
macro_rules! stepping {
    ($executor:ident, |$this:ident| $stepper:expr) => {
        impl $executor {
            /// Runs tasks until none is queued, also those that are submitted meanwhile. Returns how many.
            pub fn run_until_idle(&self) -> usize {
                let $this = self;
                $stepper.run_until_idle()
            }

            /// Returns the ids of the queued tasks, in order of submission.
            #[must_use]
            pub fn queued(&self) -> Vec<TaskId> {
                let $this = self;
                $stepper.queued()
            }

            /// Returns how many tasks are scheduled for later.
            #[must_use]
            pub fn delayed_count(&self) -> usize {
                let $this = self;
                $stepper.delayed_count()
            }

            /// Returns the clock that the tasks read.
            #[must_use]
            pub fn clock(&self) -> &TestClock {
                let $this = self;
                $stepper.clock()
            }

            /// Advances the clock, and runs all that is queued or becomes due, each at its time.
            /// Returns how many tasks have run.
            pub fn advance(&self, time: Duration) -> usize {
                let $this = self;
                $stepper.advance(time)
            }

            /// Queues a task when the clock has advanced by `delay`.
            ///
            /// # Errors
            ///
            /// [`RejectedExecution`], with the task and its handle, if the executor is shut down.
            pub fn schedule<T: Send + 'static>(
                &self,
                delay: Duration,
                body: impl FnOnce() -> T + Send + 'static,
            ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
                let $this = self;
                let (task, handle) = Task::with_handle(body);
                match $stepper.submit(task, delay) {
                    Ok(()) => Ok(handle),
                    Err(rejected) => Err(rejected.with_handle(handle)),
                }
            }

            /// Runs `f` on the clock of this executor. A wait for a handle inside of it runs queued
            /// tasks instead of blocking the thread forever, and advances the clock if none is queued, up to
            /// its limit if it has one.
            pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
                let $this = self;
                $stepper.enter(f)
            }
        }

        impl Executor for $executor {
            fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
                let $this = self;
                $stepper.submit(task, Duration::ZERO)
            }

            fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
                let $this = self;
                Some(Arc::clone(&$stepper) as _)
            }

            fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
                let $this = self;
                Some(Arc::clone($stepper.cancels()))
            }
        }

        impl ExecutorService for $executor {
            /// Stops accepting tasks. Those that are queued or scheduled run when they are asked to.
            fn shutdown(&self) {
                let $this = self;
                $stepper.shutdown();
            }

            fn shutdown_now(&self) -> Vec<Task> {
                let $this = self;
                $stepper.shutdown_now()
            }

            fn cancelled_by_shutdown(&self) -> Option<u64> {
                let $this = self;
                Some($stepper.cancels().count())
            }

            fn is_shutdown(&self) -> bool {
                let $this = self;
                $stepper.is_shutdown()
            }

            fn is_terminated(&self) -> bool {
                let $this = self;
                $stepper.is_terminated()
            }

            /// Runs what is queued, and what is scheduled within `timeout`, to which the clock is
            /// advanced as far as needed.
            ///
            /// # Panics
            ///
            /// If it is called by a task of this executor that would wait for itself.
            fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
                let $this = self;
                $stepper.await_termination(timeout)
            }
        }
    };
}

pub(super) use stepping;

stepping!(ManualExecutor, |executor| executor.0);
