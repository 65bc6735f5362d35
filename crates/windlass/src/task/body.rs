//! What a task runs: code for once, or for any number of times.

use super::error::Failure;

/// What a task runs.
pub(super) trait Body<T>: Send {
    /// Whether it can run any number of times.
    const REPEATS: bool;

    /// The last or only run.
    fn run_once(self) -> Result<T, Failure>;

    /// A run without a result, where it can be repeated.
    fn run_again(&mut self) -> Result<(), Failure>;
}

/// A body that can run once.
pub(super) struct Once<F>(pub(super) F);

/// A body that can run any number of times.
pub(super) struct Repeating<F>(pub(super) F);

impl<T, F: FnOnce() -> Result<T, Failure> + Send> Body<T> for Once<F> {
    const REPEATS: bool = false;

    fn run_once(self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<(), Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<T, F: FnMut() -> Result<T, Failure> + Send> Body<T> for Repeating<F> {
    const REPEATS: bool = true;

    fn run_once(mut self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<(), Failure> {
        (self.0)().map(drop)
    }
}
