//! The three steps of `execute`: a new core worker, the queue, a worker beyond core; else rejection.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::ctl::RunState;
use super::rejection::Saturated;
use super::shared::Shared;
use super::spawn::{Cause, FirstTask, SizeLimit};
use super::tally::Dropped;
use crate::executor::{RejectedExecution, RejectionReason, limit_of, to_io_error};
use crate::interrupt::ThreadContext;
use crate::queue::{BlockingQueue, PutError};
use crate::sync::clock::Clock;
use crate::sync::{Deadline, available_parallelism};
use crate::task::{Cancellation, Failure, Task, TaskId, TaskSink};
use crate::unwind::discard;

impl Shared {
    /// Accepts the task, or rejects it by the pool's policy.
    #[inline]
    pub(crate) fn execute(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        task.pass_in_registers(self)
    }
}

impl TaskSink for &Arc<Shared> {
    type Output = Result<(), RejectedExecution>;

    /// Implements the fast path of `execute`: the pool runs and has its core workers, no option
    /// changes the submission, its wait is not timed, and the queue accepts the task. This is what [`Shared::admit`] does in
    /// that case, with the recheck reduced to one load. The task is created in its slot of the queue.
    #[inline(always)]
    fn accept(self, id: TaskId, task: impl FnOnce() -> Task) -> Self::Output {
        let seen = self.ctl.load();
        if !seen.is_running()
            || seen.workers() < self.settings.core()
            || !self.options.has_fast_path()
            || self.tracker.submitted.picks(id)
        {
            return self.execute_slow(task());
        }
        if let Err(refused) = self.queue.offer_with(task) {
            return self.execute_beyond_core(refused);
        }
        let seen = self.ctl.load();
        if seen.is_running_without_waits() && seen.workers() > 0 {
            return Ok(());
        }
        self.execute_recheck(id)
    }
}

impl Shared {
    /// Continues after an offer during which the state of the pool has changed.
    #[cold]
    fn execute_recheck(self: &Arc<Self>, id: TaskId) -> Result<(), RejectedExecution> {
        self.recheck(id)
            .or_else(|not_admitted| self.reject(not_admitted))
    }

    /// Continues after an offer that the queue has refused.
    ///
    /// In a saturated pool most submissions reach this. The limit is checked first, so that the task is
    /// not moved into `add_worker` and back.
    #[cold]
    fn execute_beyond_core(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        if !self.may_add_worker(Some(&task), SizeLimit::Maximum) {
            return self.reject_for(task, Cause::NotAllowed);
        }
        self.admit_beyond_core(task)
            .or_else(|not_admitted| self.reject(not_admitted))
    }

    #[cold]
    fn execute_slow(self: &Arc<Self>, task: Task) -> Result<(), RejectedExecution> {
        self.admit(self.record_submission_time(task))
            .or_else(|not_admitted| self.reject(not_admitted))
    }

    /// Accepts the task if one of the three steps succeeds now.
    pub(super) fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), NotAdmitted> {
        if self.options.queues_every_task {
            return self.admit_through_queue(task);
        }
        let mut seen = self.ctl.load();
        if seen.workers() < self.settings.core() {
            match self.add_worker(Some(first(task)), SizeLimit::Core) {
                Ok(()) => return Ok(()),
                Err(not_started) => (task, _) = not_started.into_parts(),
            }
            seen = self.ctl.load();
        }
        if self.options.grows_eagerly && self.all_are_busy(seen.workers()) {
            match self.add_worker(Some(first(task)), SizeLimit::Maximum) {
                Ok(()) => return Ok(()),
                Err(not_started) => (task, _) = not_started.into_parts(),
            }
            seen = self.ctl.load();
        }
        if seen.is_running() {
            let id = task.id();
            match self.queue.offer(task) {
                Ok(()) => return self.recheck(id),
                Err(refused) => task = refused.into_inner(),
            }
        }
        self.admit_beyond_core(task)
    }

    /// Queues the task, and starts a worker without a task if there are fewer than core, or if the
    /// pool grows eagerly and all are busy.
    fn admit_through_queue(self: &Arc<Self>, task: Task) -> Result<(), NotAdmitted> {
        if !self.ctl.load().is_running() {
            return Err(task.into());
        }
        let id = task.id();
        let grows = self.options.grows_eagerly && self.all_are_busy(self.ctl.load().workers());
        if let Err(refused) = self.queue.offer(task) {
            return Err(refused.into_inner().into());
        }
        if self.ctl.load().is_running() {
            if let Err(cause) = self.ensure_worker() {
                self.withdraw_unless_covered(id, cause)?;
            }
            if grows {
                // The queue has the task: without another worker, one of those there are takes it.
                let _ = self.add_worker(None, SizeLimit::Maximum);
            }
        }
        self.recheck(id)
    }

    /// Starts a worker beyond core with the task: the third step.
    ///
    /// If it has many workers, a hand-off first lends, or waits for one of them that is about to return.
    fn admit_beyond_core(self: &Arc<Self>, mut task: Task) -> Result<(), NotAdmitted> {
        let workers = self.ctl.load().workers();
        let has_many = workers >= self.options.many_workers.unwrap_or_else(many_workers);
        if has_many && self.may_add_worker(Some(&task), SizeLimit::Maximum) {
            let id = task.id();
            if self.may_lend(workers) {
                match self.queue.lend(task) {
                    Ok(()) => return self.recheck(id),
                    Err(refused) => task = refused,
                }
            }
            match self.queue.offer_for_returning(task) {
                Ok(()) => return self.recheck(id),
                Err(refused) => task = refused,
            }
        }
        self.add_worker(Some(first(task)), SizeLimit::Maximum)
            .map_err(|not_started| {
                let (task, cause) = not_started.into_parts();
                NotAdmitted { task, cause }
            })
    }

    /// Returns whether tasks may be accepted that no worker waits for.
    ///
    /// Threads could be started for all of them, and for as many tasks again that are submitted meanwhile: so
    /// that what is rejected at the maximum stays the same. On a test's clock no worker would ever watch.
    fn may_lend(&self, workers: usize) -> bool {
        let room = self.settings.maximum().saturating_sub(workers);
        let limit = self.queue.debt_limit();
        limit > 0 && room >= 2 * limit && matches!(self.clock(), Clock::System)
    }

    /// Returns whether there is at least one task for each worker, and another worker may be
    /// started.
    fn all_are_busy(&self, workers: usize) -> bool {
        let workers_now = self.roster.snapshot();
        // A worker that was created for a task and has not begun it is not free either.
        let busy = workers_now.active + workers_now.starting + self.queue.len();
        workers < self.settings.maximum() && busy >= workers
    }

    /// Reads the control word again, after a task has been queued.
    ///
    /// If the pool was shut down between the first read and the offer, all workers may have exited
    /// without the task: it is removed again, unless a worker has taken it. If the last worker has
    /// retired meanwhile, or there was none, one is started; if that fails, the task is removed too.
    /// Pairs with `advance_to`, which writes the control word before anybody reads the queue. A thread
    /// that waits for the task inside another may have searched the queue before: it searches again.
    pub(crate) fn recheck(self: &Arc<Self>, id: TaskId) -> Result<(), NotAdmitted> {
        let seen = self.ctl.load();
        if !seen.is_running() {
            self.withdraw(id)?;
        }
        if seen.workers() == 0 {
            if let Err(not_started) = self.try_start(None, SizeLimit::Maximum) {
                return self.withdraw_unless_covered(id, not_started.into_cause());
            }
        }
        if seen.has_waits() {
            self.offer_to_waiting();
        }
        Ok(())
    }

    /// Admits a task that is queued before a worker is started for it: it may be due later.
    ///
    /// `push` inserts the task with this id into the queue of this pool, and `may_run` decides whether a
    /// pool in this state still runs it. Returns the task if the pool was shut down meanwhile and will not run
    /// it, or has no worker and no thread for one.
    #[inline]
    pub(crate) fn admit_queued(
        self: &Arc<Self>,
        id: TaskId,
        push: impl FnOnce(),
        may_run: impl Fn(RunState) -> bool,
    ) -> Result<(), NotAdmitted> {
        push();
        let seen = self.ctl.load();
        if seen.is_running_without_waits() && seen.workers() >= self.settings.core().max(1) {
            return Ok(());
        }
        self.recheck_queued(id, may_run)
    }

    /// Reads the control word again, after a task has been queued that may need a worker, or that the pool may
    /// not run any more.
    #[cold]
    #[inline(never)]
    fn recheck_queued(
        self: &Arc<Self>,
        id: TaskId,
        may_run: impl Fn(RunState) -> bool,
    ) -> Result<(), NotAdmitted> {
        // First recheck: a shutdown between the caller's check and the push has not seen this task.
        if may_run(self.ctl.load().state()) {
            if let Err(cause) = self.ensure_worker() {
                self.withdraw_unless_covered(id, cause)?;
            }
            // Second recheck: a shutdown that found neither this task nor a worker has terminated
            // the pool, and then no worker was started.
            let seen = self.ctl.load();
            if may_run(seen.state()) {
                if seen.has_waits() {
                    self.offer_to_waiting();
                }
                return Ok(());
            }
        }
        self.withdraw(id)?;
        Ok(())
    }

    /// Removes a task that was just queued, after a worker for it could not be started. The task
    /// stays if there is another worker by now.
    ///
    /// # Panics
    ///
    /// If the cause is a panic of the thread factory; a task that was removed is dropped.
    #[cold]
    fn withdraw_unless_covered(
        self: &Arc<Self>,
        id: TaskId,
        cause: Cause,
    ) -> Result<(), NotAdmitted> {
        let uncovered = !matches!(cause, Cause::NotAllowed) && self.ctl.load().workers() == 0;
        let withdrawn = if uncovered { self.withdraw(id) } else { Ok(()) };
        // Others may have queued tasks while the worker was counted that has not come.
        self.cover_queued();
        match (withdrawn, cause) {
            (withdrawn, Cause::Panicked(payload)) => {
                discard(withdrawn);
                std::panic::resume_unwind(payload)
            }
            (Ok(()), _) => Ok(()),
            (Err(task), cause) => Err(NotAdmitted { task, cause }),
        }
    }

    /// Removes a task that was just queued, and returns it as an error; `Ok` if a worker has taken it.
    fn withdraw(&self, id: TaskId) -> Result<(), Task> {
        match self.queue.withdraw(id) {
            None => Ok(()),
            Some(task) => {
                self.task_count.invalidate();
                self.try_terminate();
                Err(task)
            }
        }
    }

    /// Calls the rejection handler with the task.
    pub(crate) fn reject(
        self: &Arc<Self>,
        not_admitted: impl Into<NotAdmitted>,
    ) -> Result<(), RejectedExecution> {
        let NotAdmitted { task, cause } = not_admitted.into();
        self.reject_for(task, cause)
    }

    /// Drops the queued tasks whose time is up, if there are any; returns whether it did.
    #[inline]
    pub(super) fn drop_expired(&self) -> bool {
        self.options.limits.take_has_expired() && self.drop_expired_now()
    }

    #[cold]
    fn drop_expired_now(&self) -> bool {
        self.before_termination(|| {
            let expired = self.queue.retain(&mut |task| !task.is_expired());
            self.tally.count_dropped(Dropped::Expired, expired.len());
            self.task_count.invalidate();
            // Only if there is room now: this may be called by who serves, and would ask for round after round while
            // a task is about to expire. Whoever lets it expire serves then.
            if !expired.is_empty() && self.room.is_awaited() {
                self.room.serve();
            }
            !expired.is_empty()
        })
    }

    #[inline]
    fn reject_for(self: &Arc<Self>, mut task: Task, cause: Cause) -> Result<(), RejectedExecution> {
        if self.drop_expired() {
            match self.admit(task) {
                Ok(()) => return Ok(()),
                Err(not_admitted) => task = not_admitted.task,
            }
        }
        self.count_rejection();
        task.set_drop_reason(Cancellation::Rejected);
        if let Cause::NoThread(refusal) = &cause {
            self.report(refusal);
        }
        let pool = SaturatedPool { pool: self, cause };
        let answer = self.handler.with(|handler| handler.rejected(task, &pool));
        match (answer, pool.cause) {
            (Err(rejected), Cause::NoThread(refusal)) if rejected.source().is_none() => {
                Err(rejected.with_source(to_io_error(&refusal)))
            }
            (answer, _) => answer,
        }
    }
}

/// Returns how many workers a pool has that waits for one of them to return before it starts another.
///
/// With fewer, each task that finds no idle worker starts one at once. A hand-off accepts as many tasks as
/// workers are idle, so that many also make batches of short tasks possible.
fn many_workers() -> usize {
    static MANY: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *MANY.get_or_init(|| MANY_WORKERS.max(2 * available_parallelism()))
}

const MANY_WORKERS: usize = 48;

/// Creates the first task of a worker, which is rejected if the worker's thread is never created.
const fn first(task: Task) -> FirstTask {
    FirstTask {
        task,
        reject: reject_without_thread,
    }
}

fn reject_without_thread(pool: &Arc<Shared>, task: Task, refusal: Failure) {
    let cause = Cause::NoThread(refusal);
    // The submission has already returned `Ok`; the handle of the task completes with the reason.
    drop(pool.reject(NotAdmitted { task, cause }));
}

/// A task that no step has accepted.
pub(crate) struct NotAdmitted {
    pub(super) task: Task,
    pub(super) cause: Cause,
}

impl NotAdmitted {
    /// Returns the task, and whether it was not admitted for want of a thread.
    pub(crate) fn into_parts(self) -> (Task, bool) {
        (self.task, matches!(self.cause, Cause::NoThread(_)))
    }
}

impl From<Task> for NotAdmitted {
    fn from(task: Task) -> Self {
        Self {
            task,
            cause: Cause::NotAllowed,
        }
    }
}

/// The pool and the cause of a rejection, for the rejection handler.
struct SaturatedPool<'a> {
    pool: &'a Arc<Shared>,
    /// Why the last step failed.
    cause: Cause,
}

impl SaturatedPool<'_> {
    /// Submits the task, waiting for room in the queue; tries again when it is nudged.
    fn wait_to_execute(&self, mut task: Task, deadline: Deadline) -> Result<(), RejectedExecution> {
        let refuse =
            |task, reason| Err(RejectedExecution::new(task, reason).with_executor(self.describe()));
        let me = ThreadContext::current();
        // Registered before the first attempt: a shutdown, a larger maximum or a worker that
        // retires is seen below, or nudges this thread.
        let _registered = BlockedSubmitter::register(self.pool, &me);
        loop {
            task = match self.pool.admit(task) {
                Ok(()) => return Ok(()),
                // Without a worker nobody makes room.
                Err(NotAdmitted {
                    task,
                    cause: Cause::NoThread(refusal),
                }) if self.pool.ctl.load().workers() == 0 => {
                    let rejected = refuse(task, RejectionReason::NoThread);
                    return rejected.map_err(|error| error.with_source(to_io_error(&refusal)));
                }
                Err(not_admitted) => not_admitted.task,
            };
            if self.is_shutdown() {
                return refuse(task, RejectionReason::Shutdown);
            }
            if self.pool.drop_expired() {
                continue;
            }
            let id = task.id();
            let put = me.accept_nudges(|| match deadline.remaining() {
                None => self.pool.queue.put(task),
                Some(left) => self.pool.queue.offer_timeout(task, left),
            });
            match put {
                Ok(()) => {
                    match self.pool.recheck(id) {
                        Ok(()) => return Ok(()),
                        // The next attempt finds the reason.
                        Err(not_admitted) => task = not_admitted.task,
                    }
                }
                Err(PutError::Interrupted(again)) if !me.wait_ended_by_interrupt() => task = again,
                Err(PutError::Interrupted(task)) => {
                    return refuse(task, RejectionReason::Interrupted);
                }
                Err(PutError::TimedOut(task)) => return refuse(task, RejectionReason::TimedOut),
                // The queue refused for another reason than lack of room: waiting does not help.
                Err(refused) => return refuse(refused.into_inner(), RejectionReason::Saturated),
            }
        }
    }
}

/// A submitter that waits for room; registered with the pool while this lives.
struct BlockedSubmitter<'a> {
    pool: &'a Shared,
    submitter: &'a Arc<ThreadContext>,
}

impl<'a> BlockedSubmitter<'a> {
    fn register(pool: &'a Shared, submitter: &'a Arc<ThreadContext>) -> Self {
        pool.options.limits.blocked().register(submitter);
        Self { pool, submitter }
    }
}

impl Drop for BlockedSubmitter<'_> {
    fn drop(&mut self) {
        self.pool
            .options
            .limits
            .blocked()
            .unregister(self.submitter);
    }
}

impl Saturated for SaturatedPool<'_> {
    fn is_shutdown(&self) -> bool {
        self.pool.is_shutdown()
    }

    fn reason(&self) -> RejectionReason {
        match self.cause {
            _ if self.is_shutdown() => RejectionReason::Shutdown,
            Cause::NotAllowed => RejectionReason::Saturated,
            Cause::NoThread(_) | Cause::Panicked(_) => RejectionReason::NoThread,
        }
    }

    fn run_here(&self, run: &mut dyn FnMut()) {
        self.pool.as_guest(run);
    }

    fn queue(&self) -> &dyn BlockingQueue<Task> {
        &*self.pool.queue
    }

    fn try_execute(&self, task: Task) -> Result<(), Task> {
        self.pool
            .admit(task)
            .map_err(|not_admitted| not_admitted.task)
    }

    fn execute_when_possible(
        &self,
        task: Task,
        timeout: Option<Duration>,
    ) -> Result<(), RejectedExecution> {
        let mut deadline = match (
            timeout.map_or(Deadline::Never, Deadline::after),
            limit_of(&task),
        ) {
            (own, Deadline::Never) => own,
            (own, Deadline::At(limit)) => own.min(limit),
        };
        if let Some(expires_at) = task.expires_at() {
            deadline = deadline.min(expires_at);
        }
        self.wait_to_execute(task, deadline)
    }

    fn describe(&self) -> String {
        self.pool.stats().to_string()
    }
}
