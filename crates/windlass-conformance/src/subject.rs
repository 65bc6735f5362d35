//! What the replay asks of a pool under test.

use crate::format::Step;
use crate::outcome::Outcome;
use crate::state::State;

/// A pool that carries out steps and shows its state.
///
/// One subject serves one scenario, from its `pool` step on, and is created, used and dropped on one
/// thread: the *submitting thread*. A task that finds itself running there counts as `caller` and
/// never waits for its `finish`. Dropping the subject must release every task that still waits.
///
/// The rules a driver follows beside those in the format:
/// - `finish` adds one permit to a task and `fail` the same plus a failure from then on; each run of
///   a held task takes one permit, so permits given early or twice are kept.
/// - `schedule` and its kin keep a handle only where the pool took the task; `submit` always does,
///   also for a task that was rejected (it stays pending).
/// - The state is polled until it is quiescent, so [`Subject::state`] must not wait for a task.
pub trait Subject {
    /// Runs one step and returns its outcome.
    fn step(&mut self, step: &Step) -> Outcome;

    /// Reads the state of the pool, which may still be changing.
    fn state(&self) -> State;

    /// Returns whether the pool has come to a point from which on it deliberately differs from the
    /// JDK's, so that a difference is none.
    fn differs_by_design(&self) -> bool {
        false
    }
}
