//! Popping at the head, and waiting for elements.

use super::ends::{Attempt, Taker, Yielded};
use super::queue::{HeadGuard, TailGuard, TwoLockQueue};
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::queue::parts::sequence::Sequence;
use crate::sync::atomic::Ordering;
use crate::sync::{Deadline, Spun, spin_until, yield_now};
use crate::waiting::{WaitOutcome, wait};

impl<S: Sequence<Item: Send> + Send> TwoLockQueue<S> {
    /// Locks the head. If it is empty after a small batch, spins for elements first.
    #[inline(always)]
    fn lock_head(&self) -> HeadGuard<'_, S> {
        let head = self.head.lock.lock_to_take();
        if head.items.len() > 0 || !head.batch_spin.is_due() {
            return head;
        }
        self.spin_for_batch(head)
    }

    #[cold]
    fn spin_for_batch<'a>(&'a self, mut head: HeadGuard<'a, S>) -> HeadGuard<'a, S> {
        let plan = head.batch_spin.begin();
        drop(head);
        let tail = &self.tail;
        tail.has_spinning_taker.store(true, Ordering::Relaxed);
        let elements_came = || tail.published_len.load(Ordering::Relaxed) > 0;
        let mut spun = spin_until(plan.length, plan.checks, elements_came);
        if spun == Spun::InVain && plan.goes_on {
            spun = spin_until(plan.length, plan.checks, elements_came);
        }
        // A producer that has read true has pushed before this thread locks the tail, and one that
        // locks the tail after this thread reads false: the tail lock orders both.
        tail.has_spinning_taker.store(false, Ordering::Relaxed);
        let mut head = self.head.lock.lock();
        head.batch_spin.end(spun);
        head
    }

    /// Takes the oldest element. If there is none, calls `if_empty` with both locks still held.
    ///
    /// While a signalled taker is waking, fewer others are signalled. So it locks both ends and
    /// signals the next one for what it leaves behind. A taker that swaps the ends does the same.
    ///
    /// The locks are passed to a closure instead of being returned: a type that holds either them
    /// or an element is copied in smaller pieces, and each such copy stalls.
    #[inline(always)]
    pub(super) fn try_take<'a>(
        &'a self,
        attempt: Attempt,
        if_empty: impl FnOnce(HeadGuard<'a, S>, TailGuard<'a, S>),
    ) -> Option<S::Item> {
        self.try_take_with(attempt, || (), if_empty)
    }

    /// Takes the oldest element and calls `on_pop` under the head lock, or calls `if_empty` under both
    /// locks.
    #[inline(always)]
    pub(crate) fn poll_with(
        &self,
        on_pop: impl FnOnce(),
        if_empty: impl FnOnce(),
    ) -> Option<S::Item> {
        self.try_take_with(Attempt::First, on_pop, |_head, _tail| if_empty())
    }

    #[inline(always)]
    fn try_take_with<'a>(
        &'a self,
        attempt: Attempt,
        on_pop: impl FnOnce(),
        if_empty: impl FnOnce(HeadGuard<'a, S>, TailGuard<'a, S>),
    ) -> Option<S::Item> {
        let mut head = self.lock_head();
        if attempt != Attempt::AfterSignal && head.items.len() > 0 {
            return self.pop(head, on_pop);
        }
        let mut tail = self.tail.lock.lock();
        if attempt == Attempt::AfterSignal {
            tail.takers_waking -= 1;
        }
        let has_element = self.refill_head(&mut head, &mut tail);
        if let Attempt::AfterYield(Yielded { took, refilled }) = attempt {
            // Also what other takers have popped meanwhile: the core was not given away for nothing.
            let gained = head.refilled.wrapping_sub(refilled);
            head.taker_yields.record(gained, took);
        }
        if !has_element {
            if_empty(head, tail);
            return None;
        }
        let left = head.items.len() - 1 + tail.items.len();
        let next = tail.signal_taker(left);
        drop(tail);
        let item = self.pop(head, on_pop);
        drop(next);
        item
    }

    pub(crate) fn take_until(&self, deadline: Deadline) -> Result<Option<S::Item>, Interrupted> {
        self.take_as(Taker::Ordinary, deadline, || ())
    }

    /// Takes the oldest element. If this taker is recruited while it waits, calls `on_recruit` under the tail
    /// lock, and returns `None`.
    pub(crate) fn take_as(
        &self,
        taker: Taker,
        deadline: Deadline,
        on_recruit: impl FnOnce(),
    ) -> Result<Option<S::Item>, Interrupted> {
        if wait_interrupted() {
            return Err(Interrupted);
        }
        let mut attempt = Attempt::First;
        loop {
            if attempt == Attempt::AfterSignal && taker == Taker::Recruitable {
                if let Some(tail) = self.answer_call() {
                    on_recruit();
                    self.leave_to_next(tail);
                    return Ok(None);
                }
            }
            let mut outcome = WaitOutcome::Signalled;
            let item = self.try_take(attempt, |mut head, tail| {
                let may_yield = attempt == Attempt::First && !deadline.has_passed();
                if may_yield && head.taker_yields.is_due() {
                    let refilled = head.refilled;
                    drop((head, tail));
                    let took = yield_now();
                    attempt = Attempt::AfterYield(Yielded { took, refilled });
                    return;
                }
                drop(head);
                outcome = self.wait_for_element(tail, taker, deadline);
                attempt = Attempt::AfterSignal;
            });
            match outcome {
                _ if item.is_some() => return Ok(item),
                WaitOutcome::Signalled => {}
                WaitOutcome::TimedOut => return Ok(None),
                WaitOutcome::Interrupted => return Err(Interrupted),
            }
        }
    }

    /// Locks the tail if a taker is recruited that has not come yet: then this one is it.
    fn answer_call(&self) -> Option<TailGuard<'_, S>> {
        let mut tail = self.tail.lock.lock();
        tail.recruits = tail.recruits.checked_sub(1)?;
        tail.takers_waking -= 1;
        Some(tail)
    }

    /// Signals a taker for what is queued, in the place of this one.
    fn leave_to_next(&self, mut tail: TailGuard<'_, S>) {
        // The head can only have become shorter: then a taker finds nothing, and waits again.
        let left = self.head.len.load(Ordering::Acquire) + tail.items.len();
        let next = tail.signal_taker(left);
        drop(tail);
        drop(next);
    }

    fn wait_for_element(
        &self,
        tail: TailGuard<'_, S>,
        taker: Taker,
        deadline: Deadline,
    ) -> WaitOutcome {
        if let Some(expired) = WaitOutcome::if_expired(deadline) {
            return expired;
        }
        let mutex = self.tail.lock.mutex();
        wait(mutex, tail, |tail| &mut tail.takers, taker, deadline).outcome
    }

    /// Pops the oldest element from the head and releases the lock.
    ///
    /// The element stays in its `Option` on the way: unwrapping it would copy it.
    #[inline(always)]
    fn pop(&self, mut head: HeadGuard<'_, S>, on_pop: impl FnOnce()) -> Option<S::Item> {
        let item = head.items.pop();
        on_pop();
        self.head.len.store(head.items.len(), Ordering::Release);
        let is_signalled = head.putters_waking > 0;
        if !is_signalled && !head.putters.is_empty() {
            self.wake_putter(head);
        }
        item
    }

    /// Signals a putter if there is room, and releases the lock.
    #[cold]
    fn wake_putter(&self, mut head: HeadGuard<'_, S>) {
        let room = self.room(&self.tail.lock.lock());
        let wakeup = head.signal_putter(room);
        drop(head);
        drop(wakeup);
    }
}
