//! Removal of the next element, at once or when it is ready.

use std::time::Instant;

use super::monitor::{Blocking, Guard};
use super::state::{State, TakerStatus};
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::queue::discipline::Discipline;
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::{Deadline, clock};
use crate::waiting::{WaitOutcome, wait};

/// The state of the head, as a taker finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadState {
    /// An element that may leave now.
    Ready,
    /// An element that may leave at this time.
    NotBefore(Instant),
    /// No element, or only elements that are granted to other takers.
    Unavailable,
}

impl<D: Discipline> Blocking<D> {
    /// Removes with `remove`, waiting for an element no longer than `limit`.
    pub(crate) fn extract(
        &self,
        limit: WaitLimit,
        remove: impl Fn(&mut D) -> Option<D::Item>,
    ) -> Result<Option<D::Item>, Interrupted> {
        if self.precedence.ends_removal(limit) && wait_interrupted() {
            return Err(Interrupted);
        }
        let mut guard = self.lock.lock();
        let mut status = TakerStatus::New;
        loop {
            let mut state = self.begin(&mut guard);
            state.end_take_grant(status, self.fairness);
            let head = self.head_state(&state, status);
            state.end();
            if head == HeadState::Ready {
                return Ok(self.remove_next(guard, |items, removed| {
                    *removed = items.pop_with(&remove);
                }));
            }
            let Some(deadline) = limit.deadline() else {
                return Ok(None);
            };
            if status != TakerStatus::TimedOut {
                (guard, status) = self.wait_for_element(guard, head, deadline);
            }
            match status {
                TakerStatus::Interrupted => {
                    self.give_up_take(guard);
                    return Err(Interrupted);
                }
                // An element that became ready just before the time-out is still taken.
                TakerStatus::TimedOut if !self.is_ready(&mut guard) => {
                    self.give_up_take(guard);
                    return Ok(None);
                }
                _ => {}
            }
        }
    }

    /// Signals the next taker if one that leaves without an element has to, and releases the lock.
    fn give_up_take(&self, mut guard: Guard<'_, D>) {
        let mut state = self.begin(&mut guard);
        let wakeup = state.signal_next_taker(self.fairness);
        state.end();
        drop(guard);
        drop(wakeup);
    }

    fn is_ready(&self, guard: &mut Guard<'_, D>) -> bool {
        let state = self.begin(guard);
        let head = self.head_state(&state, TakerStatus::TimedOut);
        state.end();
        head == HeadState::Ready
    }

    fn head_state(&self, state: &State<D>, status: TakerStatus) -> HeadState {
        if !state.may_take(status, self.fairness) {
            return HeadState::Unavailable;
        }
        match state.items.ready_at() {
            Some(at) if clock::now() < at => HeadState::NotBefore(at),
            _ => HeadState::Ready,
        }
    }

    /// Parks until signalled, until the deadline, or until an element is ready that no other taker
    /// wakes for.
    fn wait_for_element<'a>(
        &'a self,
        mut guard: Guard<'a, D>,
        head: HeadState,
        deadline: Deadline,
    ) -> (Guard<'a, D>, TakerStatus) {
        match WaitOutcome::if_expired(deadline) {
            Some(WaitOutcome::Interrupted) => return (guard, TakerStatus::Interrupted),
            Some(_) => return (guard, TakerStatus::TimedOut),
            None => {}
        }
        let unwatched = match head {
            HeadState::NotBefore(at) => {
                let state = self.begin(&mut guard);
                let unwatched = state.unwatched_time(at);
                state.end();
                unwatched
            }
            HeadState::Ready | HeadState::Unavailable => None,
        };
        let until = unwatched.map_or(deadline, |at| deadline.min(at));
        let ticket = unwatched.map(|_| guard.timed_takers.add(until));
        let mutex = self.lock.mutex();
        let waited = wait(mutex, guard, |state| &mut state.takers, (), until);
        let mut guard = waited.guard;
        if let Some(ticket) = ticket {
            guard.timed_takers.remove(ticket);
        }
        let status = match waited.outcome {
            WaitOutcome::Signalled => TakerStatus::Signalled,
            WaitOutcome::Interrupted => TakerStatus::Interrupted,
            WaitOutcome::TimedOut if until == deadline => TakerStatus::TimedOut,
            WaitOutcome::TimedOut => TakerStatus::ElementDue,
        };
        (guard, status)
    }
}
