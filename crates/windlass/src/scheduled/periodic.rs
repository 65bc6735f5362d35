//! A task that repeats, with a period or until an attempt succeeds: each run queues the next.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::period::{Period, Tick};
use super::retry::Progress;
use super::shared::{Shared, TimerKind};
use crate::pool;
use crate::sync::Mutex;
use crate::task::{
    CancelMode, Cancellation, Failure, Header, RunOutcome, Runnable, Snapshot, Task, TimerService,
    TimerView,
};
use crate::unwind::{catch, ignore_panic};

/// The runnable side of a task that repeats.
///
/// There is one object for all runs; for each run a [`Task`] that refers to it is queued.
pub(super) struct PeriodicTask {
    cell: Arc<dyn Runnable>,
    repeats: Repeats,
    shared: Weak<Shared>,
    /// This object, to create the task of the next run.
    me: Weak<PeriodicTask>,
}

/// When a task runs again.
enum Repeats {
    Periodically {
        period: Period,
        /// The time of the current run without jitter; the timer has the time with jitter.
        tick: Mutex<Tick>,
    },
    /// When the next attempt is due.
    UntilResult(Arc<Progress>),
}

impl PeriodicTask {
    /// Creates a periodic task whose cell has a timer.
    pub(super) fn new(
        cell: Arc<dyn Runnable>,
        period: Period,
        first: Tick,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let tick = Mutex::new(first);
        let task = Self::repeating(cell, Repeats::Periodically { period, tick }, shared);
        let salt = task.salt(shared);
        if let Repeats::Periodically { period, .. } = &task.repeats {
            task.cell_timer().set_due(period.jittered(first, salt));
        }
        task
    }

    /// Creates a task whose cell has a timer, and that runs until an attempt succeeds.
    pub(super) fn until_result(
        cell: Arc<dyn Runnable>,
        progress: Arc<Progress>,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        Self::repeating(cell, Repeats::UntilResult(progress), shared)
    }

    fn repeating(cell: Arc<dyn Runnable>, repeats: Repeats, shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            cell,
            repeats,
            shared: Arc::downgrade(shared),
            me: Weak::clone(me),
        })
    }

    fn cell_timer(&self) -> TimerView<'_> {
        let timer = self.cell.timer();
        timer.expect("a periodic task has a timer")
    }

    /// Returns a number for the jitter of the next run.
    fn salt(&self, shared: &Shared) -> u64 {
        shared.jitter_salt(self.header().id(), self.cell_timer().run_count())
    }

    /// Returns when the next run is due; the panic of a calendar as an error.
    fn next_due(&self, shared: &Shared) -> Result<Option<Instant>, Failure> {
        let (period, tick) = match &self.repeats {
            Repeats::Periodically { period, tick } => (period, tick),
            Repeats::UntilResult(progress) => return Ok(progress.next_due()),
        };
        // Copied out: a calendar is user code and must not run under a lock.
        let last = *tick.lock();
        if period.is_overrun(last, &shared.timers.clock) {
            shared.count_overrun();
        }
        let next =
            catch(|| period.next(last, &shared.timers.clock)).map_err(Failure::from_panic)?;
        let Some(next) = next else { return Ok(None) };
        *tick.lock() = next;
        Ok(Some(period.jittered(next, self.salt(shared))))
    }

    /// Queues the next run, or ends the task if there is none.
    fn reschedule(&self, pool: &Arc<pool::Shared>, shared: &Shared) -> RunOutcome {
        let next = match self.next_due(shared) {
            Ok(next) => next,
            Err(failure) => return self.fail_with(failure),
        };
        match (next, self.me.upgrade()) {
            (Some(due), Some(me)) => {
                self.cell_timer().set_due(due);
                shared.resubmit(pool, Task::of_runnable(me));
                // A cancel between the run and the push did not find the task in the queue.
                if self.cell.state().is_cancelled() {
                    shared.timers.task_cancelled(self.cell_timer());
                }
            }
            _ => {
                let reason = Cancellation::ScheduleEnded;
                self.cell.cancel(CancelMode::LetRun, reason);
            }
        }
        RunOutcome::Completed
    }

    /// Cancels the task instead of running it.
    fn cancel_run(&self, reason: Cancellation) -> RunOutcome {
        self.cell.cancel(CancelMode::LetRun, reason);
        RunOutcome::Skipped
    }

    fn fail_with(&self, failure: Failure) -> RunOutcome {
        if self.cell.fail(failure.clone()) {
            RunOutcome::Failed(failure)
        } else {
            RunOutcome::Skipped
        }
    }
}

impl Runnable for PeriodicTask {
    /// Runs the task once and queues the next run.
    fn run(&self) -> RunOutcome {
        let Some(shared) = self.shared.upgrade() else {
            return self.cancel_run(Cancellation::PoolDropped);
        };
        let Some(pool) = shared.pool() else {
            return self.cancel_run(Cancellation::PoolDropped);
        };
        let kind = TimerKind::of_timer(Some(self.cell_timer()));
        if !shared.may_run(pool.ctl.load().state(), kind) {
            let reason = shared.shutdown_reason();
            let cancelled = self.cell.cancel(CancelMode::LetRun, reason);
            pool.options.cancels.add_if(cancelled);
            return RunOutcome::Skipped;
        }
        let mut outcome = self.cell.run_and_reset();
        // After the last attempt, or a cancel, there is no next run.
        if matches!(outcome, RunOutcome::Completed) && !self.cell.state().is_done() {
            outcome = self.reschedule(&pool, &shared);
        }
        let periodic = matches!(self.repeats, Repeats::Periodically { .. });
        let on_failure = shared.options.on_periodic_failure.as_ref();
        let on_failure = on_failure.filter(|_| periodic);
        if let (RunOutcome::Failed(failure), Some(on_failure)) = (&outcome, on_failure) {
            let header = self.cell.header();
            ignore_panic(|| on_failure(header.id(), header.name(), failure));
        }
        outcome
    }

    fn run_and_reset(&self) -> RunOutcome {
        self.cell.run_and_reset()
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.cell.cancel(mode, reason)
    }

    fn abandon(&self) {
        self.cell.abandon();
    }

    fn fail(&self, failure: Failure) -> bool {
        self.cell.fail(failure)
    }

    fn set_drop_reason(&self, reason: Cancellation) {
        self.cell.set_drop_reason(reason);
    }

    fn state(&self) -> Snapshot {
        self.cell.state()
    }

    fn header(&self) -> &Header {
        self.cell.header()
    }

    fn timer(&self) -> Option<TimerView<'_>> {
        self.cell.timer()
    }
}
