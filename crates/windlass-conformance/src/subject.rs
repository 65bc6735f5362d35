//! What the replay asks of a pool under test.

use crate::format::Step;
use crate::outcome::Outcome;
use crate::state::State;

/// A pool that carries out steps and shows its state.
///
/// One subject serves one scenario, from its `pool` step on, and is made, used and dropped on one
/// thread: the *submitting thread*. A task that finds itself running there counts as `caller` and
/// never waits for its `finish`. Dropping the subject must let go of every task that still waits.
///
/// The rules a driver follows beside those in the format:
/// - `finish` gives a task one permit and `fail` the same plus a failure from then on; each run of
///   a held task takes one permit, so permits given early or twice are kept.
/// - `schedule` and its kin keep a handle only where the pool took the task; `submit` always does,
///   also for a task that was rejected (it stays pending).
/// - The settled state is read by polling, so [`Subject::state`] must not wait for a task.
pub trait Subject {
    /// Carries out one step and says what came of it.
    fn step(&mut self, step: &Step) -> Outcome;

    /// Looks at the pool, which may still be changing.
    fn state(&self) -> State;
}
