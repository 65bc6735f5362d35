//! A periodic task: each run queues the next.

use std::sync::{Arc, Weak};

use super::period::{Period, Tick};
use super::shared::{Shared, TimerKind};
use crate::pool;
use crate::sync::Mutex;
use crate::task::{
    CancelMode, Cancellation, Failure, Header, RunOutcome, Runnable, Snapshot, Task, TimerService,
    TimerView,
};
use crate::unwind::{catch, ignore_panic};

/// The runnable side of a periodic task.
///
/// There is one object for all runs; for each run a [`Task`] that refers to it is queued.
pub(super) struct PeriodicTask {
    cell: Arc<dyn Runnable>,
    period: Period,
    /// The time of the current run without jitter; the timer has the time with jitter.
    tick: Mutex<Tick>,
    shared: Weak<Shared>,
    /// This object, to create the task of the next run.
    me: Weak<PeriodicTask>,
}

impl PeriodicTask {
    /// Creates a periodic task whose cell has a timer.
    pub(super) fn new(
        cell: Arc<dyn Runnable>,
        period: Period,
        first: Tick,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let task = Arc::new_cyclic(|me| Self {
            cell,
            period,
            tick: Mutex::new(first),
            shared: Arc::downgrade(shared),
            me: Weak::clone(me),
        });
        task.set_due(first, shared);
        task
    }

    fn cell_timer(&self) -> TimerView<'_> {
        let timer = self.cell.timer();
        timer.expect("a periodic task has a timer")
    }

    /// Sets the due time of the next run to this tick, plus jitter.
    fn set_due(&self, tick: Tick, shared: &Shared) {
        let timer = self.cell_timer();
        let salt = shared.jitter_salt(self.header().id(), timer.run_count());
        timer.set_due(self.period.jittered(tick, salt));
    }

    /// Queues the next run, or ends the task if there is none.
    fn reschedule(&self, pool: &Arc<pool::Shared>, shared: &Shared) -> RunOutcome {
        // Copied out: a calendar is user code and must not run under a lock.
        let tick = *self.tick.lock();
        let next = match catch(|| self.period.next(tick, &shared.timers.clock)) {
            Ok(next) => next,
            Err(payload) => return self.fail_with(Failure::from_panic(payload)),
        };
        match (next, self.me.upgrade()) {
            (Some(tick), Some(me)) => {
                *self.tick.lock() = tick;
                self.set_due(tick, shared);
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
        if !shared.may_run(pool.ctl.load().state(), TimerKind::Periodic) {
            return self.cancel_run(shared.shutdown_reason());
        }
        let mut outcome = self.cell.run_and_reset();
        if matches!(outcome, RunOutcome::Completed) {
            outcome = self.reschedule(&pool, &shared);
        }
        let on_failure = shared.options.on_periodic_failure.as_ref();
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
