//! The code of a task: for one run, or for any number of runs.

use std::any::Any;

use super::error::{Cancellation, Failure};
use super::wanted::Wanted;
use crate::unwind::discard;

/// The code of a task.
pub(super) trait Body<T>: Send {
    /// Whether it can run any number of times.
    const REPEATS: bool;

    /// Whether it borrows from a scope that waits for it.
    const BORROWS: bool = false;

    /// Whether it runs in parts, with pauses between them in which no thread runs it.
    const SUSPENDS: bool = false;

    /// Runs it for the last or only time.
    fn run_once(self) -> Result<T, Failure>;

    /// Runs it, if it can be repeated. Returns its result if this was the last run.
    fn run_again(&mut self) -> Result<Option<T>, Failure>;

    /// Returns whether its run runs what is wanted, or leads to a task that does.
    fn leads_to(&self, wanted: Wanted) -> bool {
        let _ = wanted;
        false
    }

    /// Called when a caller has taken the task out of its executor, and owns it for any time.
    fn was_taken(&self, reason: Cancellation) {
        let _ = reason;
    }

    /// Returns whether bodies of this type have an input of type `I`, where `place` is an `Option<I>`.
    fn has_input(place: &dyn Any) -> bool {
        let _ = place;
        false
    }

    /// Moves its input into `place`, an `Option<I>`, if it has an input of type `I`; returns the body
    /// otherwise.
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self>
    where
        Self: Sized,
    {
        let _ = place;
        Err(self)
    }
}

/// A body that runs once and cannot fail except by a panic.
pub(super) struct Call<F>(pub(super) F);

/// A body that runs once.
pub(super) struct Once<F>(pub(super) F);

/// A body that runs once, and borrows from a scope that waits for it.
pub(super) struct Scoped<F>(pub(super) F);

/// A body that runs once, with an input that can be taken back before.
pub(super) struct WithInput<I, F> {
    input: I,
    body: F,
}

impl<I, F> WithInput<I, F> {
    pub(super) fn new(input: I, body: F) -> Self {
        Self { input, body }
    }
}

/// A body that can run any number of times.
pub(super) struct Repeating<F>(pub(super) F);

impl<T, F: FnOnce() -> T + Send> Body<T> for Call<F> {
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<T, Failure> {
        Ok((self.0)())
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<T, F: FnOnce() -> Result<T, Failure> + Send> Body<T> for Once<F> {
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<F: FnOnce() -> Result<(), Failure> + Send> Body<()> for Scoped<F> {
    const REPEATS: bool = false;
    const BORROWS: bool = true;

    fn run_once(self) -> Result<(), Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<Option<()>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }
}

impl<T, I, F> Body<T> for WithInput<I, F>
where
    I: Send + 'static,
    F: FnOnce(I) -> T + Send,
{
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<T, Failure> {
        Ok((self.body)(self.input))
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }

    fn has_input(place: &dyn Any) -> bool {
        place.is::<Option<I>>()
    }

    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let Some(place) = place.downcast_mut::<Option<I>>() else {
            return Err(self);
        };
        *place = Some(self.input);
        discard(self.body);
        Ok(())
    }
}

impl<T, F: FnMut() -> Result<T, Failure> + Send> Body<T> for Repeating<F> {
    const REPEATS: bool = true;

    #[inline]
    fn run_once(mut self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        (self.0)().map(|_| None)
    }
}

/// A body that runs until it returns a result or fails.
pub(super) struct UntilResult<F>(pub(super) F);

impl<T, F: FnMut() -> Result<Option<T>, Failure> + Send> Body<T> for UntilResult<F> {
    const REPEATS: bool = true;

    fn run_once(mut self) -> Result<T, Failure> {
        let result = (self.0)()?;
        result.ok_or_else(|| Failure::from_error("it was to run again"))
    }

    fn run_again(&mut self) -> Result<Option<T>, Failure> {
        (self.0)()
    }
}

/// The body of a task that runs another one, which an executor of its own has queued.
pub(crate) trait Relay: Send {
    /// Runs the other task.
    fn run(self);

    /// Returns whether its run runs what is wanted, or leads to a task that does.
    fn leads_to(&self, wanted: Wanted) -> bool;

    /// Called when a caller has taken the task that runs this out of its executor, and owns it for any time.
    fn was_taken(&self, reason: Cancellation);
}

/// A [`Relay`] as a body.
pub(super) struct RelayBody<R>(pub(super) R);

impl<R: Relay> Body<()> for RelayBody<R> {
    const REPEATS: bool = false;

    #[inline]
    fn run_once(self) -> Result<(), Failure> {
        self.0.run();
        Ok(())
    }

    fn run_again(&mut self) -> Result<Option<()>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }

    fn leads_to(&self, wanted: Wanted) -> bool {
        self.0.leads_to(wanted)
    }

    fn was_taken(&self, reason: Cancellation) {
        self.0.was_taken(reason);
    }
}
