//! The takers that park until an element is ready.

use std::time::Instant;

use crate::sync::Deadline;

/// Up to two takers with the time at which each wakes.
///
/// One that was signalled, or whose time has come, is listed until it has the lock again: it then
/// checks the queue, and so counts as waking in time.
#[derive(Debug, Default)]
pub(super) struct TimedTakers {
    takers: [Option<TimedTaker>; 2],
    next_ticket: u64,
}

#[derive(Debug, Clone, Copy)]
struct TimedTaker {
    ticket: Ticket,
    wakes_at: Deadline,
}

/// The id of one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

impl TimedTakers {
    /// Adds a taker, in the place of the later one if there are two: that one still wakes at its
    /// time.
    pub(super) fn add(&mut self, wakes_at: Deadline) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let index = match self.takers {
            [None, _] => 0,
            [_, None] => 1,
            [Some(a), Some(b)] => usize::from(!a.wakes_at.is_after(b.wakes_at)),
        };
        self.takers[index] = Some(TimedTaker { ticket, wakes_at });
        ticket
    }

    /// Removes a taker that has woken.
    pub(super) fn remove(&mut self, ticket: Ticket) {
        for taker in &mut self.takers {
            taker.take_if(|taker| taker.ticket == ticket);
        }
    }

    /// Returns how many takers wake at this time or before it, and check the queue again.
    pub(super) fn count_by(&self, at: Instant) -> usize {
        let takers = self.takers.iter().flatten();
        takers
            .filter(|taker| taker.wakes_at.is_at_or_before(at))
            .count()
    }

    pub(super) fn any_by(&self, at: Instant) -> bool {
        self.count_by(at) > 0
    }
}
