//! The timer of a scheduled task: when it is due, and where it is queued.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{Cancellation, Failure};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::timestamp;

/// The time part of a cell, of a task that runs once or, with [`Repetition`], of one that repeats.
///
/// A pending timer is kept small: what only a repetition needs is a part of its type alone.
pub(crate) struct Timer<S, R = ()> {
    place: Place,
    service: Arc<S>,
    repetition: R,
}

/// The time part of a cell, if it has one: a [`Timer`], or `()` for a task that is due at once.
pub(super) trait MaybeTimer: Send + Sync + 'static {
    fn view(&self) -> Option<TimerView<'_>>;

    /// Returns the place of the timer.
    fn place(&self) -> Option<&Place>;
}

impl MaybeTimer for () {
    fn view(&self) -> Option<TimerView<'_>> {
        None
    }

    fn place(&self) -> Option<&Place> {
        None
    }
}

impl<S: TimerService + 'static, R: MaybeRepeats> MaybeTimer for Timer<S, R> {
    #[inline]
    fn view(&self) -> Option<TimerView<'_>> {
        Some(TimerView {
            place: &self.place,
            service: &*self.service,
            repetition: self.repetition.repetition(),
        })
    }

    #[inline]
    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }
}

/// What a task that repeats has: a [`Repetition`], or `()` for one that does not.
pub(crate) trait MaybeRepeats: Send + Sync + 'static {
    fn repetition(&self) -> Option<&Repetition>;
}

impl MaybeRepeats for () {
    #[inline]
    fn repetition(&self) -> Option<&Repetition> {
        None
    }
}

impl MaybeRepeats for Repetition {
    fn repetition(&self) -> Option<&Repetition> {
        Some(self)
    }
}

/// The interface of a scheduled pool to its tasks, whose timers own it.
pub(crate) trait TimerService: Send + Sync {
    /// Returns the time on the clock of the pool.
    fn now(&self) -> Instant;

    /// Called after a scheduled task was cancelled; it may still be queued.
    fn task_cancelled(&self, timer: TimerView<'_>);
}

/// The interface of a scheduled pool to the thread pool below it, which owns it.
pub(crate) trait TimerOwner: Send + Sync {
    /// Called after the thread pool was shut down, before it checks whether it can terminate.
    ///
    /// Tasks that will not run are cancelled with `reason`: a shutdown, or that the pool was
    /// dropped.
    fn pool_shut_down(&self, reason: Cancellation);
}

impl<S> Timer<S> {
    /// Creates the timer of a task that runs once, at this time in the nanoseconds of [`timestamp`].
    #[inline]
    pub(crate) fn one_shot(due: u64, service: Arc<S>) -> Self {
        Self {
            place: Place::new(due),
            service,
            repetition: (),
        }
    }
}

impl<S> Timer<S, Repetition> {
    /// Creates the timer of a task that repeats, and counts its runs.
    pub(crate) fn periodic(due: Instant, service: Arc<S>, run_count: Arc<RunCount>) -> Self {
        Self {
            place: Place::new(timestamp::nanos(due)),
            service,
            repetition: Repetition {
                run_count,
                queued_at: AtomicU64::new(0),
            },
        }
    }
}

/// What a task that repeats has and others have not.
#[derive(Debug)]
pub(crate) struct Repetition {
    run_count: Arc<RunCount>,
    /// When the current run was queued, as a [`timestamp`]; zero if that was not recorded.
    queued_at: AtomicU64,
}

/// The runs of a task that repeats: how many have ended, and how the last one failed.
#[derive(Debug, Default)]
pub(crate) struct RunCount {
    ended: AtomicU64,
    /// Whether they are attempts at one result, not runs of a period.
    retries: bool,
    last_failure: Mutex<Option<Failure>>,
}

impl RunCount {
    /// Creates the count of attempts at one result.
    pub(crate) fn of_attempts() -> Self {
        Self {
            retries: true,
            ..Self::default()
        }
    }

    /// Counts the end of a run; returns how many have ended.
    pub(crate) fn increment(&self) -> u64 {
        self.ended.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn get(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn set_last_failure(&self, failure: Failure) {
        let former = self.last_failure.lock().replace(failure);
        drop(former);
    }

    pub(crate) fn last_failure(&self) -> Option<Failure> {
        self.last_failure.lock().clone()
    }
}

/// The place of a task in the order of time, and in the timer queue.
///
/// All is `Relaxed`: a thread that decides by it holds the lock of the queue, or owns the task; for
/// other readers an estimate suffices.
#[derive(Debug)]
pub(crate) struct Place {
    /// The next due time, in the nanoseconds of [`timestamp`].
    due: AtomicU64,
    /// The order among tasks that are due at the same time, and the position in the queue.
    ///
    /// Both are written under the lock of the queue. The position is not cleared when the task leaves
    /// the queue: the queue knows which task has it.
    order_and_position: AtomicU64,
}

/// Bits of the position; the others are those of the sequence number.
const POSITION_BITS: u32 = 28;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;

impl Place {
    /// The largest sequence number.
    pub(crate) const LAST_SEQUENCE: u64 = (1 << (u64::BITS - POSITION_BITS)) - 1;
    /// The number of positions.
    pub(crate) const POSITIONS: usize = 1 << POSITION_BITS;

    #[inline]
    fn new(due: u64) -> Self {
        Self {
            due: AtomicU64::new(due),
            order_and_position: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due.load(Ordering::Relaxed)
    }

    /// Returns the sequence number; zero before the task was queued for the first time.
    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        self.order_and_position.load(Ordering::Relaxed) >> POSITION_BITS
    }

    #[inline]
    pub(crate) fn set_sequence(&self, sequence: u64) {
        debug_assert!(sequence <= Self::LAST_SEQUENCE);
        let both = (sequence << POSITION_BITS) | self.position() as u64;
        self.order_and_position.store(both, Ordering::Relaxed);
    }

    /// Sets sequence number and position.
    #[inline]
    pub(crate) fn set(&self, sequence: u64, position: usize) {
        debug_assert!(sequence <= Self::LAST_SEQUENCE && position < Self::POSITIONS);
        let both = (sequence << POSITION_BITS) | position as u64;
        self.order_and_position.store(both, Ordering::Relaxed);
    }

    /// Returns the position, which is valid while the task is queued.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        (self.order_and_position.load(Ordering::Relaxed) & POSITION_MASK) as usize
    }

    #[inline]
    pub(crate) fn set_position(&self, position: usize) {
        debug_assert!(position < Self::POSITIONS);
        let sequence = self.order_and_position.load(Ordering::Relaxed) & !POSITION_MASK;
        let both = sequence | position as u64;
        self.order_and_position.store(both, Ordering::Relaxed);
    }
}

/// The timer of a task, without the types of its cell.
#[derive(Clone, Copy)]
pub(crate) struct TimerView<'a> {
    place: &'a Place,
    service: &'a dyn TimerService,
    repetition: Option<&'a Repetition>,
}

impl<'a> TimerView<'a> {
    pub(crate) fn due(self) -> Instant {
        timestamp::instant(self.place.due())
    }

    /// Sets the due time of the next run, of a task that is not queued.
    pub(crate) fn set_due(self, due: Instant) {
        let nanos = timestamp::nanos(due);
        self.place.due.store(nanos, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) const fn place(self) -> &'a Place {
        self.place
    }

    /// Returns whether it repeats with a period.
    pub(crate) fn is_periodic(self) -> bool {
        self.repetition
            .is_some_and(|repetition| !repetition.run_count.retries)
    }

    /// Returns how the last attempt failed, of a task that is tried again.
    pub(crate) fn last_failure(self) -> Option<Failure> {
        self.repetition?.run_count.last_failure()
    }

    pub(crate) fn run_count(self) -> u64 {
        self.repetition
            .map_or(0, |repetition| repetition.run_count.get())
    }

    /// Records when a run was queued, where it is not determined by the due time.
    pub(super) fn set_queued_at(self, at: Instant) {
        if let Some(repetition) = self.repetition {
            let nanos = timestamp::nanos(at);
            repetition.queued_at.store(nanos, Ordering::Relaxed);
        }
    }

    /// Returns since when the task waits for a worker at the earliest, if that was recorded.
    pub(super) fn queued_at(self) -> Option<Instant> {
        match self.repetition {
            // It was queued before it was due.
            None => Some(self.due()),
            Some(repetition) => match repetition.queued_at.load(Ordering::Relaxed) {
                0 => None,
                nanos => Some(timestamp::instant(nanos)),
            },
        }
    }

    /// Returns the time until the task is due; zero if it is due.
    pub(crate) fn delay(self) -> Duration {
        self.due().saturating_duration_since(self.service.now())
    }

    /// Notifies the pool that the task was cancelled.
    #[inline]
    pub(super) fn notify_cancelled(self) {
        self.service.task_cancelled(self);
    }
}

impl fmt::Debug for TimerView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("due", &self.due())
            .field("sequence", &self.place.sequence())
            .field("is_periodic", &self.is_periodic())
            .finish_non_exhaustive()
    }
}
