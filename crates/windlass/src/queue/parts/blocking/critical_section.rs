//! A section under the lock that runs user code, which may panic.

use std::ops::{Deref, DerefMut};

use super::monitor::{Blocking, Guard};
use super::state::State;
use crate::queue::discipline::Discipline;
use crate::queue::parts::queue_lock::Entered;
use crate::unwind::ignore_panic;

/// Access to the state while user code may run. If it is dropped before its [end](Self::end), user
/// code has panicked.
pub(super) struct CriticalSection<'a, 'g, D: Discipline> {
    queue: &'a Blocking<D>,
    state: Entered<'a, 'g, State<D>>,
    has_ended: bool,
}

impl<D: Discipline> Blocking<D> {
    pub(super) fn begin<'a, 'g>(
        &'a self,
        guard: &'a mut Guard<'g, D>,
    ) -> CriticalSection<'a, 'g, D> {
        CriticalSection {
            queue: self,
            state: self.lock.enter(guard),
            has_ended: false,
        }
    }
}

impl<D: Discipline> CriticalSection<'_, '_, D> {
    pub(super) fn end(mut self) {
        self.has_ended = true;
    }
}

impl<D: Discipline> Drop for CriticalSection<'_, '_, D> {
    fn drop(&mut self) {
        if !self.has_ended {
            ignore_panic(|| self.queue.publish(&self.state.items));
            // Under the lock, unlike all others: a panic is rare enough.
            drop(self.state.signal_after_panic(self.queue.fairness));
        }
    }
}

impl<D: Discipline> Deref for CriticalSection<'_, '_, D> {
    type Target = State<D>;

    fn deref(&self) -> &State<D> {
        &self.state
    }
}

impl<D: Discipline> DerefMut for CriticalSection<'_, '_, D> {
    fn deref_mut(&mut self) -> &mut State<D> {
        &mut self.state
    }
}
