//! The changes that do not wait.

use super::items::Items;
use super::monitor::{Blocking, Guard};
use super::removal::{Removal, Removed};
use super::state::{State, Wakeups};
use crate::queue::discipline::Discipline;
use crate::unwind::{catch, discard_payload};
use crate::waiting::Wakeup;

impl<D: Discipline> Blocking<D> {
    /// Runs `f` on the locked data, publishes the new length, and wakes the threads that `f`
    /// signalled.
    pub(crate) fn with<R, W>(&self, f: impl FnOnce(&mut State<D>) -> (R, W)) -> R {
        let mut guard = self.lock.lock();
        let mut state = self.begin(&mut guard);
        let (result, wakeups) = f(&mut state);
        self.publish(&state.items);
        state.end();
        drop(guard);
        drop(wakeups);
        result
    }

    /// Changes the discipline with `f`, after which other elements may be available and there may be
    /// room for others.
    pub(crate) fn change<R>(&self, f: impl FnOnce(&mut D) -> R) -> R {
        self.with(|state| {
            let before = state.items.available();
            let result = f(&mut state.items.discipline);
            let newly_available = state.items.available().saturating_sub(before);
            let takers = state.signal_takers(newly_available, self.fairness);
            let putters = state.signal_putters(usize::MAX, self.fairness);
            (result, (takers, putters))
        })
    }

    /// Runs `f`, which may be user code, on the elements.
    pub(super) fn read(&self, f: impl FnOnce(&Items<D>)) {
        let mut guard = self.lock.lock();
        let state = self.begin(&mut guard);
        f(&state.items);
        state.end();
    }

    /// Inserts into a queue that has no bound and admits everything.
    #[inline]
    pub(crate) fn push(&self, item: D::Item) {
        // Declared before the guard: what a panic leaves here is dropped after the lock was released.
        let mut item = Some(item);
        self.push_by(|items| items.push_from(&mut item));
    }

    /// Inserts one element with `insert`, which leaves it with the caller if it panics, into a queue that
    /// has no bound and admits everything.
    #[inline]
    pub(crate) fn push_by(&self, insert: impl FnOnce(&mut D)) {
        let mut guard = self.lock.lock();
        let mut state = self.begin(&mut guard);
        let wakeup = state.push(self.fairness, insert);
        self.publish(&state.items);
        state.end();
        drop(guard);
        drop(wakeup);
    }

    /// Removes an element of a discipline without a bound, whose elements have times, with `remove`.
    #[inline]
    pub(crate) fn remove_with<R>(&self, remove: impl FnOnce(&mut D) -> Option<R>) -> Option<R> {
        let mut guard = self.lock.lock();
        let mut state = self.begin(&mut guard);
        let head = state.items.ready_at();
        let removed = remove(&mut state.items.discipline);
        self.publish(&state.items);
        // A removal behind the head changes nothing for those who wait for the head.
        let wakeup = if state.items.ready_at() == head {
            None
        } else {
            state.signal_next_taker(self.fairness)
        };
        state.end();
        drop(guard);
        drop(wakeup);
        removed
    }

    /// Keeps the elements of the discipline for which the verdict is true. Returns the others.
    ///
    /// All verdicts come first, so that a predicate that panics changes nothing.
    pub(crate) fn retain_by(&self, verdicts: impl FnOnce(&D) -> Vec<bool>) -> Vec<D::Item> {
        self.remove_particular(|items| {
            let verdicts = verdicts(&items.discipline);
            items.discipline.retain(&verdicts)
        })
    }

    /// Removes particular elements with `remove`, and signals the threads that wait for their
    /// places.
    ///
    /// If user code panics after the removal, the panic is discarded and the elements are delivered:
    /// they cannot be put back to where they were.
    #[inline]
    pub(super) fn remove_particular<R: Removed<D::Item>>(
        &self,
        remove: impl FnOnce(&mut Items<D>) -> R,
    ) -> R {
        let mut guard = self.lock.lock();
        let mut state = self.begin(&mut guard);
        let removed = remove(&mut state.items);
        match catch(|| self.after_removal(&mut state, removed.count())) {
            Ok(wakeups) => {
                state.end();
                drop(guard);
                drop(wakeups);
            }
            Err(payload) => {
                drop(state);
                drop(guard);
                discard_payload(payload);
            }
        }
        removed
    }

    /// Removes the next elements with `remove`, and signals the threads that wait for their places.
    ///
    /// If user code panics, what `remove` has removed by then is kept, and is next to leave.
    #[inline]
    pub(super) fn remove_next<R: Removed<D::Item>>(
        &self,
        mut guard: Guard<'_, D>,
        remove: impl FnOnce(&mut Items<D>, &mut R),
    ) -> R {
        let mut state = self.begin(&mut guard);
        let mut removal = Removal::new(&mut state);
        remove(&mut removal.state.items, &mut removal.removed);
        let wakeups = self.after_removal(removal.state, removal.removed.count());
        let removed = removal.deliver();
        state.end();
        drop(guard);
        drop(wakeups);
        removed
    }

    /// Publishes the new length, and signals putters and the next taker.
    #[inline]
    fn after_removal(&self, state: &mut State<D>, freed: usize) -> (Wakeups, Option<Wakeup>) {
        self.publish(&state.items);
        (
            state.signal_putters(freed, self.fairness),
            state.signal_next_taker(self.fairness),
        )
    }
}
