//! One turn of a task that runs again and again, and what follows it.

use std::sync::{Arc, Weak};

use super::period::{Beat, Period};
use super::scheduler::Scheduler;
use crate::containment::{catch, contain};
use crate::sync::Mutex;
use crate::task::{Cancellation, Failure, Header, Home, Ran, Runnable, Schedule, Snapshot, Task};

/// A periodic task, as a thing that can be run: a run is one turn, which queues the next.
pub(super) struct Turn {
    cell: Arc<dyn Runnable>,
    schedule: Arc<Schedule>,
    period: Period,
    /// The time on the beat, where the schedule has the one with jitter.
    beat: Mutex<Beat>,
    scheduler: Weak<Scheduler>,
    /// This very turn, to make the task of the next.
    me: Weak<Turn>,
}

impl Turn {
    pub(super) fn new(
        cell: Arc<dyn Runnable>,
        schedule: Arc<Schedule>,
        period: Period,
        beat: Beat,
        scheduler: &Arc<Scheduler>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            cell,
            schedule,
            period,
            beat: Mutex::new(beat),
            scheduler: Arc::downgrade(scheduler),
            me: Weak::clone(me),
        })
    }

    /// Queues the next turn, or ends the task where there is none.
    fn go_on(&self, scheduler: &Scheduler) -> Ran {
        // Copied out: a calendar is user code, and not to be called under a lock.
        let beat = *self.beat.lock();
        let next = match catch(|| self.period.next(beat, &scheduler.clock)) {
            Ok(next) => next,
            Err(payload) => {
                let failure = Failure::from_panic(payload);
                return if self.cell.fail(failure.clone()) {
                    Ran::Failed(failure)
                } else {
                    Ran::Void
                };
            }
        };
        match (next, self.me.upgrade()) {
            (Some(beat), Some(me)) => {
                *self.beat.lock() = beat;
                let salt = scheduler.salt(&self.schedule);
                self.schedule.set_due(self.period.jittered(beat, salt));
                scheduler.take_again(Task::of_cell(me));
                // A cancel between the run and the queue has found nothing to take out.
                if self.cell.state().is_cancelled() {
                    scheduler.cancelled(self.cell.header().id(), &self.schedule);
                }
            }
            _ => {
                self.cell.cancel(false, Cancellation::Requested);
            }
        }
        Ran::Well
    }
}

impl Runnable for Turn {
    fn run(&self) -> Ran {
        let scheduler = self
            .scheduler
            .upgrade()
            .filter(|scheduler| scheduler.may_go_on());
        let Some(scheduler) = scheduler else {
            self.cell.cancel(false, Cancellation::Requested);
            return Ran::Void;
        };
        let mut ran = self.cell.run_and_reset();
        if matches!(ran, Ran::Well) {
            ran = self.go_on(&scheduler);
        }
        if let (Ran::Failed(failure), Some(on_failure)) = (&ran, &scheduler.on_failure) {
            let header = self.cell.header();
            contain(|| on_failure(header.id(), header.name(), failure));
        }
        ran
    }

    fn run_and_reset(&self) -> Ran {
        self.cell.run_and_reset()
    }

    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool {
        self.cell.cancel(interrupt, why)
    }

    fn fail(&self, failure: Failure) -> bool {
        self.cell.fail(failure)
    }

    fn set_fate(&self, fate: Cancellation) {
        self.cell.set_fate(fate);
    }

    fn state(&self) -> Snapshot {
        self.cell.state()
    }

    fn header(&self) -> &Header {
        self.cell.header()
    }
}
