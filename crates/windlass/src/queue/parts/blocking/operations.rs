//! The queue as a [`BlockingQueue`].

use std::time::Duration;

use super::items::Items;
use super::monitor::Blocking;
use crate::interrupt::Interrupted;
use crate::queue::blocking_queue::{BlockingQueue, Waiting};
use crate::queue::discipline::Discipline;
use crate::queue::error::{CapacityError, PutError};
use crate::queue::parts::wait_limit::WaitLimit;
use crate::sync::clock;

impl<D: Discipline> BlockingQueue<D::Item> for Blocking<D> {
    fn offer(&self, item: D::Item) -> Result<(), PutError<D::Item>> {
        self.insert(item, WaitLimit::NoWait, D::push_from)
    }

    fn offer_timeout(&self, item: D::Item, timeout: Duration) -> Result<(), PutError<D::Item>> {
        self.insert(item, WaitLimit::timeout(timeout), D::push_from)
    }

    fn put(&self, item: D::Item) -> Result<(), PutError<D::Item>> {
        self.insert(item, WaitLimit::Forever, D::push_from)
    }

    fn poll(&self) -> Option<D::Item> {
        self.extract(WaitLimit::NoWait, D::pop).unwrap_or(None)
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<D::Item>, Interrupted> {
        self.extract(WaitLimit::timeout(timeout), D::pop)
    }

    fn take(&self) -> Result<D::Item, Interrupted> {
        loop {
            if let Some(item) = self.extract(WaitLimit::Forever, D::pop)? {
                return Ok(item);
            }
        }
    }

    fn drain(&self, max: usize) -> Vec<D::Item> {
        self.remove_next(self.lock.lock(), |items, drained: &mut Vec<_>| {
            let now = items.ready_at().map(|_| clock::now());
            drained.reserve_exact(max.min(items.len()));
            while drained.len() < max {
                let ready = match (items.ready_at(), now) {
                    (Some(at), Some(now)) => at <= now,
                    _ => true,
                };
                let Some(item) = (if ready { items.pop_with(D::pop) } else { None }) else {
                    break;
                };
                drained.push(item);
            }
        })
    }

    fn drain_all(&self) -> Vec<D::Item> {
        self.remove_particular(Items::take_all)
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&D::Item) -> bool) -> Option<D::Item> {
        self.remove_particular(|items| items.remove_first(wanted))
    }

    fn retain(&self, keep: &mut dyn FnMut(&D::Item) -> bool) -> Vec<D::Item> {
        self.remove_particular(|items| items.retain(keep))
    }

    fn for_each(&self, f: &mut dyn FnMut(&D::Item)) {
        self.read(|items| items.iter().for_each(f));
    }

    fn peek(&self, f: &mut dyn FnMut(&D::Item)) {
        self.read(|items| items.peek().into_iter().for_each(f));
    }

    fn len(&self) -> usize {
        self.in_order(Self::published_len)
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.in_order(Self::published_room)
    }

    fn capacity(&self) -> Option<usize> {
        self.with(|state| (state.items.discipline.capacity(), ()))
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        self.with(|state| {
            let former = state.items.discipline.set_capacity(capacity);
            let wakeups = state.signal_putters(usize::MAX, self.fairness);
            (former, wakeups)
        })
    }

    fn sees_every_element(&self) -> bool {
        self.with(|state| (state.items.discipline.sees_every_element(), ()))
    }

    fn has_partial_bounds(&self) -> bool {
        self.with(|state| (state.items.discipline.has_partial_bounds(), ()))
    }

    fn waiting(&self) -> Option<Waiting> {
        let guard = self.lock.lock();
        Some(Waiting {
            takers: guard.takers.len(),
            putters: guard.putters.len(),
        })
    }
}
