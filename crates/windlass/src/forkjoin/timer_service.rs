//! The interface of a pool to its timers, which a module above implements.

use std::any::Any;

/// The timers of a fork-join pool, which owns them. They submit each task to the pool when it is due.
pub(crate) trait PoolTimers: Any + Send + Sync {
    /// Called after the pool was shut down: from now on tasks are refused, and periodic ones end.
    ///
    /// The pool does not terminate before [`DueTasks::close`](super::DueTasks::close) was called.
    fn pool_shut_down(&self);

    /// Called after the pool was stopped: all tasks are cancelled.
    fn pool_stopped(&self);

    /// Returns the number of tasks that are not yet due.
    fn delayed(&self) -> usize;

    /// Returns how many tasks the shutdown has cancelled.
    fn cancelled_by_shutdown(&self) -> u64;

    /// Returns the timers under their own type.
    fn as_any(&self) -> &dyn Any;
}
