//! A task seen without the type of its body, or without that of its result.

use std::sync::Arc;

use super::cell::Core;
use super::error::{Cancellation, Failure};
use super::header::Header;
use super::schedule::Schedule;
use super::state::Snapshot;

/// What became of a run.
#[derive(Debug, Clone)]
pub(crate) enum Ran {
    /// It ended with a value.
    Well,
    /// It ended with this failure.
    Failed(Failure),
    /// It did not run, or its result was not wanted any more.
    Void,
}

/// A task seen without the type of its result.
pub(crate) trait Runnable: Send + Sync {
    fn run(&self) -> Ran;
    fn run_and_reset(&self) -> Ran;
    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool;
    /// Ends a task that is not running with a failure that is not of its own code.
    fn fail(&self, failure: Failure) -> bool;
    fn state(&self) -> Snapshot;
    fn header(&self) -> &Header;
    /// When it is due, where that is later than now.
    fn schedule(&self) -> Option<&Schedule> {
        None
    }
}

/// A task seen by those who wait for its result.
pub(super) trait Awaitable<T>: Runnable {
    fn core(&self) -> &Core<T>;
    fn complete(&self, outcome: Result<T, Failure>) -> bool;
    fn as_runnable(self: Arc<Self>) -> Arc<dyn Runnable>;
}
