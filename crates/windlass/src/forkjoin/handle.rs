//! The handle of a forked task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::join::leapfrog;
use super::local::Local;
use super::shared::Shared;
use crate::executor::RejectedExecution;
use crate::interrupt::ThreadContext;
use crate::sync::Deadline;
use crate::task::{
    Awaitable, CancelMode, Cancellation, ExecutionError, Failure, Handle, Head, Helped,
    OwningHandle, Ref, ShareableHandle, SharedHandle, Task, TaskControl, TaskHandle, Untyped,
    WaitError, WaitHelper, Wanted, handle_methods, owning_handle_methods, run_in_place,
};

/// The handle of a task that was forked.
///
/// On a worker, [`join`](Self::join) and every other wait run the task if no thread has started it.
/// Dropping the handle detaches the task.
#[must_use = "dropping the handle detaches the task"]
pub struct ForkHandle<T> {
    handle: TaskHandle<T>,
    shared: Arc<Shared>,
}

impl<T: Send + 'static> ForkHandle<T> {
    pub(super) fn new(handle: TaskHandle<T>, shared: Arc<Shared>) -> Self {
        Self { handle, shared }
    }

    /// Waits until the task has completed, failed or been cancelled; interrupts do not end the wait and
    /// stay pending. It also ends if it closes a circle of waits, which [`join`](Self::join) would
    /// report.
    #[doc(alias = "quietlyJoin")]
    pub fn wait_uninterruptibly(&self) {
        // A wait that closes a circle is over; the handle tells that the task is not done.
        let _ = self.wait_uninterruptibly_by(Deadline::Never);
    }

    /// Waits until the task has completed, failed or been cancelled, no longer than `timeout`; returns
    /// whether it is done. Interrupts do not end the wait and stay pending.
    #[doc(alias = "quietlyJoinUninterruptibly")]
    pub fn wait_timeout_uninterruptibly(&self, timeout: Duration) -> bool {
        let ended = self.wait_uninterruptibly_by(Deadline::after(timeout));
        ended.unwrap_or(false)
    }

    /// Completes the task with this value, unless it is done; its body then never starts.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    pub fn complete(&self, value: T) -> bool {
        self.handle.complete(Ok(value))
    }

    /// Completes the task with a failure, unless it is done; its body then never starts.
    ///
    /// # Panics
    ///
    /// If a done-callback panics.
    #[doc(alias = "completeExceptionally")]
    pub fn fail(&self, failure: Failure) -> bool {
        self.handle.complete(Err(failure))
    }

    /// Takes the task back, if it is the newest in this worker's deque. In async mode it can be any task
    /// in the deque.
    ///
    /// # Errors
    ///
    /// The handle, if the task cannot be taken back.
    pub fn try_unfork(self) -> Result<(Task, TaskHandle<T>), Self> {
        let newest = Local::of(&self.shared, |local| {
            let taken = local?.take_newest_if(|work| work.is_task(self.id()))?;
            taken.into_task()
        });
        match newest {
            Some(task) => Ok((task, self.handle)),
            None => Err(self),
        }
    }

    /// Converts the handle into a plain one, whose waits do not help with the task.
    pub fn into_handle(self) -> TaskHandle<T> {
        self.handle
    }

    /// Runs the task if no thread has started it; else leapfrogs: runs jobs of joins that its runner has
    /// entered since.
    fn help_on(&self, local: &Local) {
        if self.handle.is_done() {
            return;
        }
        let id = self.id();
        match local.take_newest_if(|work| work.is_task(id)) {
            Some(own) => local.run(own),
            // It is below newer forks, or a thief has taken and not started it.
            None => self.run_here(local),
        }
        let runner = || {
            let runner = self.shared.roster.snapshot().runner_of(id);
            runner.filter(|_| !self.handle.is_done())
        };
        while leapfrog(local, runner) {}
    }

    fn run_here(&self, local: &Local) {
        if self.handle.is_done() {
            return;
        }
        if local.shared.config.hooks.is_some() {
            // Hooks are told of the task itself: it has to be taken out of the deque.
            let id = self.id();
            if let Some(own) = local.take_if(|work| work.is_task(id)) {
                local.run(own);
            }
            return;
        }
        let header = self.handle.head().header();
        let name = header.shared_name();
        let id = header.id();
        let run = local.stopwatch.begin_by_handle(id, name);
        local.run_nested(id, run, || {
            local.count(id, run, self.handle.run_here());
        });
    }
}

impl<T: Send + 'static> Handle for ForkHandle<T> {
    fn head(&self) -> &Head {
        self.handle.head()
    }

    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.handle.to_untyped()
    }

    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.handle.cancel_for(mode, reason)
    }

    /// Helps with the task, then waits for its end.
    fn wait_by(&self, deadline: Deadline) -> Result<bool, WaitError> {
        Local::of(&self.shared, |local| {
            if let Some(local) = local {
                self.help_on(local);
            }
            self.wait_with_help(deadline, Some(self))
        })
    }
}

impl<T: Send + 'static> WaitHelper for ForkHandle<T> {
    /// Runs the task if no worker would. A worker of the pool has done so before.
    fn help(&self, _wanted: Wanted) -> Helped {
        let state = self.handle.head().state();
        if state.is_running() || state.is_done() || !self.shared.is_stalled() {
            return Helped::Nothing;
        }
        run_in_place(Some(self.handle.head().to_name()), || {
            Local::while_running(|| {
                Local::of(&self.shared, |local| match local {
                    Some(local) => self.run_here(local),
                    None => self.shared.as_helper(|local| self.run_here(local)),
                });
            });
        });
        Helped::Ran
    }

    fn executor(&self) -> usize {
        std::ptr::from_ref(&*self.shared).addr()
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        let me = ThreadContext::current();
        self.shared.as_waiter(&me, || Local::while_blocked(wait));
    }
}

impl<T: Send + 'static> OwningHandle<T> for ForkHandle<T> {
    fn take_outcome(&mut self) -> Option<Result<T, ExecutionError>> {
        self.handle.take_outcome()
    }
}

impl<T: Send + 'static> ShareableHandle<T> for ForkHandle<T> {
    fn into_shareable(self) -> Ref<dyn Awaitable<T>> {
        self.handle.into_shareable()
    }
}

handle_methods!([T: Send + 'static] ForkHandle<T>, control = TaskControl);
owning_handle_methods!([T: Send + 'static] ForkHandle<T>, value = T, shared = SharedHandle<T>);

impl<T: Send + 'static> Future for ForkHandle<T> {
    type Output = Result<T, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(context)
    }
}

impl<T: Send + 'static> From<RejectedExecution<ForkHandle<T>>> for RejectedExecution {
    fn from(rejected: RejectedExecution<ForkHandle<T>>) -> Self {
        rejected.without_handle()
    }
}

impl<T> fmt::Debug for ForkHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkHandle").field(&self.handle).finish()
    }
}
