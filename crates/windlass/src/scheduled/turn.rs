//! One turn of a task that runs again and again, and what follows it.

use std::sync::{Arc, Weak};

use super::period::{Beat, Period};
use super::scheduler::Scheduler;
use super::timers::Timers;
use crate::pool::{Annex, Shared};
use crate::sync::Mutex;
use crate::task::{Cancellation, Failure, Header, RunOutcome, Runnable, Schedule, Snapshot, Task};
use crate::unwind::{catch, ignore_panic};

/// A periodic task, as a thing that can be run: a run is one turn, which queues the next.
pub(super) struct Turn {
    cell: Arc<dyn Runnable>,
    period: Period,
    /// The time on the beat, where the schedule has the one with jitter.
    beat: Mutex<Beat>,
    pool: Weak<Shared>,
    timers: Weak<Timers>,
    /// This very turn, to make the task of the next.
    me: Weak<Turn>,
}

impl Turn {
    pub(super) fn new(
        cell: Arc<dyn Runnable>,
        period: Period,
        beat: Beat,
        scheduler: &Scheduler,
    ) -> Arc<Self> {
        let turn = Arc::new_cyclic(|me| Self {
            cell,
            period,
            beat: Mutex::new(beat),
            pool: Arc::downgrade(&scheduler.pool),
            timers: Arc::downgrade(&scheduler.timers),
            me: Weak::clone(me),
        });
        turn.set_due(beat, &scheduler.timers);
        turn
    }

    fn timing(&self) -> &Schedule {
        let schedule = self.cell.schedule();
        schedule.expect("a periodic task has a schedule")
    }

    /// Makes the next turn due on this beat, with jitter.
    fn set_due(&self, beat: Beat, timers: &Timers) {
        let salt = timers.salt(self.header().id(), self.timing().runs());
        self.timing().set_due(self.period.jittered(beat, salt));
    }

    /// Queues the next turn, or ends the task where there is none.
    fn go_on(&self, pool: &Arc<Shared>, timers: &Timers) -> RunOutcome {
        // Copied out: a calendar is user code, and not to be called under a lock.
        let beat = *self.beat.lock();
        let next = match catch(|| self.period.next(beat, &timers.clock)) {
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
            (Some(beat), Some(me)) => {
                *self.beat.lock() = beat;
                self.set_due(beat, timers);
                timers.take_again(pool, Task::of_cell(me));
                // A cancel between the run and the queue has found nothing to take out.
                if self.cell.state().is_cancelled() {
                    timers.on_cancel(pool, self.header().id(), self.timing());
                }
            }
            _ => {
                self.cell.cancel(false, Cancellation::Requested);
            }
        }
        RunOutcome::Completed
    }
}

impl Runnable for Turn {
    fn run(&self) -> RunOutcome {
        let home = self.pool.upgrade().zip(self.timers.upgrade());
        let Some((pool, timers)) = home.filter(|(pool, timers)| timers.may_go_on(pool)) else {
            self.cell.cancel(false, Cancellation::Requested);
            return RunOutcome::Skipped;
        };
        let mut ran = self.cell.run_and_reset();
        if matches!(ran, RunOutcome::Completed) {
            ran = self.go_on(&pool, &timers);
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

    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool {
        self.cell.cancel(interrupt, why)
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

    fn schedule(&self) -> Option<&Schedule> {
        self.cell.schedule()
    }
}
