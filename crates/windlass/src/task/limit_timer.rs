//! The timers of tasks with limits, and alarms, on the timer thread of their clock.
//!
//! A task has at most one entry among the [timers](Expiry): until it starts, for the time from which on
//! that is too late; then, if its runs have a limit, for the end of the run. Whoever ends one of the two
//! removes the entry: the thread that starts the task, ends its run, or cancels it.
//!
//! A timer that the system has no thread for does nothing. The time is then checked only when a thread
//! is about to start the task.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::cell_ref::Ref;
use super::head::Head;
use super::limits::{LimitTimes, Limits};
use super::runnable::Untyped;
use crate::expiry::{Expires, Expiry, Key};
use crate::sync::clock::Clock;
use crate::sync::timestamp;

/// What happens when a time is up.
pub(super) enum Timeout {
    Task { cell: Ref<dyn Untyped>, of: Phase },
    Alarm(Weak<dyn TimeUp>),
}

/// What is told by an [`Alarm`](super::alarm::Alarm).
pub(crate) trait TimeUp: Send + Sync + 'static {
    /// Called on the timer thread, without a lock. A panic is discarded.
    fn time_up(&self);
}

/// What a time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The wait for the start.
    Start,
    /// The run.
    Run,
}

impl Expires for Timeout {
    fn expire(self) {
        match self {
            Self::Task { cell, of } => match of {
                Phase::Start => cell.expire(),
                Phase::Run => cell.time_out(),
            },
            Self::Alarm(target) => {
                if let Some(target) = target.upgrade() {
                    target.time_up();
                }
            }
        }
    }
}

/// Sets from when on it is too late to start a new task, and its timer; `due` is when the task can
/// start at the earliest, if that is not now.
#[cold]
pub(super) fn arm_new(cell: Ref<dyn Untyped>, due: Option<Instant>, repeats: bool) {
    let Some((limits, times)) = limits_of(cell.head()) else {
        return;
    };
    // A repeated task is queued for each run, and its runs that are missed are a matter of its period.
    let limit = limits.queue_limit.filter(|_| !repeats);
    let latest = limit.and_then(|limit| {
        let since = due.unwrap_or_else(|| times.clock.now());
        since.checked_add(limit)
    });
    let earliest = limits.deadline.into_iter().chain(latest).min();
    times.set_expires_at(earliest);
    arm_start(cell);
}

/// Sets the timer of a task that has not started.
pub(super) fn arm_start(cell: Ref<dyn Untyped>) {
    let Some((_, times)) = limits_of(cell.head()) else {
        return;
    };
    let Some(at) = times.expires_at() else { return };
    arm(cell, Phase::Start, at);
}

/// Replaces the timer of a task that was started by that of its run.
pub(super) fn begin_run(cell: Ref<dyn Untyped>) {
    let head = cell.head();
    disarm(head);
    let Some((limits, times)) = limits_of(head) else {
        return;
    };
    let ends = limits
        .run_limit
        .and_then(|limit| times.clock.now().checked_add(limit));
    if let Some(at) = ends {
        arm(cell, Phase::Run, at);
    }
}

/// Removes the timer of a task, if it has one.
pub(super) fn disarm(head: &Head) {
    let Some((_, times)) = limits_of(head) else {
        return;
    };
    if let Some(at) = times.take_armed_at() {
        let timeout = timers(&times.clock).remove(key(head, at), &times.clock);
        drop(timeout);
    }
}

/// Returns the limits of a task, and its times.
pub(super) fn limits_of(head: &Head) -> Option<(&Limits, &LimitTimes)> {
    let header = head.header();
    let limits = header.attributes()?.limits.as_ref()?;
    Some((limits, header.limit_times()?))
}

fn arm(cell: Ref<dyn Untyped>, of: Phase, at: Instant) {
    let task = cell.clone();
    let Some((_, times)) = limits_of(task.head()) else {
        return;
    };
    // In the precision in which it is removed.
    let at = timestamp::instant(timestamp::nanos(at));
    times.set_armed_at(at);
    let timeout = Timeout::Task { cell, of };
    let (timers, key) = (timers(&times.clock), key(task.head(), at));
    // Without a thread the start is checked, and nothing else.
    let _ = timers.insert(key, timeout, &times.clock);
    // Who has ended the task before may have taken the time already, and found no entry. Who ends it after
    // this step finds both.
    if task.head().state.load_last().is_done() {
        drop(timers.remove(key, &times.clock));
    }
}

fn key(head: &Head, at: Instant) -> Key {
    (at, head.header().id().as_u64())
}

/// Returns the timers of a clock.
pub(super) fn timers(clock: &Clock) -> &Arc<Expiry<Timeout>> {
    clock.service(|| Arc::new(Expiry::new()))
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    #[cfg(not(loom))]
    use super::{Clock, timers};
    use super::{Phase, Timeout};
    use crate::expiry::Expires;
    use crate::interrupt::ThreadContext;
    use crate::sync::atomic::{AtomicBool, Ordering};
    #[cfg(not(loom))]
    use crate::sync::clock::TestClock;
    use crate::sync::{model, thread};
    use crate::task::{Cancellation, Handle, Task, TaskBuilder, TaskHandle};

    /// Runs a task while its time is up; returns whether it has run, and its handle.
    ///
    /// Its limit is too far away for a timer: the model acts in its place.
    fn race(of: Phase) -> (bool, TaskHandle<()>) {
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        let limited = TaskBuilder::new().run_limit(Duration::MAX);
        let (task, handle): (Task, _) =
            limited.build_with_handle(move || runs.store(true, Ordering::Relaxed));
        let cell = handle.to_untyped();
        let timer = thread::Builder::new().spawn(move || Timeout::Task { cell, of }.expire());
        task.run();
        let was_interrupted = ThreadContext::current().take_interrupt();
        timer.unwrap().join().unwrap();
        assert!(handle.is_done());
        let timed_out = handle.cancellation() == Some(Cancellation::TimedOut);
        assert!(!was_interrupted || timed_out);
        assert!(!ThreadContext::current().take_interrupt(), "it came late");
        (ran.load(Ordering::Relaxed), handle)
    }

    /// WL-181
    #[test]
    fn a_task_runs_or_expires_never_both() {
        model(|| {
            let (ran, handle) = race(Phase::Start);
            let expired = handle.cancellation() == Some(Cancellation::Expired);
            assert!(ran ^ expired);
        });
    }

    /// WL-182
    #[test]
    fn the_interrupt_of_a_run_limit_reaches_its_run_or_nobody() {
        model(|| {
            let (ran, handle) = race(Phase::Run);
            assert!(ran || handle.is_cancelled());
        });
    }

    /// WL-182
    #[cfg(not(loom))]
    #[test]
    fn the_limit_of_a_run_that_has_ended_is_not_that_of_the_next() {
        use crate::task::{RunCount, Timer, TimerService, TimerView};
        struct NoQueue;
        impl TimerService for NoQueue {
            fn now(&self) -> std::time::Instant {
                crate::sync::clock::now()
            }
            fn task_cancelled(&self, _: TimerView<'_>) {}
        }
        model(|| {
            let clock = TestClock::new();
            clock.enter(|| {
                let timer = Timer::periodic(
                    clock.now(),
                    Arc::new(NoQueue),
                    Arc::new(RunCount::default()),
                );
                let limited = TaskBuilder::new().run_limit(Duration::from_secs(2));
                let (task, handle) = limited.build_periodic(timer, || Ok(()));
                // Two runs of no time, with a pause in which the limit of the first would end.
                let _ = task.run_and_reset();
                clock.advance(Duration::from_secs(2));
                let _ = task.run_and_reset();
                assert!(!handle.is_done());
                handle.cancel();
            });
        });
    }

    /// WL-189
    #[cfg(not(loom))]
    #[test]
    fn a_task_that_is_cancelled_beside_its_start_leaves_no_timer() {
        model(|| {
            let clock = TestClock::new();
            clock.enter(|| {
                let limited = TaskBuilder::new().run_limit(Duration::from_secs(1));
                let (task, handle) = limited.build_with_handle(|| ());
                let canceller = thread::Builder::new().spawn(move || handle.cancel());
                task.run();
                canceller.unwrap().join().unwrap();
            });
            assert_eq!(timers(&Clock::Test(clock)).len(), 0);
        });
    }

    /// WL-180
    #[cfg(not(loom))]
    #[test]
    fn a_task_whose_time_is_up_is_told_by_the_timer_alone() {
        model(|| {
            let clock = TestClock::new();
            let limit = Duration::from_secs(1);
            let build = || {
                TaskBuilder::new()
                    .queue_limit(limit)
                    .build_with_handle(|| ())
            };
            let (task, handle) = clock.enter(build);
            // Sooner than the first: its timer has to wake the thread.
            let sooner = || {
                TaskBuilder::new()
                    .queue_limit(limit / 2)
                    .build_with_handle(|| ())
            };
            let (other, sooner) = clock.enter(sooner);
            clock.advance(limit / 2);
            assert!(sooner.join().unwrap_err().is_cancelled());
            clock.advance(limit);
            assert!(handle.join().unwrap_err().is_cancelled());
            drop((task, other));
        });
    }
}
