//! The errors of queues; an element that cannot be placed is inside the error.

use std::error::Error;
use std::fmt;

/// An element that could not be placed, and why.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutError<T> {
    /// There is no room, and the call does not wait.
    Full(T),
    /// There was no room within the time limit.
    TimedOut(T),
    /// The waiting thread was interrupted; its flag is clear.
    Interrupted(T),
    /// The queue's admission rule rejects this element.
    Refused(T),
}

impl<T> PutError<T> {
    /// Returns the element.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(item)
            | Self::TimedOut(item)
            | Self::Interrupted(item)
            | Self::Refused(item) => item,
        }
    }

    /// Returns whether there was no room: for a call that does not wait ([`Full`](Self::Full)), or
    /// within the time limit ([`TimedOut`](Self::TimedOut)).
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_) | Self::TimedOut(_))
    }

    /// Returns whether there was no room within the time limit.
    #[must_use]
    pub const fn is_timed_out(&self) -> bool {
        matches!(self, Self::TimedOut(_))
    }

    /// Returns whether the waiting thread was interrupted.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }

    /// Returns whether the queue's admission rule rejected the element.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    const fn reason(&self) -> &'static str {
        match self {
            Self::Full(_) => "the queue is full",
            Self::TimedOut(_) => "the queue was full until the time was up",
            Self::Interrupted(_) => "the thread was interrupted while it waited for room",
            Self::Refused(_) => "the queue does not admit this element",
        }
    }
}

/// Shows the reason only, so that elements need no `Debug`.
impl<T> fmt::Debug for PutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::TimedOut(_) => "TimedOut(..)",
            Self::Interrupted(_) => "Interrupted(..)",
            Self::Refused(_) => "Refused(..)",
        })
    }
}

impl<T> fmt::Display for PutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl<T> Error for PutError<T> {}

/// A bound that a queue cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CapacityError {
    /// The bound is zero; only a [`SynchronousQueue`](super::SynchronousQueue) holds nothing.
    Zero,
    /// The bound of this queue cannot be changed.
    NotResizable,
    /// There are more initial elements than the bound admits.
    TooManyElements,
    /// There is no memory for as many elements as the bound.
    TooLarge,
}

impl CapacityError {
    /// Returns whether the bound is zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        matches!(self, Self::Zero)
    }

    /// Returns whether the bound of the queue is fixed.
    #[must_use]
    pub const fn is_not_resizable(&self) -> bool {
        matches!(self, Self::NotResizable)
    }

    /// Returns whether there are more initial elements than the bound admits.
    #[must_use]
    pub const fn is_too_many_elements(&self) -> bool {
        matches!(self, Self::TooManyElements)
    }

    /// Returns whether there is no memory for as many elements as the bound.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge)
    }
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "a queue needs room for at least one element",
            Self::NotResizable => "the capacity of this queue cannot be changed",
            Self::TooManyElements => "more elements than the queue has room for",
            Self::TooLarge => "there is no memory for a queue of this capacity",
        })
    }
}

impl Error for CapacityError {}

/// The part of a sequence that could not be placed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unplaced<T> {
    /// How many elements before it were placed.
    pub placed: usize,
    /// The rejected element and all that followed it.
    pub rest: Vec<T>,
}

impl<T> fmt::Debug for Unplaced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unplaced")
            .field("placed", &self.placed)
            .field("rest", &self.rest.len())
            .finish()
    }
}

impl<T> fmt::Display for Unplaced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} elements were not placed after {} were",
            self.rest.len(),
            self.placed
        )
    }
}

impl<T> Error for Unplaced<T> {}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{CapacityError, PutError};

    #[test]
    fn each_reason_for_a_refusal_can_be_asked_for() {
        let asked = |error: PutError<u8>| {
            [
                error.is_full(),
                error.is_timed_out(),
                error.is_interrupted(),
                error.is_refused(),
            ]
        };
        assert_eq!(asked(PutError::Full(1)), [true, false, false, false]);
        assert_eq!(asked(PutError::TimedOut(1)), [true, true, false, false]);
        assert_eq!(asked(PutError::Interrupted(1)), [false, false, true, false]);
        assert_eq!(asked(PutError::Refused(1)), [false, false, false, true]);
    }

    #[test]
    fn each_reason_against_a_capacity_can_be_asked_for() {
        let asked = |error: CapacityError| {
            [
                error.is_zero(),
                error.is_not_resizable(),
                error.is_too_many_elements(),
            ]
        };
        assert_eq!(asked(CapacityError::Zero), [true, false, false]);
        assert_eq!(asked(CapacityError::NotResizable), [false, true, false]);
        assert_eq!(asked(CapacityError::TooManyElements), [false, false, true]);
    }
}
