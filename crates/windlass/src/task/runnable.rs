//! A task seen without the type of its body, or without that of its result.

use std::ops::Deref;
use std::ptr::NonNull;

use super::error::{Cancellation, ExecutionError, Failure};
use super::header::Header;
use super::state::{CancelMode, Snapshot};
use super::timer::Timer;

/// What became of a run.
#[derive(Debug, Clone)]
pub(crate) enum RunOutcome {
    /// It ended with a value.
    Completed,
    /// It ended with this failure.
    Failed(Failure),
    /// It did not run, or its result was not wanted any more.
    Skipped,
}

/// A task seen without the type of its result.
pub(crate) trait Runnable: Send + Sync {
    fn run(&self) -> RunOutcome;
    fn run_and_reset(&self) -> RunOutcome;
    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool;
    /// Ends a task that is not running with a failure that is not of its own code.
    fn fail(&self, failure: Failure) -> bool;
    /// Says what it will have been cancelled for if it is dropped unrun.
    fn set_drop_reason(&self, reason: Cancellation);
    fn state(&self) -> Snapshot;
    fn header(&self) -> &Header;
    /// When it is due, where that is later than now.
    fn timer(&self) -> Option<&Timer> {
        None
    }
}

/// A pointer to a task is one.
impl<P> Runnable for P
where
    P: Deref<Target: Runnable> + Send + Sync,
{
    fn run(&self) -> RunOutcome {
        (**self).run()
    }
    fn run_and_reset(&self) -> RunOutcome {
        (**self).run_and_reset()
    }
    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        (**self).cancel(mode, reason)
    }
    fn fail(&self, failure: Failure) -> bool {
        (**self).fail(failure)
    }
    fn set_drop_reason(&self, reason: Cancellation) {
        (**self).set_drop_reason(reason);
    }
    fn state(&self) -> Snapshot {
        (**self).state()
    }
    fn header(&self) -> &Header {
        (**self).header()
    }
    fn timer(&self) -> Option<&Timer> {
        (**self).timer()
    }
}

/// A cell seen without the type of its result.
pub(crate) trait Untyped: Runnable {}

/// A cell seen by those who want its result.
pub(crate) trait Awaitable<T>: Runnable {
    /// How a pointer to the cell becomes one without the type of its result.
    fn untyped(&self) -> fn(NonNull<()>) -> NonNull<dyn Untyped>;

    /// How the task ended, if it has, with the value moved out.
    ///
    /// For the one handle of a task whose value nobody else reads: the caller has it exclusively.
    fn take_outcome(&self) -> Option<Result<T, ExecutionError>>;

    /// How the task ended, if it has.
    ///
    /// For tasks whose value is only ever read in place; `T: Sync` since many may do so.
    fn outcome(&self) -> Option<Result<&T, ExecutionError>>
    where
        T: Sync;

    /// Completes the task from outside; false if it is done.
    fn complete(&self, outcome: Result<T, Failure>) -> bool;
}
