//! The time limit of a submission, for policies that keep the submitter busy.
//!
//! `invoke_all_timeout` has a limit for everything that it does. [`Executor`] has no parameter for it,
//! so it is stored for the thread while it submits, together with the task that it is meant for: a task
//! that runs on the submitter and submits others does not pass its limit on to them.

use std::cell::Cell;
use std::sync::Arc;

use super::rejected::RejectedExecution;
use super::service::Executor;
use crate::sync::clock::Clock;
use crate::sync::{Deadline, Mutex, const_thread_local, thread};
use crate::task::{Task, TaskId};
use crate::termination::Termination;
use crate::unwind::ignore_panic;

const_thread_local! {
    static LIMIT: Cell<Option<(TaskId, Deadline)>> = Cell::new(None);
}

/// Submits the task; policies of the executor that know the limit keep it.
pub(crate) fn execute_by<X: Executor + ?Sized>(
    executor: &X,
    task: Task,
    deadline: Deadline,
) -> Result<(), RejectedExecution> {
    /// Restores the limit of an outer submission, also when the executor panics.
    struct Restore(Option<(TaskId, Deadline)>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = LIMIT.try_with(|limit| limit.set(self.0));
        }
    }
    let limit = Some((task.id(), deadline));
    // Without a thread-local, in a destructor of another, the submission has no limit.
    let _restore = LIMIT.try_with(|cell| Restore(cell.replace(limit)));
    executor.execute_task(task)
}

/// Returns the time limit of the submission of this task by the current thread.
pub(crate) fn limit_of(task: &Task) -> Deadline {
    match LIMIT.try_with(Cell::get) {
        Ok(Some((id, deadline))) if id == task.id() => deadline,
        _ => Deadline::Never,
    }
}

/// Runs a task for its submitter and waits for its end, no longer than until the deadline.
///
/// The submitter cannot leave a task that it runs itself. Where there is a limit, another thread runs
/// it in its place, and at most one at a time, since the submitter waits. If no thread can be
/// created, the submitter runs it.
pub(crate) fn run_by(task: Task, deadline: Deadline) {
    if deadline == Deadline::Never {
        return task.run();
    }
    let (clock, ended) = (Clock::current(), Arc::new(Termination::default()));
    let slot = Arc::new(Mutex::new(Some(task)));
    let (theirs, signal) = (Arc::clone(&slot), Arc::clone(&ended));
    let run = move || {
        clock.adopt();
        let task = theirs.lock().take();
        if let Some(task) = task {
            ignore_panic(|| task.run());
        }
        signal.signal();
    };
    let name = String::from("windlass-caller-runs");
    match thread::Builder::new().name(name).spawn(run) {
        Ok(_) => ended.wait_uninterruptibly(deadline),
        Err(_) => {
            let task = slot.lock().take();
            if let Some(task) = task {
                task.run();
            }
        }
    }
}
