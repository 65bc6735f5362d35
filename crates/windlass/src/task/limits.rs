//! The time limits of a task: how late it may start, and how long it may run.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use crate::sync::clock::{Clock, TestClock};
use crate::sync::timestamp;

/// The limits that a task was submitted with.
#[derive(Clone, Default)]
pub(crate) struct Limits {
    pub(super) deadline: Option<Instant>,
    pub(super) queue_limit: Option<Duration>,
    pub(super) run_limit: Option<Duration>,
    /// Who counts the tasks whose time is up.
    pub(super) owner: Option<Arc<dyn LimitOwner>>,
}

/// The interface of a pool to its tasks with limits. What notifies it is called without a lock, before
/// those who wait for the task are woken.
#[expect(
    unnameable_types,
    reason = "a part of `Executor` that users neither call nor implement"
)]
pub trait LimitOwner: Send + Sync {
    /// Returns the clock of the pool, if it is not the machine's.
    fn test_clock(&self) -> Option<TestClock>;

    /// Called before it is decided whether a task expires: it will not start. Whoever sees that it has, relies
    /// on the count and on its place in the queue, and may do so before
    /// [`expiry_ends`](Self::expiry_ends) is called.
    fn expiry_begins(&self);

    /// Called when it is decided, with whether the task has expired.
    fn expiry_ends(&self, expired: bool);

    /// Called when the run of a task has taken too long: it was interrupted.
    fn task_timed_out(&self);
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits")
            .field("deadline", &self.deadline)
            .field("queue_limit", &self.queue_limit)
            .field("run_limit", &self.run_limit)
            .finish_non_exhaustive()
    }
}

/// The times of one task with limits.
///
/// All is `Relaxed`: the state word of the task decides who may start or cancel it, and the lock of the
/// timers which entry is there. The numbers are [timestamps](timestamp); zero stands for none.
#[derive(Debug)]
pub(crate) struct LimitTimes {
    /// The clock of the pool; for a task of no pool, that of the thread that created it.
    pub(super) clock: Clock,
    /// From when on it is too late to start.
    expires_at: AtomicU64,
    /// The time of its entry among the timers.
    armed_at: AtomicU64,
    /// Whether a task that runs in parts has started or has expired, whichever was decided first. The state
    /// word does not tell: between two parts it is that of a task that has not started.
    start: AtomicU8,
}

const UNDECIDED: u8 = 0;
const STARTED: u8 = 1;
const EXPIRED: u8 = 2;

impl LimitTimes {
    pub(super) fn new(limits: &Limits) -> Self {
        let clock = match limits.owner.as_ref().map(|owner| owner.test_clock()) {
            None => Clock::current(),
            Some(clock) => clock.map_or(Clock::System, Clock::Test),
        };
        Self {
            clock,
            expires_at: AtomicU64::new(0),
            armed_at: AtomicU64::new(0),
            start: AtomicU8::new(UNDECIDED),
        }
    }

    /// Decides that a task that runs in parts starts; returns false if it has expired.
    pub(super) fn decide_start(&self) -> bool {
        self.decide(STARTED)
    }

    /// Decides that a task that runs in parts expires; returns false if it has started.
    pub(super) fn decide_expiry(&self) -> bool {
        self.decide(EXPIRED)
    }

    /// Returns whether the first part of a task that runs in parts was started.
    pub(super) fn has_started(&self) -> bool {
        self.start.load(Ordering::Relaxed) == STARTED
    }

    fn decide(&self, wanted: u8) -> bool {
        let decided =
            self.start
                .compare_exchange(UNDECIDED, wanted, Ordering::Relaxed, Ordering::Relaxed);
        decided.is_ok() || decided == Err(wanted)
    }

    pub(super) fn set_expires_at(&self, at: Option<Instant>) {
        let at = at.map_or(0, timestamp::nanos);
        self.expires_at.store(at, Ordering::Relaxed);
    }

    /// Returns from when on it is too late to start.
    pub(super) fn expires_at(&self) -> Option<Instant> {
        to_instant(self.expires_at.load(Ordering::Relaxed))
    }

    /// Returns whether it is too late to start.
    pub(super) fn is_too_late(&self) -> bool {
        self.expires_at().is_some_and(|at| self.clock.now() >= at)
    }

    pub(super) fn set_armed_at(&self, at: Instant) {
        let at = timestamp::nanos(at);
        self.armed_at.store(at, Ordering::Relaxed);
    }

    /// Returns the time of its entry, and forgets it.
    pub(super) fn take_armed_at(&self) -> Option<Instant> {
        let at = self.armed_at.load(Ordering::Relaxed);
        if at == 0 {
            return None;
        }
        self.armed_at.store(0, Ordering::Relaxed);
        to_instant(at)
    }
}

fn to_instant(nanos: u64) -> Option<Instant> {
    (nanos != 0).then(|| timestamp::instant(nanos))
}
