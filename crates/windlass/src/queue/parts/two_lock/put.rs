//! Pushing at the tail, and waiting for room.

use super::ends::{Attempt, Tail, Yielded};
use super::queue::{HeadGuard, TwoLockQueue};
use crate::interrupt::wait_interrupted;
use crate::queue::error::PutError;
use crate::queue::parts::queue_lock::reentered;
use crate::queue::parts::sequence::Sequence;
use crate::sync::atomic::Ordering;
use crate::sync::{Deadline, yield_now};
use crate::waiting::{WaitOutcome, Wakeup, wait};

impl<S: Sequence<Item: Send> + Send> TwoLockQueue<S> {
    /// Pushes without a check of the bound.
    pub(crate) fn push_unbounded(&self, item: S::Item) {
        let mut tail = self.tail.lock.lock();
        let wakeup = self.push(&mut tail, || item);
        drop(tail);
        drop(wakeup);
    }

    /// Pushes the element that `make` returns, without a check of the bound, if `admit` returns true,
    /// which is called under the tail lock.
    pub(crate) fn push_if(
        &self,
        admit: impl FnOnce() -> bool,
        make: impl FnOnce() -> S::Item,
    ) -> bool {
        let mut tail = self.tail.lock.lock();
        if !admit() {
            return false;
        }
        let wakeup = self.push(&mut tail, make);
        drop(tail);
        drop(wakeup);
        true
    }

    /// Pushes the element that `make` returns and recruits a taker, if one waits that can be recruited and
    /// `admit` returns true, which is called under the tail lock.
    pub(crate) fn push_recruiting(
        &self,
        admit: impl FnOnce() -> bool,
        make: impl FnOnce() -> S::Item,
    ) -> bool {
        let mut tail = self.tail.lock.lock();
        if !tail.has_recruitable() || !admit() {
            return false;
        }
        let recruited = tail.recruit_taker();
        let wakeup = self.push(&mut tail, make);
        drop(tail);
        drop((recruited, wakeup));
        true
    }

    /// Pushes the element that `make` returns, created in its slot. Returns `make` if there is no
    /// room.
    #[inline(always)]
    pub(crate) fn offer_with<M: FnOnce() -> S::Item>(&self, make: M) -> Result<(), M> {
        let Some(mut tail) = self.tail.lock.lock_unless_entered() else {
            reentered(make())
        };
        if tail.items.len() >= tail.push_limit && !self.refresh_push_limit(&mut tail) {
            return Err(make);
        }
        let wakeup = self.push(&mut tail, make);
        drop(tail);
        drop(wakeup);
        Ok(())
    }

    /// Pushes, and signals a taker if one is needed.
    #[inline(always)]
    fn push(&self, tail: &mut Tail<S>, make: impl FnOnce() -> S::Item) -> Option<Wakeup> {
        tail.items.push_with(make);
        let len = tail.items.len();
        self.tail.published_len.store(len, Ordering::Relaxed);
        if self.tail.has_spinning_taker.load(Ordering::Relaxed) {
            return None;
        }
        // The head is not counted: the taker that refilled it signalled another one for the rest.
        tail.signal_taker(len)
    }

    pub(super) fn put_until(
        &self,
        item: S::Item,
        deadline: Deadline,
    ) -> Result<(), PutError<S::Item>> {
        if wait_interrupted() {
            return Err(PutError::Interrupted(item));
        }
        // Most calls find room, and need the tail lock only.
        let Err(make) = self.offer_with(|| item) else {
            return Ok(());
        };
        let item = make();
        let mut head = self.head.lock.lock();
        let mut attempt = Attempt::First;
        loop {
            let mut tail = self.tail.lock.lock();
            let room = self.room(&tail);
            if let Attempt::AfterYield(Yielded { took, .. }) = attempt {
                head.putter_yields.record(self.worthwhile_room(room), took);
            }
            if room > 0 {
                let taker = self.push(&mut tail, || item);
                drop(tail);
                // While a signalled putter is waking, no other is signalled: so it signals the
                // next.
                let putter = head.signal_putter(room - 1);
                drop(head);
                drop((taker, putter));
                return Ok(());
            }
            drop(tail);
            let may_yield = attempt == Attempt::First && !deadline.has_passed();
            if may_yield && head.putter_yields.is_due() {
                let refilled = head.refilled;
                drop(head);
                let took = yield_now();
                attempt = Attempt::AfterYield(Yielded { took, refilled });
                head = self.head.lock.lock();
                continue;
            }
            let outcome;
            (head, outcome) = self.wait_for_room(head, deadline);
            match outcome {
                WaitOutcome::Signalled => {
                    head.putters_waking -= 1;
                    attempt = Attempt::AfterSignal;
                }
                WaitOutcome::TimedOut => return Err(PutError::TimedOut(item)),
                WaitOutcome::Interrupted => return Err(PutError::Interrupted(item)),
            }
        }
    }

    fn wait_for_room<'a>(
        &'a self,
        head: HeadGuard<'a, S>,
        deadline: Deadline,
    ) -> (HeadGuard<'a, S>, WaitOutcome) {
        if let Some(expired) = WaitOutcome::if_expired(deadline) {
            return (head, expired);
        }
        let mutex = self.head.lock.mutex();
        let waited = wait(mutex, head, |head| &mut head.putters, (), deadline);
        (waited.guard, waited.outcome)
    }

    /// Returns the room that a putter has found after a yield, if it need not yield again soon.
    fn worthwhile_room(&self, room: usize) -> usize {
        let capacity = self.tail.capacity.load(Ordering::Relaxed);
        if room >= capacity / 8 { room } else { 0 }
    }
}
