//! The run loop of a worker: takes a task, runs it, counts it; returns why it ended.

use std::sync::Arc;
use std::time::Duration;

use super::ctl::CtlSnapshot;
use super::in_place_times;
use super::roster::Worker;
use super::settings::SettingsSnapshot;
use super::shared::Shared;
use super::tally::{Exit, Unsuccessful};
use super::waits::Membership;
use super::watch::{Started, watch};
use super::work_queue::WorkQueue;
use crate::hooks::{Panicked, RunEnd, run_hooked};
use crate::interrupt::{self, Interrupted, ThreadContext};
use crate::queue::Received;
use crate::task::{Failure, RunOutcome, Task};
use crate::times::{Ending, Stopwatch, TaskRecord};
use crate::unwind::{catch, discard};

/// Why a worker ends.
#[derive(Debug)]
pub(crate) enum Retire {
    /// The pool no longer needs it; the control word no longer counts it.
    Done,
    /// A task without a handle, or a hook, panicked; the control word still counts it.
    Failed(Failure),
}

/// How long a worker waits on a queue that cannot be interrupted before it checks its pool again.
const UNINTERRUPTIBLE_SLICE: Duration = Duration::from_millis(20);

/// How a worker starts others. Functions, so that this file does not depend on the one that starts workers.
#[derive(Clone, Copy)]
pub(crate) struct Starts {
    /// Called with each task taken, if the pool may have spare workers: who queued the next one may have seen
    /// this worker idle.
    pub(crate) replace_blocked: fn(&Arc<Shared>),
    /// Starts so many workers for queued tasks.
    pub(crate) add_workers: fn(&Arc<Shared>, u32) -> Started,
}

/// Runs tasks until there is a reason to end.
pub(crate) fn run(pool: &Arc<Shared>, worker: &Worker, starts: Starts) -> Retire {
    let me = ThreadContext::current();
    let stopwatch = Stopwatch::new(&pool.tracker, &worker.activity, pool.clock());
    let mut retirements = worker.retirements;
    // A worker that is started during a pause holds its first task until the end of that.
    while pool.settings.paused_until().is_some() && pool.sleep_while_paused(&me) {}
    let mut task = worker.take_first();
    loop {
        if task.is_none() {
            task = next_task(pool, &me, retirements, starts);
            stopwatch.wait_ended(&me);
        }
        if task.is_none() {
            return Retire::Done;
        }
        let has_spares = pool.options.spare_workers > 0;
        if has_spares {
            worker.set_taken();
            (starts.replace_blocked)(pool);
        }
        match run_task(pool, &stopwatch, &me, &mut task) {
            Ok(requested) => retirements = requested,
            Err(failure) => return Retire::Failed(failure),
        }
        if has_spares {
            continue;
        }
        // The fast path while there are tasks. Each has a variable of its own and is not moved out of
        // it: see `Task::run_in`.
        loop {
            let mut task = poll_task(pool);
            if task.is_none() {
                break;
            }
            match run_task(pool, &stopwatch, &me, &mut task) {
                Ok(requested) => retirements = requested,
                Err(failure) => return Retire::Failed(failure),
            }
        }
    }
}

/// Runs one task and counts it; returns the failure that ends the worker as an error.
///
/// Returns the number of retirement requests before the end of the task: from then on the worker
/// counts as idle, and a later request concerns it too.
#[inline]
fn run_task(
    pool: &Shared,
    stopwatch: &Stopwatch,
    me: &ThreadContext,
    task: &mut Option<Task>,
) -> Result<u64, Failure> {
    reset_interrupt(pool, me);
    // The task that this worker has taken has left a place.
    if pool.room.is_awaited() {
        pool.room.serve();
    }
    let Some(next) = task.as_ref() else {
        return Ok(pool.retirements());
    };
    if pool.options.hooks.is_some() || !stopwatch.begin_plain(next) {
        return run_observed(pool, stopwatch, me, task);
    }
    end_plain(pool, stopwatch, me, run_plain(task))
}

/// Counts a task for which [`Stopwatch::begin_plain`] returned true; returns what [`run_task`] does.
#[inline]
fn end_plain(
    pool: &Shared,
    stopwatch: &Stopwatch,
    me: &ThreadContext,
    ended: RunEnd,
) -> Result<u64, Failure> {
    let retirements = pool.retirements();
    stopwatch.end_plain();
    if !matches!(ended, RunEnd::Ended) {
        handle_failure(pool, me, ended, |ending| stopwatch.describe_plain(ending))?;
    }
    Ok(retirements)
}

/// Runs one task as [`run_task`] does, with hooks, or with a name or a time that is recorded.
///
/// Apart from the others: what has to be kept during such a run costs the short tasks time.
#[inline(never)]
fn run_observed(
    pool: &Shared,
    stopwatch: &Stopwatch,
    me: &ThreadContext,
    task: &mut Option<Task>,
) -> Result<u64, Failure> {
    let Some(next) = task.as_ref() else {
        return Ok(pool.retirements());
    };
    if let Some(hooks) = &pool.options.hooks {
        if stopwatch.begin_plain(next) {
            let ended = run_hooked(task, &**hooks, pool.options.takes_times);
            return end_plain(pool, stopwatch, me, ended);
        }
    }
    let id = next.id();
    let begun = stopwatch.begin(next);
    let ended = match &pool.options.hooks {
        None => run_plain(task),
        Some(hooks) => run_hooked(task, &**hooks, pool.options.takes_times),
    };
    let retirements = pool.retirements();
    stopwatch.end(begun);
    if !matches!(ended, RunEnd::Ended) {
        let describe = |ending| stopwatch.describe(begun, id, ending);
        handle_failure(pool, me, ended, describe)?;
    }
    Ok(retirements)
}

/// Runs a task that the current thread has taken out of the queue because it waits for it, inside
/// another task.
///
/// An interrupt for the outer task stays pending, or becomes so if it comes meanwhile; one for this task
/// ends with it. What would end a worker is reported.
pub(crate) fn run_in_place(pool: &Shared, task: Task, membership: Membership) {
    let stopwatch = in_place_times::stopwatch(pool, membership);
    let begun = stopwatch.begin(&task);
    let (id, mut task) = (task.id(), Some(task));
    let ended = ThreadContext::with_current(|me| {
        let outer = me.begin_nested();
        if pool.ctl.load().is_stopped() {
            me.set_interrupted();
        }
        let ended = match &pool.options.hooks {
            None => run_plain(&mut task),
            Some(hooks) => run_hooked(&mut task, &**hooks, pool.options.takes_times),
        };
        me.end_nested(outer, id.as_u64());
        ended
    });
    stopwatch.end(begun);
    pool.roster.in_place.end();
    let describe = |ending| stopwatch.describe(begun, id, ending);
    if let Some(failure) = count_unsuccessful(pool, ended, describe) {
        pool.report(&failure);
        discard(failure);
    }
}

/// Counts a task that has failed or was cancelled; returns a failure that no handle receives.
#[cold]
fn count_unsuccessful(
    pool: &Shared,
    ended: RunEnd,
    describe: impl FnOnce(Ending) -> TaskRecord,
) -> Option<Failure> {
    match ended {
        RunEnd::Ended => None,
        RunEnd::Skipped => {
            pool.tally.count_unsuccessful(Unsuccessful::Cancelled);
            None
        }
        RunEnd::Failed(failure) => {
            count_failure(pool, &failure, describe);
            // This may be the last reference, and the drop of its payload may panic.
            discard(failure);
            None
        }
        RunEnd::Panicked { failure, by } => {
            if by == Panicked::Task {
                count_failure(pool, &failure, describe);
            }
            Some(failure)
        }
    }
}

/// Counts the failure of a task, and records it if somebody wants to know.
fn count_failure(pool: &Shared, failure: &Failure, describe: impl FnOnce(Ending) -> TaskRecord) {
    pool.count_failed();
    let ending = Ending::of(failure);
    if ending == Ending::Panicked {
        pool.tally.count_unsuccessful(Unsuccessful::Panicked);
    }
    let records = &pool.tracker.records;
    if records.is_kept() {
        records.add_failed(describe(ending).with_message(failure));
    }
}

/// Counts a failure, and returns it if it ends the worker.
#[cold]
fn handle_failure(
    pool: &Shared,
    me: &ThreadContext,
    ended: RunEnd,
    describe: impl FnOnce(Ending) -> TaskRecord,
) -> Result<(), Failure> {
    let Some(failure) = count_unsuccessful(pool, ended, describe) else {
        return Ok(());
    };
    if !pool.options.reuses_workers {
        return Err(failure);
    }
    me.take_interrupt();
    pool.report(&failure);
    discard(failure);
    Ok(())
}

/// Clears an interrupt that the last task left pending, and sets one if the pool is stopped.
fn reset_interrupt(pool: &Shared, me: &ThreadContext) {
    // Cleared before the state is read: `shutdown_now` changes the state before it interrupts, so
    // an interrupt of it that is cleared here is set again below.
    me.take_interrupt();
    if pool.ctl.load().is_stopped() {
        me.set_interrupted();
    }
}

fn run_plain(task: &mut Option<Task>) -> RunEnd {
    match catch(|| Task::run_in(task)) {
        Ok(RunOutcome::Completed) => RunEnd::Ended,
        Ok(RunOutcome::Skipped) => RunEnd::Skipped,
        Ok(RunOutcome::Failed(failure)) => RunEnd::Failed(failure),
        Err(payload) => RunEnd::Panicked {
            failure: Failure::from_panic(payload),
            by: Panicked::Task,
        },
    }
}

/// The next action of a worker without a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextAction {
    /// Exits: the pool needs no worker any more.
    Exit,
    /// Exits if the control word is unchanged: the pool has one worker too many.
    ExitIfUnchanged,
    /// Waits for a task without a time limit.
    Wait,
    /// Waits for a task no longer than the keep-alive time.
    WaitForKeepAlive,
}

/// How long a worker has been without a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    /// Less than the keep-alive time.
    Waiting,
    /// The keep-alive time, or it was asked to retire.
    TimedOut,
}

/// Decides what a worker without a task does.
///
/// There are four reasons to exit: the pool is stopped; it is shut down and the queue is empty; it
/// has more workers than its maximum; the worker has timed out, and is not needed as a core worker.
/// For the last two it must not be the last worker while tasks are queued.
fn decide(
    seen: CtlSnapshot,
    settings: SettingsSnapshot,
    idle: Idle,
    queue_is_empty: impl Fn() -> bool,
) -> NextAction {
    let workers = seen.workers();
    if seen.is_stopped() || (!seen.is_running() && queue_is_empty()) {
        return NextAction::Exit;
    }
    let may_time_out = settings.core_timeout || workers > settings.core;
    let surplus = workers > settings.maximum || (may_time_out && idle == Idle::TimedOut);
    if surplus && (workers > 1 || queue_is_empty()) {
        NextAction::ExitIfUnchanged
    } else if may_time_out {
        NextAction::WaitForKeepAlive
    } else {
        NextAction::Wait
    }
}

/// Returns the next task, if one is queued and the worker does not have to exit: the fast path under
/// load.
///
/// Consistent with [`decide`], by which a worker that takes a task here would not exit.
#[inline]
fn poll_task(pool: &Shared) -> Option<Task> {
    let seen = pool.ctl.load();
    if seen.is_stopped() || seen.workers() > pool.settings.may_take() {
        return None;
    }
    pool.queue.poll()
}

/// Waits for the next task; `None` if the worker exits, which then is no longer counted.
///
/// `retirements` is the number of retirement requests before the worker was idle.
#[cold]
fn next_task(
    pool: &Arc<Shared>,
    me: &Arc<ThreadContext>,
    mut retirements: u64,
    starts: Starts,
) -> Option<Task> {
    let mut idle = Idle::Waiting;
    loop {
        let requested = pool.retirements();
        if requested != retirements {
            idle = Idle::TimedOut;
        }
        retirements = requested;
        let (seen, mut settings) = (pool.ctl.load(), pool.settings.snapshot());
        if pool.options.spare_workers > 0 {
            settings.maximum = pool.size_with_spares();
        }
        let timeout = match decide(seen, settings, idle, || pool.queue.is_drained()) {
            NextAction::Exit => {
                pool.tally.count_exit(Exit::Shutdown);
                pool.ctl.remove_worker();
                return None;
            }
            NextAction::ExitIfUnchanged if pool.ctl.try_remove_worker(seen) => {
                let is_surplus = seen.workers() > settings.maximum;
                let why = if is_surplus {
                    Exit::Resized
                } else {
                    Exit::Idle
                };
                pool.tally.count_exit(why);
                return None;
            }
            NextAction::ExitIfUnchanged => continue,
            NextAction::Wait => None,
            NextAction::WaitForKeepAlive => Some(settings.keep_alive),
        };
        if pool.settings.paused_until().is_some() && pool.sleep_while_paused(me) {
            continue;
        }
        if seen.is_running() && pool.room.is_awaited() {
            if let Some(task) = take_awaiting(pool) {
                return Some(task);
            }
        }
        match me.accept_nudges(|| wait_for_task(pool, timeout)) {
            Ok(Received::Element(task)) => return Some(task),
            Ok(Received::Nothing) => idle = Idle::TimedOut,
            Ok(Received::Watch) => {
                if let WorkQueue::Synchronous(queue) = &pool.queue {
                    watch(pool, me, queue, starts.add_workers);
                }
                idle = Idle::Waiting;
            }
            // Nudged: the state is read again.
            Err(Interrupted) => idle = Idle::Waiting,
        }
    }
}

/// Takes the first task that awaits room, for a worker that has no other.
#[cold]
fn take_awaiting(pool: &Shared) -> Option<Task> {
    if pool.options.queues_every_task {
        pool.room.serve();
        return None;
    }
    pool.room.take_first()
}

fn wait_for_task(pool: &Shared, timeout: Option<Duration>) -> Result<Received<Task>, Interrupted> {
    if !pool.queue.is_interruptible() {
        let taken = poll_in_slices(pool, timeout)?;
        return Ok(taken.map_or(Received::Nothing, Received::Element));
    }
    pool.queue.take_or_watch(timeout)
}

/// Waits on a queue that cannot be interrupted, and checks for a nudge after each slice.
///
/// A change of the pool is followed by a nudge, and a nudge stays until it is taken here: so a change
/// just before the wait is not missed.
fn poll_in_slices(pool: &Shared, timeout: Option<Duration>) -> Result<Option<Task>, Interrupted> {
    let mut left = timeout.unwrap_or(Duration::MAX);
    loop {
        let slice = left.min(UNINTERRUPTIBLE_SLICE);
        if let Some(task) = pool.queue.poll_timeout(slice)? {
            return Ok(Some(task));
        }
        if interrupt::wait_interrupted() {
            return Err(Interrupted);
        }
        if timeout.is_some() {
            left -= slice;
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{Idle, NextAction, decide};
    use crate::pool::ctl::{CtlSnapshot, RunState};
    use crate::pool::settings::SettingsSnapshot;

    const STATES: [RunState; 5] = [
        RunState::Running,
        RunState::Shutdown,
        RunState::Stop,
        RunState::Tidying,
        RunState::Terminated,
    ];

    /// All that a worker can read, over small numbers.
    fn all_cases() -> impl Iterator<Item = (RunState, usize, SettingsSnapshot, Idle, bool)> {
        let numbers = (1..=4).flat_map(|maximum| (0..=maximum).map(move |core| (core, maximum)));
        let settings = numbers.flat_map(|(core, maximum)| {
            [false, true].map(|core_timeout| SettingsSnapshot {
                core,
                maximum,
                keep_alive: Duration::from_secs(1),
                core_timeout,
            })
        });
        settings.flat_map(|settings| {
            let workers = (1..=6).flat_map(|workers| STATES.map(|state| (state, workers)));
            workers.flat_map(move |(state, workers)| {
                let seen = [Idle::Waiting, Idle::TimedOut].map(|idle| (idle, [false, true]));
                seen.into_iter().flat_map(move |(idle, empty)| {
                    empty.map(|empty| (state, workers, settings, idle, empty))
                })
            })
        })
    }

    /// TPE-059
    #[test]
    fn a_worker_leaves_for_four_reasons_only() {
        for (state, workers, settings, idle, empty) in all_cases() {
            let seen = CtlSnapshot::new(state, workers);
            let next = decide(seen, settings, idle, || empty);
            let stopped = state >= RunState::Stop;
            let finished = state == RunState::Shutdown && empty;
            let needed = workers == 1 && !empty;
            let subject_to_timeout = settings.core_timeout || workers > settings.core;
            let too_many = workers > settings.maximum && !needed;
            let expired = idle == Idle::TimedOut && subject_to_timeout && !needed;
            let expected = match (stopped || finished, too_many || expired, subject_to_timeout) {
                (true, _, _) => NextAction::Exit,
                (false, true, _) => NextAction::ExitIfUnchanged,
                (false, false, true) => NextAction::WaitForKeepAlive,
                (false, false, false) => NextAction::Wait,
            };
            assert_eq!(next, expected, "{seen:?} {settings:?} {idle:?} {empty}");
        }
    }

    /// TPE-050, TPE-057
    #[test]
    fn workers_that_all_time_out_leave_as_many_as_are_needed() {
        for (_, at_first, settings, _, empty) in all_cases() {
            let mut workers = at_first;
            let next = loop {
                let seen = CtlSnapshot::new(RunState::Running, workers);
                match decide(seen, settings, Idle::TimedOut, || empty) {
                    NextAction::ExitIfUnchanged => workers -= 1,
                    next => break next,
                }
                if workers == 0 {
                    break NextAction::Exit;
                }
            };
            let core = if settings.core_timeout {
                0
            } else {
                settings.core
            };
            let needed = core.max(usize::from(!empty));
            assert_eq!(workers, needed.min(at_first));
            assert_ne!(next, NextAction::ExitIfUnchanged);
        }
    }
}
