//! Insertion, at once or when there is room.

use super::monitor::{Admission, Blocking, Guard};
use super::state::{PutterStatus, State, Wakeups};
use crate::interrupt::wait_interrupted;
use crate::queue::discipline::Discipline;
use crate::queue::error::PutError;
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::Deadline;
use crate::waiting::{WaitOutcome, wait};

impl<D: Discipline> Blocking<D> {
    /// Inserts with `insert`, as [`Discipline::push_from`] does, waiting for room no longer than `limit`.
    pub(crate) fn insert(
        &self,
        item: D::Item,
        limit: WaitLimit,
        insert: impl Fn(&mut D, &mut Option<D::Item>),
    ) -> Result<(), PutError<D::Item>> {
        if self.precedence.ends_insertion(limit) && wait_interrupted() {
            return Err(PutError::Interrupted(item));
        }
        if limit == WaitLimit::NoWait && self.is_visibly_full() {
            return Err(PutError::Full(item));
        }
        // Declared before the guard: what a panic leaves here is dropped after the lock was released.
        let mut inserted;
        let mut guard = self.lock.lock();
        let mut status = PutterStatus::New;
        loop {
            let mut state = self.begin(&mut guard);
            state.end_put_grant(status, self.fairness);
            if !state.items.discipline.admits(&item) {
                let wakeups = self.pass_on_place(&mut state, status);
                state.end();
                drop(guard);
                drop(wakeups);
                return Err(PutError::Refused(item));
            }
            if state.may_put(&item, status, self.fairness) {
                inserted = Some(item);
                let wakeup = state.push(self.fairness, |items| insert(items, &mut inserted));
                let next = state.signal_next_putter(self.fairness);
                self.publish(&state.items);
                state.end();
                drop(guard);
                drop((wakeup, next));
                return Ok(());
            }
            state.end();
            let Some(deadline) = limit.deadline() else {
                return Err(PutError::Full(item));
            };
            let (relocked, outcome) = self.wait_for_room(guard, deadline);
            guard = relocked;
            match outcome {
                WaitOutcome::Signalled => status = PutterStatus::Signalled,
                WaitOutcome::TimedOut => return Err(PutError::TimedOut(item)),
                WaitOutcome::Interrupted => return Err(PutError::Interrupted(item)),
            }
        }
    }

    /// Returns whether the published length and capacity suffice to reject an element. Producers
    /// that are rejected then do not contend with consumers for the lock.
    fn is_visibly_full(&self) -> bool {
        self.admission == Admission::All && self.published_room() == Some(0)
    }

    /// Signals the next putter instead of one whose element is not admitted.
    fn pass_on_place(&self, state: &mut State<D>, status: PutterStatus) -> Wakeups {
        if status == PutterStatus::Signalled {
            state.signal_putters(1, self.fairness)
        } else {
            None
        }
    }

    fn wait_for_room<'a>(
        &'a self,
        guard: Guard<'a, D>,
        deadline: Deadline,
    ) -> (Guard<'a, D>, WaitOutcome) {
        if let Some(expired) = WaitOutcome::if_expired(deadline) {
            return (guard, expired);
        }
        let mutex = self.lock.mutex();
        let waited = wait(mutex, guard, |state| &mut state.putters, (), deadline);
        (waited.guard, waited.outcome)
    }
}
