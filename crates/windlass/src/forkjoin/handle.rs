//! The handle of a forked task.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::join;
use super::local::Local;
use super::shared::Shared;
use crate::interrupt::{self, Interrupted};
use crate::sync::Deadline;
use crate::task::{ExecutionError, Failure, Task, TaskHandle, TaskId};

/// The handle of a task that was forked.
///
/// On a worker, [`join`](Self::join) runs the task itself if nobody has started it. Dropping the
/// handle detaches the task.
#[must_use = "dropping the handle detaches the task"]
pub struct ForkHandle<T> {
    handle: TaskHandle<T>,
    shared: Arc<Shared>,
}

impl<T: Send + 'static> ForkHandle<T> {
    pub(super) fn new(handle: TaskHandle<T>, shared: Arc<Shared>) -> Self {
        Self { handle, shared }
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
            let local = local.filter(|local| local.is_of(&self.shared))?;
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
        match local.filter(|local| local.is_of(&self.shared)) {
            Some(local) => self.help_on(local),
            None if self.shared.has_no_workers() => {
                self.shared.as_helper(|local| self.run_here(local));
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
        let runner = || {
            let runner = self.shared.roster.snapshot().runner_of(id);
            runner.filter(|_| !self.handle.is_done())
        };
        while join::leapfrog(local, runner) {}
    }

    fn run_here(&self, local: &Local) {
        if !self.handle.is_done() {
            local.run_nested(self.id().as_u64(), || self.handle.run_here());
        }
    }
}

impl<T> fmt::Debug for ForkHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkHandle").field(&self.handle).finish()
    }
}
