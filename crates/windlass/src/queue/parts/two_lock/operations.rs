//! The queue as a [`BlockingQueue`].

use std::time::Duration;

use super::ends::Attempt;
use super::ends::UNBOUNDED;
use super::queue::{CapacityMode, TwoLockQueue};
use crate::interrupt::Interrupted;
use crate::queue::blocking_queue::{BlockingQueue, Waiting};
use crate::queue::error::{CapacityError, PutError};
use crate::queue::parts::sequence::Sequence;
use crate::queue::parts::wait_limit::timed;
use crate::sync::Deadline;
use crate::sync::atomic::Ordering;

impl<S: Sequence<Item: Send> + Send> BlockingQueue<S::Item> for TwoLockQueue<S> {
    #[inline(always)]
    fn offer(&self, item: S::Item) -> Result<(), PutError<S::Item>> {
        self.offer_with(|| item)
            .map_err(|make| PutError::Full(make()))
    }

    fn put(&self, item: S::Item) -> Result<(), PutError<S::Item>> {
        self.put_until(item, Deadline::Never)
    }

    fn offer_timeout(&self, item: S::Item, timeout: Duration) -> Result<(), PutError<S::Item>> {
        self.put_until(item, timed(timeout))
    }

    #[inline]
    fn poll(&self) -> Option<S::Item> {
        self.try_take(Attempt::First, |_, _| ())
    }

    fn take(&self) -> Result<S::Item, Interrupted> {
        loop {
            if let Some(item) = self.take_until(Deadline::Never)? {
                return Ok(item);
            }
        }
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<S::Item>, Interrupted> {
        self.take_until(timed(timeout))
    }

    fn drain(&self, max: usize) -> Vec<S::Item> {
        self.remove_with(|head, tail| {
            let available = head.items.len() + tail.items.len();
            let mut drained = Vec::with_capacity(max.min(available));
            while drained.len() < max {
                let Some(item) = head.items.pop().or_else(|| tail.items.pop()) else {
                    break;
                };
                drained.push(item);
            }
            drained
        })
    }

    fn drain_all(&self) -> Vec<S::Item> {
        self.drain(usize::MAX)
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&S::Item) -> bool) -> Option<S::Item> {
        let removed = self.remove_with(|head, tail| {
            let index = head.items.iter().chain(tail.items.iter()).position(wanted);
            let removed = index.and_then(|index| match index.checked_sub(head.items.len()) {
                None => head.items.remove(index),
                Some(index) => tail.items.remove(index),
            });
            Vec::from_iter(removed)
        });
        removed.into_iter().next()
    }

    fn retain(&self, keep: &mut dyn FnMut(&S::Item) -> bool) -> Vec<S::Item> {
        self.remove_with(|head, tail| {
            // All verdicts first, so that a predicate that panics changes nothing.
            let queued = head.items.iter().chain(tail.items.iter());
            let mut verdicts = queued.map(keep).collect::<Vec<_>>().into_iter();
            let mut removed = head.items.retain(&mut verdicts);
            removed.append(&mut tail.items.retain(&mut verdicts));
            removed
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&S::Item)) {
        let mut head = self.head.lock.lock();
        let mut tail = self.tail.lock.lock();
        let head = self.head.lock.enter(&mut head);
        let tail = self.tail.lock.enter(&mut tail);
        head.items.iter().chain(tail.items.iter()).for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&S::Item)) {
        let mut head = self.head.lock.lock();
        let mut tail = self.tail.lock.lock();
        let head = self.head.lock.enter(&mut head);
        let tail = self.tail.lock.enter(&mut tail);
        let mut queued = head.items.iter().chain(tail.items.iter());
        queued.next().into_iter().for_each(f);
    }

    fn len(&self) -> usize {
        // Only code that runs under the lock gets here without it, and then no element moves.
        let tail = self.tail.lock.lock_unless_entered();
        let in_tail = self.tail.published_len.load(Ordering::Relaxed);
        let len = in_tail + self.head.len.load(Ordering::Acquire);
        drop(tail);
        len
    }

    fn remaining_capacity(&self) -> Option<usize> {
        let tail = self.tail.lock.lock_unless_entered();
        let capacity = self.tail.capacity.load(Ordering::Relaxed);
        let in_tail = self.tail.published_len.load(Ordering::Relaxed);
        let len = in_tail + self.head.len.load(Ordering::Acquire);
        drop(tail);
        (capacity != UNBOUNDED).then(|| capacity.saturating_sub(len))
    }

    fn capacity(&self) -> Option<usize> {
        let capacity = self.tail.capacity.load(Ordering::Relaxed);
        (capacity != UNBOUNDED).then_some(capacity)
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        match (self.capacity_mode, capacity) {
            (CapacityMode::Fixed, _) => return Err(CapacityError::NotResizable),
            (CapacityMode::Resizable, 0) => return Err(CapacityError::Zero),
            (CapacityMode::Resizable, _) => {}
        }
        let mut head = self.head.lock.lock();
        let mut tail = self.tail.lock.lock();
        let former = self.tail.capacity.swap(capacity, Ordering::Relaxed);
        tail.push_limit = self.tail_capacity();
        let room = self.room(&tail);
        drop(tail);
        let wakeup = head.signal_putter(room);
        drop(head);
        drop(wakeup);
        Ok((former != UNBOUNDED).then_some(former))
    }

    fn waiting(&self) -> Option<Waiting> {
        let head = self.head.lock.lock();
        let takers = self.tail.lock.lock().takers.len();
        Some(Waiting {
            takers,
            putters: head.putters.len(),
        })
    }
}
