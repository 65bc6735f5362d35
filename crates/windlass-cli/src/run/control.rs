//! Ends a run: raises its stage and signals its jobs.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rustix::process::Signal;
use windlass::Task;
use windlass::prelude::*;
use windlass::scheduled::ScheduledHandle;

use super::guard::Guard;
use super::slots::{Slot, Slots};
use super::stop::{Reason, Stage, Stop};

/// The jobs of a run that are started, and what ends them.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) stop: Arc<Stop>,
    pub(crate) slots: Arc<Slots>,
    /// Runs what is due later; it has no thread until something is.
    timers: ScheduledThreadPoolExecutor,
    /// How long a job has between `TERM` and `KILL`.
    grace: Duration,
    /// The pool that the jobs wait in, if there is one.
    pool: OnceLock<Weak<ThreadPoolExecutor>>,
    /// Jobs that waited there when the run was ended.
    taken: Mutex<Vec<Task>>,
}

/// A time limit of a job that has been started.
pub(crate) type Limit = Option<ScheduledHandle<()>>;

impl Control {
    /// Creates the control of a run that the current thread submits.
    pub(crate) fn new(guard: Option<Guard>, grace: Duration) -> io::Result<Self> {
        Ok(Self {
            stop: Arc::new(Stop::new()?),
            slots: Arc::new(Slots::new(guard)),
            timers: ScheduledThreadPoolExecutor::new(1),
            grace,
            pool: OnceLock::new(),
            taken: Mutex::default(),
        })
    }

    /// Names the pool that the jobs of the run wait in.
    pub(crate) fn watch(&self, pool: &Arc<ThreadPoolExecutor>) {
        let _ = self.pool.set(Arc::downgrade(pool));
    }

    /// Takes the jobs out of the pool that wait in it, if the run has been ended. They would start and return at once, but the
    /// times of these runs would be among those of real ones.
    ///
    /// They are not dropped here: a job that is dropped tells the writer of the outputs, who may stand still, and what
    /// ends the run must not.
    pub(crate) fn take_waiting(&self) {
        let pool = self.pool.get().and_then(Weak::upgrade);
        if let Some(pool) = pool.filter(|_| !self.stop.is_running()) {
            let waiting = pool.queue().drain_all();
            self.lock_taken().extend(waiting);
        }
    }

    /// Drops what was taken out of the pool; each job counts itself.
    pub(crate) fn drop_taken(&self) {
        let taken = std::mem::take(&mut *self.lock_taken());
        drop(taken);
    }

    fn lock_taken(&self) -> MutexGuard<'_, Vec<Task>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run. Jobs that are told to terminate are killed after their grace.
    pub(crate) fn end(&self, stage: Stage, reason: Reason) {
        self.advance(stage, reason.clone());
        if stage == Stage::Terminating {
            let (stop, slots) = (Arc::clone(&self.stop), Arc::clone(&self.slots));
            let kill = move || {
                stop.raise(Stage::Killing, reason);
                slots.signal_all(Signal::KILL);
            };
            // Only a pool that is shut down rejects it, and then the run is over.
            drop(self.timers.schedule(self.grace, kill));
        }
    }

    /// Ends the run, or what is left of it, and leaves the next stage to the next call.
    pub(crate) fn advance(&self, stage: Stage, reason: Reason) {
        self.stop.raise(stage, reason);
        self.take_waiting();
        match stage {
            Stage::Running | Stage::Draining => {}
            Stage::Terminating => self.slots.signal_all(Signal::TERM),
            Stage::Killing => self.slots.signal_all(Signal::KILL),
        }
        // A stopped process receives a signal when it continues.
        if stage >= Stage::Terminating {
            self.slots.signal_all(Signal::CONT);
        }
    }

    /// Starts the time limit of the job in a slot: `TERM` when it is up, `KILL` after a grace.
    pub(crate) fn limit(
        &self,
        slot: &Arc<Slot>,
        turn: u64,
        (limit, grace): (Option<Duration>, Duration),
    ) -> Limit {
        let (slot, timers) = (Arc::clone(slot), self.timers.clone());
        let time_is_up = move || {
            if slot.time_up(turn, Signal::TERM) {
                let kill = move || {
                    slot.time_up(turn, Signal::KILL);
                };
                drop(timers.schedule(grace, kill));
            }
        };
        self.timers.schedule(limit?, time_is_up).ok()
    }

    /// Signals a job that was started while the run was told to end.
    pub(crate) fn signal_late(&self, slot: &Slot) {
        match self.stop.stage() {
            Stage::Running | Stage::Draining => {}
            Stage::Terminating => slot.signal(Signal::TERM),
            Stage::Killing => slot.signal(Signal::KILL),
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        drop(self.timers.shutdown_now());
    }
}
