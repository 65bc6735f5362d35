//! One turn of a task that runs again and again, and what follows it.

use std::sync::{Arc, Weak};

use super::period::{Period, Tick};
use super::scheduler::Scheduler;
use super::timers::Timers;
use crate::pool::{Annex, Shared};
use crate::sync::Mutex;
use crate::task::{
    CancelMode, Cancellation, Failure, Header, RunOutcome, Runnable, Snapshot, Task, Timer,
};
use crate::unwind::{catch, ignore_panic};

/// A periodic task, as a thing that can be run: a run is one turn, which queues the next.
pub(super) struct PeriodicTask {
    cell: Arc<dyn Runnable>,
    period: Period,
    /// The time on the tick, where the schedule has the one with jitter.
    tick: Mutex<Tick>,
    pool: Weak<Shared>,
    timers: Weak<Timers>,
    /// This very turn, to make the task of the next.
    me: Weak<PeriodicTask>,
}

impl PeriodicTask {
    pub(super) fn new(
        cell: Arc<dyn Runnable>,
        period: Period,
        tick: Tick,
        scheduler: &Scheduler,
    ) -> Arc<Self> {
        let task = Arc::new_cyclic(|me| Self {
            cell,
            period,
            tick: Mutex::new(tick),
            pool: Arc::downgrade(&scheduler.pool),
            timers: Arc::downgrade(&scheduler.timers),
            me: Weak::clone(me),
        });
        task.set_due(tick, &scheduler.timers);
        task
    }

    fn timer_ref(&self) -> &Timer {
        let timer = self.cell.timer();
        timer.expect("a periodic task has a timer")
    }

    /// Makes the next turn due on this tick, with jitter.
    fn set_due(&self, tick: Tick, timers: &Timers) {
        let salt = timers.salt(self.header().id(), self.timer_ref().run_count());
        self.timer_ref().set_due(self.period.jittered(tick, salt));
    }

    /// Queues the next turn, or ends the task where there is none.
    fn reschedule(&self, pool: &Arc<Shared>, timers: &Timers) -> RunOutcome {
        // Copied out: a calendar is user code, and not to be called under a lock.
        let tick = *self.tick.lock();
        let next = match catch(|| self.period.next(tick, &timers.clock)) {
            Ok(next) => next,
            Err(payload) => {
                let failure = Failure::from_panic(payload);
                return if self.cell.fail(failure.clone()) {
                    RunOutcome::Failed(failure)
                } else {
                    RunOutcome::Skipped
                };
            }
        };
        match (next, self.me.upgrade()) {
            (Some(tick), Some(me)) => {
                *self.tick.lock() = tick;
                self.set_due(tick, timers);
                timers.resubmit(pool, Task::of_cell(me));
                // A cancel between the run and the queue has found nothing to take out.
                if self.cell.state().is_cancelled() {
                    timers.on_cancel(pool, self.header().id(), self.timer_ref());
                }
            }
            _ => {
                self.cell
                    .cancel(CancelMode::LetRun, Cancellation::Requested);
            }
        }
        RunOutcome::Completed
    }
}

impl Runnable for PeriodicTask {
    fn run(&self) -> RunOutcome {
        let service = self.pool.upgrade().zip(self.timers.upgrade());
        let Some((pool, timers)) = service.filter(|(pool, timers)| timers.may_go_on(pool)) else {
            self.cell
                .cancel(CancelMode::LetRun, Cancellation::Requested);
            return RunOutcome::Skipped;
        };
        let mut ran = self.cell.run_and_reset();
        if matches!(ran, RunOutcome::Completed) {
            ran = self.reschedule(&pool, &timers);
        }
        if let (RunOutcome::Failed(failure), Some(on_failure)) = (&ran, &timers.on_failure) {
            let header = self.cell.header();
            ignore_panic(|| on_failure(header.id(), header.name(), failure));
        }
        ran
    }

    fn run_and_reset(&self) -> RunOutcome {
        self.cell.run_and_reset()
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.cell.cancel(mode, reason)
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

    fn timer(&self) -> Option<&Timer> {
        self.cell.timer()
    }
}
