//! A task with time limits and without a handle.
//!
//! It has a cell, so that its timer can cancel and interrupt it, and otherwise behaves as a task without
//! one: its panic unwinds, and its input can be taken back.

use std::any::Any;

use super::body::Body;
use super::cell::Cell;
use super::cell_ref::Ref;
use super::erased::{Erase, Erased};
use super::error::Failure;
use super::header::Header;
use super::runnable::{RunOutcome, Runnable};
use super::runnable_task::Task;
use crate::unwind::ignore_panic;

impl Task {
    /// Creates a task that runs another one within the limits in the header.
    #[cold]
    #[inline(never)]
    pub(super) fn detached(header: Header, inner: Self) -> Self {
        let id = header.id();
        let (erased, inner_id) = inner.into_erased();
        let has_input = erased.has_input();
        let cell = Cell::new(header, Inner(Self::of_erased(erased, inner_id)));
        cell.limit();
        match Erased::new(Detached { cell, has_input }) {
            Ok(erased) => Self::of_erased(erased, id),
            Err(_) => unreachable!("two words fit into three"),
        }
    }
}

/// The runnable half of a cell whose other half nobody has.
struct Detached {
    cell: Ref<Cell<(), Inner>>,
    has_input: fn(&dyn Any) -> bool,
}

impl Erase for Detached {
    const IS_DETACHED: bool = true;

    fn run(self) -> RunOutcome {
        match self.cell.run() {
            RunOutcome::Failed(failure) if failure.is_panic() => {
                drop(self);
                failure.resume_unwind()
            }
            outcome => outcome,
        }
    }

    fn abandon(self) {
        ignore_panic(|| self.cell.abandon());
    }

    fn header(&self) -> Option<&Header> {
        Some(self.cell.header())
    }

    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&*self.cell)
    }

    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        if (self.has_input)(place) && self.cell.take_input(place) {
            Ok(())
        } else {
            Err(self)
        }
    }
}

/// The code of a detached task.
struct Inner(Task);

impl Body<()> for Inner {
    const REPEATS: bool = false;

    fn run_once(self) -> Result<(), Failure> {
        self.0.run();
        Ok(())
    }

    fn run_again(&mut self) -> Result<Option<()>, Failure> {
        unreachable!("nobody runs a body again that does not repeat")
    }

    /// [`Detached`] has checked it, for the code inside.
    fn has_input(_: &dyn Any) -> bool {
        true
    }

    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let (erased, id) = self.0.into_erased();
        let taken = erased.take_input(place);
        taken.map_err(|erased| Self(Task::of_erased(erased, id)))
    }
}
