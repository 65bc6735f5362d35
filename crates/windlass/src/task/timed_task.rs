//! A task with a timer, in two words.
//!
//! Such a task is a reference to a cell, so a [`Task`] has three words that say nothing: those that the
//! value leaves unused, and the id, which is in the cell too.
//!
//! A queue of such tasks shows them to users as tasks: [`TimedTask::with_task`] creates a second `Task` of
//! the same value, which is only read, and forgotten.

#![expect(unsafe_code, reason = "a value of two words is shown as one of five")]

use std::mem::ManuallyDrop;

use super::body::Body;
use super::cell::Cell;
use super::cell_ref::Ref;
use super::erased::ErasedWord;
use super::id::TaskId;
use super::kinds;
use super::runnable_task::Task;
use super::timer::{MaybeRepeats, Place, Timer, TimerService};

/// A [`Task`] with a timer.
pub(crate) struct TimedTask(ErasedWord);

impl TimedTask {
    /// Creates the half that runs of a task with a timer and a handle.
    #[inline]
    pub(super) fn of_half<T, B, S, R>(cell: Ref<Cell<T, B, Timer<S, R>>>) -> Self
    where
        T: Send + 'static,
        B: Body<T> + 'static,
        S: TimerService + 'static,
        R: MaybeRepeats,
    {
        Self(kinds::erase_half_word(cell))
    }

    /// Converts a task with a timer; returns one without.
    #[inline]
    pub(crate) fn new(task: Task) -> Result<Self, Task> {
        let (erased, id) = task.into_erased();
        match ErasedWord::new(erased) {
            Ok(word) if word.place().is_some() => Ok(Self(word)),
            Ok(word) => Err(Task::of_erased(word.into_erased(), id)),
            Err(erased) => Err(Task::of_erased(erased, id)),
        }
    }

    #[inline]
    pub(crate) fn place(&self) -> &Place {
        self.0.place().expect("it was checked")
    }

    #[inline]
    pub(crate) fn into_task(self) -> Task {
        let id = self.id();
        Task::of_erased(self.0.into_erased(), id)
    }

    /// Calls `f` with the task in its usual form.
    pub(crate) fn with_task<R>(&self, f: impl FnOnce(&Task) -> R) -> R {
        let id = self.id();
        // SAFETY: `ManuallyDrop` forgets it, and a shared reference only reads.
        let alias = unsafe { self.0.alias() };
        f(&ManuallyDrop::new(Task::of_erased(alias, id)))
    }

    #[inline]
    pub(crate) fn id(&self) -> TaskId {
        let header = self.0.cell().map(|cell| cell.header().id());
        header.expect("what has a timer has a cell")
    }
}
