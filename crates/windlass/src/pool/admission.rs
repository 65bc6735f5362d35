//! The three steps of `execute`: a new core worker, the queue, a worker beyond core; else refusal.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::ctl::RunState;
use super::rejection::Saturated;
use super::shared::Shared;
use super::spawn::SizeLimit;
use crate::executor::{RejectedExecution, RejectionReason};
use crate::interrupt::ThreadContext;
use crate::queue::{BlockingQueue, PutError};
use crate::sync::{Deadline, mutant};
use crate::task::{Cancellation, Task, TaskId, TaskSink};

impl Shared {
    /// Has the task run, or refuses it by the pool's policy.
    #[inline]
    pub(crate) fn execute(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        task.pass_in_registers(self)
    }
}

impl TaskSink for &Arc<Shared> {
    type Output = Result<(), RejectedExecution>;

    /// The usual case of `execute`, on its own and short: the pool runs, it has its core workers,
    /// nothing is to be noted on the task, and the queue takes it. It is what [`Shared::admit`] does
    /// in that case, with the second look reduced to the one load that it takes to see that there
    /// is nothing to do. The task is made where it is to lie, in its slot of the queue.
    #[inline(always)]
    fn accept(self, id: TaskId, task: impl FnOnce() -> Task) -> Self::Output {
        let seen = self.ctl.load();
        if !seen.is_running()
            || seen.workers() < self.settings.core()
            || !self.options.has_fast_path()
        {
            return self.execute_slow(task());
        }
        if let Err(refused) = self.queue.offer_with(task) {
            return self.execute_beyond_core(refused);
        }
        let seen = self.ctl.load();
        if seen.is_running() && seen.workers() > 0 {
            return Ok(());
        }
        self.execute_recheck(id)
    }
}

impl Shared {
    /// Goes on after an offer during which the pool has changed.
    #[cold]
    fn execute_recheck(self: &Arc<Self>, id: TaskId) -> Result<(), RejectedExecution> {
        self.recheck(id).or_else(|task| self.reject(task))
    }

    /// Goes on after an offer that the queue has refused.
    #[cold]
    fn execute_beyond_core(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        self.admit_beyond_core(task)
            .or_else(|refused| self.reject(refused))
    }

    #[cold]
    fn execute_slow(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        match self.admit(self.record_submission_time(task)) {
            Ok(()) => Ok(()),
            Err(refused) => self.reject(refused),
        }
    }

    /// Has the task run if there is a way right now.
    fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), NotAdmitted> {
        let mut seen = self.ctl.load();
        if seen.workers() < self.settings.core() {
            match self.add_worker(Some(task), SizeLimit::Core) {
                Ok(()) => return Ok(()),
                Err(not_started) => task = not_started.into_task(),
            }
            seen = self.ctl.load();
        }
        if self.options.grows_eagerly && self.all_are_busy(seen.workers()) {
            match self.add_worker(Some(task), SizeLimit::Maximum) {
                Ok(()) => return Ok(()),
                Err(not_started) => task = not_started.into_task(),
            }
            seen = self.ctl.load();
        }
        if seen.is_running() {
            let id = task.id();
            match self.queue.offer(task) {
                Ok(()) => return self.recheck(id).map_err(NotAdmitted::from),
                Err(refused) => task = refused.into_inner(),
            }
        }
        self.admit_beyond_core(task)
    }

    /// The third step: a worker beyond core.
    fn admit_beyond_core(self: &Arc<Self>, task: Task) -> Result<(), NotAdmitted> {
        match self.add_worker(Some(task), SizeLimit::Maximum) {
            Ok(()) => Ok(()),
            Err(mut not_started) => {
                let error = not_started.error.take();
                Err(NotAdmitted {
                    task: not_started.into_task(),
                    error,
                })
            }
        }
    }

    /// Whether there is at least one task for each worker, and a worker more may be started.
    fn all_are_busy(&self, workers: usize) -> bool {
        let busy = self.roster.snapshot().active + self.queue.len();
        workers < self.settings.maximum() && busy >= workers
    }

    /// The second look, after a task has been queued.
    ///
    /// If the pool was shut down between the first look and the offer, no worker may come back for
    /// the task: it is taken out again, unless a worker was faster. If the last worker has left
    /// meanwhile, or there was none, one is started. Pairs with `advance_to`, which writes the
    /// control word before anybody looks at the queue.
    pub(crate) fn recheck(self: &Arc<Self>, id: TaskId) -> Result<(), Task> {
        // Mutant: what is queued behind the last worker's back stays there.
        if mutant!("pool_looks_once") {
            return Ok(());
        }
        let seen = self.ctl.load();
        if !seen.is_running() {
            self.withdraw(id)?;
        }
        if seen.workers() == 0 {
            let _ = self.add_worker(None, SizeLimit::Maximum);
        }
        Ok(())
    }

    /// Admits a task that is queued before a worker is started for it: it may be due later.
    ///
    /// `push` inserts it into the queue of this pool, and `may_run` decides whether a pool in this
    /// state still runs it. Returns the task if the pool was shut down meanwhile and will not run
    /// it.
    pub(crate) fn admit_queued(
        self: &Arc<Self>,
        task: Task,
        push: impl FnOnce(Task),
        may_run: impl Fn(RunState) -> bool,
    ) -> Result<(), Task> {
        let id = task.id();
        push(self.record_submission_time(task));
        // First recheck: a shutdown between the caller's check and the push has not seen this task.
        if may_run(self.ctl.load().state()) {
            self.ensure_worker();
            // Second recheck: a shutdown that found neither this task nor a worker has terminated
            // the pool, and then no worker was started.
            if may_run(self.ctl.load().state()) {
                return Ok(());
            }
        }
        self.withdraw(id)
    }

    /// Removes a task that was just queued, and returns it; `Ok` if a worker was faster.
    fn withdraw(&self, id: TaskId) -> Result<(), Task> {
        match self.queue.remove_first(&mut |task| task.id() == id) {
            None => Ok(()),
            Some(task) => {
                self.task_count.invalidate();
                self.try_terminate();
                Err(task)
            }
        }
    }

    /// Leaves the task to the pool's policy.
    pub(crate) fn reject(
        self: &Arc<Self>,
        refused: impl Into<NotAdmitted>,
    ) -> Result<(), RejectedExecution> {
        let NotAdmitted { task, error } = refused.into();
        self.count_rejection();
        task.set_drop_reason(Cancellation::Rejected);
        let answer = self
            .handler
            .with(|handler| handler.rejected(task, &SaturatedPool(self)));
        match (answer, error) {
            (Err(rejected), Some(error)) if rejected.source().is_none() => {
                Err(rejected.with_source(error))
            }
            (answer, _) => answer,
        }
    }
}

/// A task that could not be taken.
pub(crate) struct NotAdmitted {
    task: Task,
    /// Why there is no thread for it, if one was asked for.
    error: Option<io::Error>,
}

impl From<Task> for NotAdmitted {
    fn from(task: Task) -> Self {
        Self { task, error: None }
    }
}

/// What a rejection handler sees of the pool.
pub(crate) struct SaturatedPool<'a>(pub(crate) &'a Arc<Shared>);

impl SaturatedPool<'_> {
    /// Tries, waits for room, and tries again when the pool has changed.
    fn wait_to_execute(
        &self,
        mut task: Task,
        deadline: Deadline,
    ) -> Result<(), (Task, RejectionReason)> {
        let me = ThreadContext::current();
        // BlockedSubmitter before the first look: a shutdown, a larger maximum or a worker that leaves is
        // seen below, or nudges.
        let _enlisted = BlockedSubmitter::new(self.0, &me);
        loop {
            task = match self.0.admit(task) {
                Ok(()) => return Ok(()),
                Err(refused) => refused.task,
            };
            if self.is_shutdown() {
                return Err((task, RejectionReason::Shutdown));
            }
            let id = task.id();
            let put = me.accept_nudges(|| match deadline.remaining() {
                None => self.0.queue.put(task),
                Some(left) => self.0.queue.offer_timeout(task, left),
            });
            match put {
                Ok(()) => {
                    let looked = self.0.recheck(id);
                    return looked.map_err(|task| (task, RejectionReason::Shutdown));
                }
                Err(PutError::Interrupted(again)) if !me.wait_ended_by_interrupt() => task = again,
                Err(PutError::Interrupted(task)) => {
                    return Err((task, RejectionReason::Interrupted));
                }
                Err(PutError::TimedOut(task)) => return Err((task, RejectionReason::TimedOut)),
                // Not for want of room, so there is nothing to wait for.
                Err(refused) => return Err((refused.into_inner(), RejectionReason::Saturated)),
            }
        }
    }
}

/// A submitter on the list of those that wait for room, for as long as this lives.
struct BlockedSubmitter<'a> {
    pool: &'a Shared,
    submitter: &'a Arc<ThreadContext>,
}

impl<'a> BlockedSubmitter<'a> {
    fn new(pool: &'a Shared, submitter: &'a Arc<ThreadContext>) -> Self {
        pool.register_blocked(submitter);
        Self { pool, submitter }
    }
}

impl Drop for BlockedSubmitter<'_> {
    fn drop(&mut self) {
        self.pool.unregister_blocked(self.submitter);
    }
}

impl Saturated for SaturatedPool<'_> {
    fn is_shutdown(&self) -> bool {
        self.0.is_shutdown()
    }

    fn queue(&self) -> &dyn BlockingQueue<Task> {
        &*self.0.queue
    }

    fn try_execute(&self, task: Task) -> Result<(), Task> {
        self.0.admit(task).map_err(|refused| refused.task)
    }

    fn execute_when_possible(
        &self,
        task: Task,
        timeout: Option<Duration>,
    ) -> Result<(), RejectedExecution> {
        let deadline = timeout.map_or(Deadline::Never, Deadline::after);
        self.wait_to_execute(task, deadline)
            .map_err(|(task, reason)| {
                RejectedExecution::new(task, reason).with_executor(self.describe())
            })
    }

    fn describe(&self) -> String {
        self.0.stats().to_string()
    }
}
