//! The running task, as its own code sees it.

use super::cell_ref::Ref;
use super::control::TaskControl;
use super::error::ExecutionError;
use super::running;

/// Returns a handle of the task that this code is part of: its id, its name, whether it was cancelled, and
/// its [token](TaskControl::token).
///
/// `None` outside of tasks, and in a task without a handle, which nobody can cancel.
///
/// ```
/// use windlass::prelude::*;
/// use windlass::task;
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// let report = pool.task().name("report").submit(|| {
///     let me = task::current().unwrap();
///     me.name().map(String::from)
/// });
/// assert_eq!(report.unwrap().join().unwrap().unwrap(), "report");
/// assert!(task::current().is_none());
/// ```
#[must_use]
pub fn current() -> Option<TaskControl> {
    running::with(|task| TaskControl::new(Ref::of(task)))
}

/// Returns an error if the task that this code is part of was cancelled, for `?` between two steps.
///
/// Costs one read of a memory location.
///
/// ```
/// use windlass::prelude::*;
/// use windlass::task::{self, ExecutionError};
///
/// let pool = executors::fixed_thread_pool(1).unwrap();
/// let sum = pool.submit_fallible(|| {
///     let mut sum = 0;
///     for number in 0..1000 {
///         task::check()?;
///         sum += number;
///     }
///     Ok::<_, ExecutionError>(sum)
/// });
/// assert_eq!(sum.unwrap().join().unwrap(), 499_500);
/// ```
///
/// # Errors
///
/// [`ExecutionError::Cancelled`], with the reason.
pub fn check() -> Result<(), ExecutionError> {
    let reason = running::with(|task| task.state().cancellation());
    match reason.flatten() {
        Some(reason) => Err(ExecutionError::Cancelled(reason)),
        None => Ok(()),
    }
}
