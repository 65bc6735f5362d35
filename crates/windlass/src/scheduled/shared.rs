//! The state that the submitters and workers of a scheduled pool share.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::timers::Timers;
use crate::pool::{self, RunState};
use crate::queue::BlockingQueue;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::clock::MAX_TIMEOUT;
use crate::sync::unique_id;
use crate::task::{Cancellation, Failure, Task, TaskId, TimerView, nanos};

/// A function that wraps each run of a scheduled task.
pub(super) type Decorate = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// A function that is called when a periodic task has failed, which ends it.
pub(super) type OnPeriodicFailure = Arc<dyn Fn(TaskId, Option<&str>, &Failure) + Send + Sync>;

/// The part of a scheduled pool that the thread pool below it does not have.
///
/// The thread pool owns it, so that it is not dropped while there is a worker or a user; its reference
/// to the thread pool is weak.
pub(super) struct Shared {
    pub(super) timers: Arc<Timers>,
    pub(super) options: Options,
    /// Differs from pool to pool and from process to process, and so does the jitter.
    jitter_seed: u64,
    /// The reason of tasks that are cancelled by the shutdown; set by the first shutdown.
    shutdown_reason: OnceLock<Cancellation>,
    /// How often a periodic task was due again before its run had ended. Orders nothing.
    overruns: AtomicU64,
}

/// What is fixed for the life of the pool.
#[derive(Default)]
pub(super) struct Options {
    pub(super) decorate: Option<Decorate>,
    pub(super) on_periodic_failure: Option<OnPeriodicFailure>,
}

/// A task with this attachment is a timer of a fork-join pool that ends another task. It is run by the thread of the
/// timers: all workers may be busy with what it is to end.
pub(super) struct OnTimerThread;

/// Returns whether the library has submitted the task for itself.
pub(super) fn is_internal(task: &Task) -> bool {
    task.attachment::<OnTimerThread>().is_some()
}

/// The kind of a task, which decides whether it still runs after a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// A task without a timer.
    Immediate,
    /// A task with a due time, in the nanoseconds of [`nanos`].
    OneShot {
        due: u64,
    },
    Periodic,
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl TimerKind {
    pub(super) fn of(task: &Task) -> Self {
        Self::of_timer(task.timer())
    }

    /// Returns the kind of a task with this timer.
    pub(super) fn of_timer(timer: Option<TimerView<'_>>) -> Self {
        match timer {
            None => Self::Immediate,
            // An attempt after the first is a repetition too.
            Some(timer) if timer.is_periodic() || timer.run_count() > 0 => Self::Periodic,
            Some(timer) => Self::OneShot {
                due: timer.place().due(),
            },
        }
    }
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        Self {
            timers: Arc::new(Timers::new()),
            options,
            jitter_seed: RandomState::new().hash_one(()),
            shutdown_reason: OnceLock::new(),
            overruns: AtomicU64::new(0),
        }
    }

    /// Returns the thread pool below, unless it has been dropped.
    pub(super) fn pool(&self) -> Option<Arc<pool::Shared>> {
        self.timers.pool()
    }

    /// Records why the pool was shut down; the first reason stays.
    pub(super) fn set_shutdown_reason(&self, reason: Cancellation) {
        let _ = self.shutdown_reason.set(reason);
    }

    /// Returns the reason for tasks that are cancelled because the pool was shut down.
    pub(super) fn shutdown_reason(&self) -> Cancellation {
        let reason = self.shutdown_reason.get().copied();
        reason.unwrap_or(Cancellation::Shutdown)
    }

    /// Counts a periodic task that is due again before its run has ended.
    pub(super) fn count_overrun(&self) {
        self.overruns.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overruns(&self) -> u64 {
        self.overruns.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Instant {
        self.timers.clock.now()
    }

    /// Returns the time after this delay, in the nanoseconds of [`nanos`], no further ahead than any
    /// timer reaches.
    pub(super) fn due_after(&self, delay: Duration) -> u64 {
        const MAX: u64 = MAX_TIMEOUT.as_secs() * NANOS_PER_SECOND;
        let whole = delay.as_secs().saturating_mul(NANOS_PER_SECOND);
        let delay = whole.saturating_add(u64::from(delay.subsec_nanos()));
        nanos(self.now()).saturating_add(delay.min(MAX))
    }

    /// Returns a number that differs for each run of each task, for jitter.
    pub(super) fn jitter_salt(&self, id: TaskId, run_count: u64) -> u64 {
        self.jitter_seed ^ id.as_u64().rotate_left(32) ^ run_count
    }

    /// Returns a number that differs for each call, for jitter.
    pub(super) fn new_salt(&self) -> u64 {
        self.jitter_seed ^ unique_id() as u64
    }

    /// Returns whether a pool in this state runs a task of this kind.
    pub(super) fn may_run(&self, state: RunState, kind: TimerKind) -> bool {
        match state {
            RunState::Running => true,
            RunState::Shutdown => match kind {
                TimerKind::Immediate => true,
                TimerKind::OneShot { due } => {
                    self.timers.settings.runs_delayed() || due <= nanos(self.now())
                }
                TimerKind::Periodic => self.timers.settings.continues_periodic(),
            },
            RunState::Stop | RunState::Tidying | RunState::Terminated => false,
        }
    }
}

impl Drop for Shared {
    /// Drops what is queued: the tasks own the queue.
    fn drop(&mut self) {
        drop(self.timers.drain_all());
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("timers", &self.timers)
            .finish_non_exhaustive()
    }
}
