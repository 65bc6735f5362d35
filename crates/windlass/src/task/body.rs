//! The code of a task: for one run, or for any number of runs.

use super::error::Failure;

/// The code of a task.
pub(super) trait Body<T>: Send {
    /// Whether it can run any number of times.
    const REPEATS: bool;

    /// Runs it for the last or only time.
    fn run_once(self) -> Result<T, Failure>;

    /// Runs it without keeping a result, where it can be repeated.
    fn run_again(&mut self) -> Result<(), Failure>;
}

/// A body that runs once and cannot fail except by a panic.
pub(super) struct Call<F>(pub(super) F);

/// A body that runs once.
pub(super) struct Once<F>(pub(super) F);

/// A body that can run any number of times.
pub(super) struct Repeating<F>(pub(super) F);

impl<T, F: FnOnce() -> T + Send> Body<T> for Call<F> {
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<T, Failure> {
        Ok((self.0)())
    }

    fn run_again(&mut self) -> Result<(), Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<T, F: FnOnce() -> Result<T, Failure> + Send> Body<T> for Once<F> {
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<(), Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<T, F: FnMut() -> Result<T, Failure> + Send> Body<T> for Repeating<F> {
    const REPEATS: bool = true;

    #[inline]
    fn run_once(mut self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<(), Failure> {
        (self.0)().map(drop)
    }
}
