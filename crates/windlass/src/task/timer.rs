//! The timer of a scheduled task: when it is due, and where it is queued.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::error::Cancellation;
use super::id::TaskId;
use super::timestamp;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::clock;

/// The sequence number of a task that has not been queued yet.
const NO_SEQUENCE: u64 = 0;

/// The time part of a scheduled task.
///
/// `sequence` and `slot` are written under the lock of the timer queue. A slot is not cleared when
/// the task leaves the queue: the queue knows which task occupies the slot.
///
/// All fields are `Relaxed`: a thread that decides by them holds the lock of the queue, or owns
/// the task; for other readers an estimate suffices.
pub(crate) struct Timer {
    /// The next due time, in the nanoseconds of [`timestamp`].
    due: AtomicU64,
    /// The order of scheduling, which decides between equal due times.
    sequence: AtomicU64,
    /// The slot in the timer queue, valid while the task is queued.
    slot: AtomicU32,
    /// The number of runs; only periodic tasks have one.
    run_count: Option<Arc<RunCount>>,
    service: Weak<dyn TimerService>,
}

/// The timer of a cell, if it has one: a [`Timer`], or `()` for a task that is due at once.
pub(super) trait MaybeTimer: Send + Sync + 'static {
    fn timer(&self) -> Option<&Timer>;
}

impl MaybeTimer for () {
    fn timer(&self) -> Option<&Timer> {
        None
    }
}

impl MaybeTimer for Timer {
    fn timer(&self) -> Option<&Timer> {
        Some(self)
    }
}

/// The interface of a scheduled pool to the layers below it.
///
/// Tasks call it through their timers, which hold it weakly; the thread pool below the scheduled
/// one calls it at shutdown. These layers have no other access to the scheduled pool.
pub(crate) trait TimerService: Send + Sync {
    /// Returns the time on the clock of the pool.
    fn now(&self) -> Instant;

    /// Called after a scheduled task was cancelled; it may still be queued.
    fn task_cancelled(&self, id: TaskId, timer: &Timer);

    /// Called after the thread pool was shut down, before it checks whether it can terminate.
    ///
    /// Tasks that will not run are cancelled with `reason`: a shutdown, or that the pool was
    /// dropped.
    fn pool_shut_down(&self, reason: Cancellation);
}

/// The number of runs of a periodic task that have ended.
#[derive(Debug, Default)]
pub(crate) struct RunCount(AtomicU64);

impl RunCount {
    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Timer {
    /// Creates the timer of a task that runs once.
    #[inline]
    pub(crate) fn one_shot(due: Instant, service: Weak<dyn TimerService>) -> Self {
        Self {
            due: AtomicU64::new(timestamp::nanos(due)),
            sequence: AtomicU64::new(NO_SEQUENCE),
            slot: AtomicU32::new(0),
            run_count: None,
            service,
        }
    }

    /// Creates the timer of a task that repeats, and counts its runs.
    pub(crate) fn periodic(
        due: Instant,
        run_count: Arc<RunCount>,
        service: Weak<dyn TimerService>,
    ) -> Self {
        Self {
            run_count: Some(run_count),
            ..Self::one_shot(due, service)
        }
    }

    pub(crate) fn due(&self) -> Instant {
        timestamp::instant(self.due_nanos())
    }

    /// Returns the due time, in the nanoseconds of [`timestamp`].
    pub(crate) fn due_nanos(&self) -> u64 {
        self.due.load(Ordering::Relaxed)
    }

    pub(crate) fn set_due(&self, due: Instant) {
        self.due.store(timestamp::nanos(due), Ordering::Relaxed);
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// Returns the sequence number; the first call sets it to what `next` returns, which must not
    /// be zero.
    pub(crate) fn sequence_or_init(&self, next: impl FnOnce() -> u64) -> u64 {
        match self.sequence() {
            NO_SEQUENCE => {
                let sequence = next();
                self.sequence.store(sequence, Ordering::Relaxed);
                sequence
            }
            sequence => sequence,
        }
    }

    pub(crate) fn is_periodic(&self) -> bool {
        self.run_count.is_some()
    }

    pub(crate) fn run_count(&self) -> u64 {
        self.run_count.as_ref().map_or(0, |count| count.get())
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot.load(Ordering::Relaxed)
    }

    pub(crate) fn set_slot(&self, slot: u32) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// Returns the time until the task is due; zero if it is due.
    pub(crate) fn delay(&self) -> Duration {
        // Without a pool there is no clock of the pool; the caller's is the closest.
        let service = self.service.upgrade();
        let now = service.map_or_else(clock::now, |service| service.now());
        self.due().saturating_duration_since(now)
    }

    /// Notifies the pool, if it still exists, that the task was cancelled.
    pub(super) fn notify_cancelled(&self, id: TaskId) {
        if let Some(service) = self.service.upgrade() {
            service.task_cancelled(id, self);
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("due", &self.due())
            .field("sequence", &self.sequence())
            .field("is_periodic", &self.is_periodic())
            .finish_non_exhaustive()
    }
}
