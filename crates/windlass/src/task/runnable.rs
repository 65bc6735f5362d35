//! The traits through which a cell is used without the type of its body, or of its result.

use std::ops::Deref;
use std::ptr::NonNull;

use super::error::{Cancellation, ExecutionError, Failure};
use super::header::Header;
use super::state::Snapshot;
use super::timer::TimerView;
use super::transition::CancelMode;

/// The outcome of a run.
#[derive(Debug, Clone)]
pub(crate) enum RunOutcome {
    /// It ended with a value.
    Completed,
    /// It ended with this failure.
    Failed(Failure),
    /// It did not run, or the task was cancelled or completed meanwhile.
    Skipped,
}

/// A task without the type of its result.
pub(crate) trait Runnable: Send + Sync {
    /// Runs the task, unless it has started or is done.
    fn run(&self) -> RunOutcome;
    /// Runs the task without keeping a value, so that it can run again.
    fn run_and_reset(&self) -> RunOutcome;
    /// Cancels the task unless it is done; returns false if it is.
    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool;
    /// Cancels the task with its drop reason, unless it has started or is done.
    fn abandon(&self);
    /// Completes a task that is not running with a failure that is not of its own code.
    fn fail(&self, failure: Failure) -> bool;
    /// Sets the reason with which it is cancelled if it is dropped unrun.
    fn set_drop_reason(&self, reason: Cancellation);
    fn state(&self) -> Snapshot;
    fn header(&self) -> &Header;
    /// Returns the timer of a scheduled task.
    fn timer(&self) -> Option<TimerView<'_>> {
        None
    }
}

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
    fn abandon(&self) {
        (**self).abandon();
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
    fn timer(&self) -> Option<TimerView<'_>> {
        (**self).timer()
    }
}

/// What became of a part of a run, such as one poll of a future.
#[cfg(any(feature = "async", test))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartOutcome {
    /// It did not run: the task is done, or it was too late to start it.
    NotRun,
    /// It ran, and the task is suspended.
    Suspended,
    /// It ran, and the task was cancelled meanwhile.
    Cancelled,
}

/// A cell without the type of its result.
pub(crate) trait Untyped: Runnable {
    /// Runs one part of a task that is completed from outside, as its running code; `part` does not
    /// unwind. Between two parts no thread runs the task. Its limits hold for all parts as for one run.
    #[cfg(any(feature = "async", test))]
    fn run_part(&self, part: &mut dyn FnMut()) -> PartOutcome;

    /// Cancels the task, unless it has started or is done: it is too late to start it.
    fn expire(&self);

    /// Cancels and interrupts the task, unless it is done: its run takes too long.
    fn time_out(&self);

    /// Returns the conversion of the address of the cell into a pointer to it.
    fn pointer_from(&self) -> fn(NonNull<()>) -> NonNull<dyn Untyped>;
}

/// A cell with a result of type `T`.
pub(crate) trait Awaitable<T>: Untyped {
    /// Moves the outcome out, if the task is done.
    ///
    /// For the owning handle of a task, which is the only reader of the value.
    fn take_outcome(&self) -> Option<Result<T, ExecutionError>>;

    /// Returns the outcome in place, if the task is done.
    ///
    /// For tasks whose value is only read in place; `T: Sync`, since several threads may do so.
    fn outcome(&self) -> Option<Result<&T, ExecutionError>>
    where
        T: Sync;

    /// Completes the task from outside; returns false if it is done.
    fn complete(&self, outcome: Result<T, Failure>) -> bool;
}
