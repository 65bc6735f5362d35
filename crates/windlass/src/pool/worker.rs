//! The run loop of a worker: take, run, account; it returns why it ended.

use std::sync::Arc;
use std::time::Duration;

use super::ctl::RunState;
use super::hooks::{Hooks, Outcome, TaskInfo};
use super::roster::Worker;
use super::shared::Shared;
use crate::containment::{catch, discard};
use crate::interrupt::{self, Interrupted, Record};
use crate::sync::clock;
use crate::task::{Failure, Ran, Task};

/// Why a worker ends.
#[derive(Debug)]
pub(crate) enum Retire {
    /// There is nothing for it to do any more; the control word does not count it any longer.
    Done,
    /// A task without a handle, or a hook, panicked; the control word still counts it.
    Failed(Failure),
}

/// How long a worker waits on a queue that cannot be interrupted before it looks at its pool again.
const SLICE: Duration = Duration::from_millis(20);

/// Runs tasks until there is a reason to end.
pub(crate) fn run(pool: &Shared, worker: &Worker) -> Retire {
    let me = Record::current();
    let mut next = worker.take_first();
    loop {
        let Some(task) = next.take().or_else(|| next_task(pool, &me)) else {
            return Retire::Done;
        };
        settle_interrupt(pool, &me);
        worker.begin();
        let ended = match &pool.extras.hooks {
            None => run_plain(task),
            Some(hooks) => run_hooked(task, &**hooks),
        };
        worker.end();
        match ended {
            Ok(()) => {}
            Err(failure) if pool.extras.reuses_workers => pool.report(&failure),
            Err(failure) => return Retire::Failed(failure),
        }
    }
}

/// A task starts without the interrupt of its predecessor, and with one if the pool is stopping.
fn settle_interrupt(pool: &Shared, me: &Record) {
    // The order matters: an interrupt from `shutdown_now` that is cleared here was sent after the
    // state had changed, and so the state says it again.
    me.take_flag();
    if pool.ctl.load().state() >= RunState::Stop {
        me.set_flag();
    }
}

fn run_plain(task: Task) -> Result<(), Failure> {
    match catch(|| task.run_and_tell()) {
        Ok(_) => Ok(()),
        Err(payload) => Err(Failure::from_panic(payload)),
    }
}

fn run_hooked(task: Task, hooks: &dyn Hooks) -> Result<(), Failure> {
    let queued_for = task
        .queued_at()
        .map(|at| clock::now().saturating_duration_since(at));
    let mut info = TaskInfo::of(&task, queued_for);
    if let Err(payload) = catch(|| hooks.before_execute(&info)) {
        discard(task);
        return Err(Failure::from_panic(payload));
    }
    let start = clock::now();
    let ran = catch(|| task.run_and_tell());
    info.set_ran_for(clock::now().saturating_duration_since(start));
    let (outcome, uncaught) = match ran {
        Ok(Ran::Well) => (Outcome::Completed, None),
        Ok(Ran::Failed(failure)) => (Outcome::Failed(failure), None),
        Ok(Ran::Void) => (Outcome::Cancelled, None),
        Err(payload) => {
            let failure = Failure::from_panic(payload);
            (Outcome::Failed(failure.clone()), Some(failure))
        }
    };
    match catch(|| hooks.after_execute(&info, &outcome)) {
        // The hook's own failure takes the place of the task's.
        Err(payload) => Err(Failure::from_panic(payload)),
        Ok(()) => uncaught.map_or(Ok(()), Err),
    }
}

/// Waits for the next task; `None` if the worker is to end, and then it is no longer counted.
///
/// There are four reasons: the pool has too many workers; it is stopped; it is shut down and has
/// nothing left to do; the worker waited in vain for as long as an idle worker may, and is neither
/// needed as a core worker nor as the last one while tasks are queued.
fn next_task(pool: &Shared, me: &Arc<Record>) -> Option<Task> {
    let mut timed_out = false;
    let mut retirements = pool.retirements();
    loop {
        let seen = pool.ctl.load();
        let stops = seen.state() >= RunState::Stop;
        if stops || (!seen.is_running() && pool.queue.is_empty()) {
            pool.ctl.remove_worker();
            return None;
        }
        let may_time_out = pool.settings.core_timeout() || seen.workers() > pool.settings.core();
        let surplus = seen.workers() > pool.settings.maximum() || (may_time_out && timed_out);
        if surplus && (seen.workers() > 1 || pool.queue.is_empty()) {
            if pool.ctl.try_remove_worker(seen) {
                return None;
            }
            continue;
        }
        let patience = may_time_out.then(|| pool.settings.keep_alive());
        match me.heeding(|| wait_for_task(pool, patience)) {
            Ok(Some(task)) => return Some(task),
            Ok(None) => timed_out = true,
            Err(Interrupted) => {
                // Told to look again, and to go now if it may go at all.
                let asked = pool.retirements();
                timed_out = asked != retirements;
                retirements = asked;
            }
        }
    }
}

fn wait_for_task(pool: &Shared, patience: Option<Duration>) -> Result<Option<Task>, Interrupted> {
    let queue = &*pool.queue;
    if !queue.is_interruptible() {
        return poll_in_slices(pool, patience);
    }
    match patience {
        Some(patience) => queue.poll_timeout(patience),
        None => queue.take().map(Some),
    }
}

/// Waits on a queue that cannot be interrupted; looks in between whether it was told to stop.
///
/// Whoever changes something about the pool nudges after that, and a nudge stays until it is taken
/// here: so a change that came just before the wait is not missed.
fn poll_in_slices(pool: &Shared, patience: Option<Duration>) -> Result<Option<Task>, Interrupted> {
    let mut left = patience.unwrap_or(Duration::MAX);
    loop {
        let slice = left.min(SLICE);
        if let Some(task) = pool.queue.poll_timeout(slice)? {
            return Ok(Some(task));
        }
        if interrupt::ends_wait() {
            return Err(Interrupted);
        }
        if patience.is_some() {
            left -= slice;
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}
