//! The data that the lock guards: the elements, the waiting threads, and the grants.

use std::time::Instant;

use super::items::Items;
use super::timed_takers::TimedTakers;
use crate::queue::discipline::Discipline;
use crate::queue::fairness::Fairness;
use crate::unwind::{catch, discard_payload};
use crate::waiting::{WaitQueue, Wakeup};

/// Threads to be woken; `None` if nobody waits, which is cheaper to return than an empty list.
pub(super) type Wakeups = Option<Vec<Wakeup>>;

/// The data that the lock of a [`Blocking`](super::Blocking) guards.
pub(crate) struct State<D: Discipline> {
    pub(crate) items: Items<D>,
    pub(super) takers: WaitQueue,
    pub(super) putters: WaitQueue,
    pub(super) timed_takers: TimedTakers,
    granted_takes: usize,
    granted_puts: usize,
    /// Whether a putter waits that there is no room for, though there is some for others.
    putters_differ: bool,
}

/// The last event of a taker before it checks the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakerStatus {
    /// None: it has just arrived.
    New,
    /// It was signalled; in a fair queue an element is granted to it.
    Signalled,
    /// It parked until an element should be ready.
    ElementDue,
    /// Its time ran out.
    TimedOut,
    /// It was interrupted.
    Interrupted,
}

/// The last event of a putter before it checks the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutterStatus {
    /// None: it has just arrived.
    New,
    /// It was signalled; in a fair queue a place is granted to it.
    Signalled,
}

impl<D: Discipline> State<D> {
    pub(super) fn new(discipline: D) -> Self {
        Self {
            items: Items::new(discipline),
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
            timed_takers: TimedTakers::default(),
            granted_takes: 0,
            granted_puts: 0,
            putters_differ: false,
        }
    }

    /// Returns whether a taker finds an element that is not granted to another.
    pub(super) fn may_take(&self, status: TakerStatus, fairness: Fairness) -> bool {
        let available = self.items.available();
        let has_ungranted = available > self.granted_takes;
        match (fairness, status) {
            (Fairness::Unfair, _) | (Fairness::Fair, TakerStatus::Signalled) => available > 0,
            // The leader has waited for this element, and comes before all that are in line.
            (Fairness::Fair, TakerStatus::ElementDue) => has_ungranted,
            (Fairness::Fair, _) => has_ungranted && self.takers.is_empty(),
        }
    }

    /// Returns whether a putter finds room for this element that is not granted to another.
    pub(super) fn may_put(
        &mut self,
        item: &D::Item,
        status: PutterStatus,
        fairness: Fairness,
    ) -> bool {
        let has_room = match (fairness, status) {
            (Fairness::Unfair, _) | (Fairness::Fair, PutterStatus::Signalled) => {
                self.items.room() > 0
            }
            (Fairness::Fair, PutterStatus::New) => {
                self.putters.is_empty() && self.items.room() > self.granted_puts
            }
        };
        if has_room && !self.items.discipline.has_room_for(item) {
            self.putters_differ = true;
            return false;
        }
        has_room
    }

    /// Ends the grant of a taker that has woken, if it has one.
    pub(super) fn end_take_grant(&mut self, status: TakerStatus, fairness: Fairness) {
        if status == TakerStatus::Signalled && fairness == Fairness::Fair {
            self.granted_takes -= 1;
        }
    }

    /// Ends the grant of a putter that has woken, if it has one.
    pub(super) fn end_put_grant(&mut self, status: PutterStatus, fairness: Fairness) {
        if status == PutterStatus::Signalled && fairness == Fairness::Fair {
            self.granted_puts -= 1;
        }
    }

    fn signal_taker(&mut self, fairness: Fairness) -> Option<Wakeup> {
        if self.granted_takes > 0 {
            return None;
        }
        let wakeup = self.takers.signal_one()?;
        if fairness == Fairness::Fair {
            self.granted_takes = 1;
        }
        Some(wakeup)
    }

    /// Signals putters after `freed` places have become free, no more than there is room for.
    #[inline]
    pub(super) fn signal_putters(&mut self, freed: usize, fairness: Fairness) -> Wakeups {
        if self.putters.is_empty() {
            return None;
        }
        let mut count = freed.min(self.items.room());
        if std::mem::take(&mut self.putters_differ) {
            // Which of them there is room for, only they can find out.
            count = usize::MAX;
        } else if fairness == Fairness::Fair {
            count = count.min(1_usize.saturating_sub(self.granted_puts));
        }
        let wakeups = self.putters.signal(count);
        if fairness == Fairness::Fair {
            self.granted_puts += wakeups.len();
        }
        Some(wakeups)
    }

    /// Signals the next putter of a fair queue, after one has been served.
    pub(super) fn signal_next_putter(&mut self, fairness: Fairness) -> Wakeups {
        if fairness == Fairness::Unfair {
            return None;
        }
        self.signal_putters(1, fairness)
    }

    /// Signals the next taker, after one has left: as the new leader if the head has to be waited
    /// for and no taker wakes for it, or because it is next in line in a fair queue.
    #[inline]
    pub(super) fn signal_next_taker(&mut self, fairness: Fairness) -> Option<Wakeup> {
        if self.takers.is_empty() {
            return None;
        }
        let is_needed = match self.items.ready_at() {
            Some(at) => !self.timed_takers.any_by(at),
            None => fairness == Fairness::Fair && self.items.available() > 0,
        };
        if is_needed {
            self.signal_taker(fairness)
        } else {
            None
        }
    }

    /// Returns the time until which a taker has to park, given that the head is ready at `head`;
    /// `None` if other takers wake in time for the head and for the element after it.
    pub(super) fn unwatched_time(&self, head: Instant) -> Option<Instant> {
        match self.timed_takers.count_by(head) {
            0 => Some(head),
            1 => {
                let next = self.items.discipline.ready_next_at();
                next.filter(|next| self.timed_takers.count_by(*next) < 2)
            }
            _ => None,
        }
    }

    /// Inserts, and signals a taker if one has to wake for the element.
    #[inline]
    pub(super) fn push(
        &mut self,
        fairness: Fairness,
        insert: impl FnOnce(&mut D),
    ) -> Option<Wakeup> {
        let before = self.items.ready_at();
        insert(&mut self.items.discipline);
        match (before, self.items.ready_at()) {
            (_, None) if self.items.available() == 0 => None,
            (_, None) => self.signal_taker(fairness),
            (Some(before), Some(after)) if after >= before => None,
            (_, Some(after)) if self.timed_takers.any_by(after) => None,
            _ => self.signal_taker(fairness),
        }
    }

    /// Signals a taker for each element that has become available, after an event outside of the
    /// queue.
    pub(super) fn signal_takers(
        &mut self,
        newly_available: usize,
        fairness: Fairness,
    ) -> Vec<Wakeup> {
        let signalled = (0..newly_available).map_while(|_| self.signal_taker(fairness));
        signalled.collect()
    }

    /// Signals as many takers and putters as there are elements and places, after user code has
    /// panicked; in a fair queue no more than one of each, who signals the next.
    ///
    /// If the discipline cannot even be asked, all of them find out for themselves.
    pub(super) fn signal_after_panic(&mut self, fairness: Fairness) -> [Vec<Wakeup>; 2] {
        let len = or_max(|| self.items.available());
        let room = or_max(|| self.items.room());
        match fairness {
            Fairness::Unfair => [self.takers.signal(len), self.putters.signal(room)],
            Fairness::Fair => {
                let takers = self.takers.signal(len.min(1 - self.granted_takes));
                self.granted_takes += takers.len();
                let putters = self
                    .putters
                    .signal(room.min(1_usize.saturating_sub(self.granted_puts)));
                self.granted_puts += putters.len();
                [takers, putters]
            }
        }
    }
}

/// Returns what user code returns, or the maximum if it panics.
fn or_max(f: impl FnOnce() -> usize) -> usize {
    catch(f).unwrap_or_else(|payload| {
        discard_payload(payload);
        usize::MAX
    })
}
