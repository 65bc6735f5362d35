//! A bounded ring that serves waiting threads strictly in order of arrival.
//!
//! Whoever is next is served under the lock: an element that comes while takers wait goes to the
//! oldest of them and not into the ring, and a place that becomes free while putters wait is filled
//! with the element of the oldest. So takers wait only while the ring is empty, and putters only
//! while it is full. A thread that finds an element or a place overtakes nobody, and takes it at
//! once, although threads that were served before it may not have woken yet.

use std::collections::VecDeque;
use std::time::Duration;

use super::handoff::exchange::{Slot, wait_for_item, wait_for_taker};
use super::interrupt_precedence::InterruptPrecedence;
use super::queue_lock::QueueLock;
use super::sequence::retain_by_verdicts;
use super::wait_limit::{WaitLimit, insertions_within, removals_within};
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::queue::blocking_queue::{BlockingQueue, Waiting};
use crate::queue::error::PutError;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::waiting::{WaitQueue, Wakeup};

const PRECEDENCE: InterruptPrecedence = InterruptPrecedence::Always;

/// A bounded first-in-first-out queue, fair to takers and to putters.
pub(crate) struct FairRing<T> {
    lock: QueueLock<State<T>>,
    capacity: usize,
    /// The length as of the last change under the lock. Written and read under the lock; code that
    /// runs under it, a predicate for instance, reads it there.
    published_len: AtomicUsize,
}

struct State<T> {
    ring: VecDeque<T>,
    /// Empty unless the ring is.
    takers: WaitQueue<Slot<T>>,
    /// Empty unless the ring is full.
    putters: WaitQueue<T>,
}

impl<T> State<T> {
    /// Fills a place that has become free with the element of the oldest putter.
    #[inline]
    fn admit_putter(&mut self) -> Option<Wakeup> {
        let (wakeup, item) = self.putters.signal_oldest()?;
        self.ring.push_back(item);
        Some(wakeup)
    }
}

impl<T: Send> FairRing<T> {
    /// Creates a queue of this ring, which has memory for `capacity` elements.
    pub(crate) fn new(ring: VecDeque<T>, capacity: usize) -> Self {
        let published_len = AtomicUsize::new(ring.len());
        let state = State {
            ring,
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            capacity,
            published_len,
        }
    }

    fn put_within(&self, item: T, limit: WaitLimit) -> Result<(), PutError<T>> {
        if PRECEDENCE.ends_insertion(limit) && wait_interrupted() {
            return Err(PutError::Interrupted(item));
        }
        let mut state = self.lock.lock();
        if let Some((wakeup, slot)) = state.takers.signal_oldest() {
            *slot.lock() = Some(item);
            drop(state);
            drop(wakeup);
            return Ok(());
        }
        if state.ring.len() < self.capacity {
            state.ring.push_back(item);
            self.publish(&state);
            return Ok(());
        }
        wait_for_taker(&self.lock, state, |state| &mut state.putters, item, limit)
    }

    fn take_within(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        if PRECEDENCE.ends_removal(limit) && wait_interrupted() {
            return Err(Interrupted);
        }
        let mut state = self.lock.lock();
        if let Some(item) = state.ring.pop_front() {
            let wakeup = state.admit_putter();
            self.publish(&state);
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        wait_for_item(&self.lock, state, |state| &mut state.takers, limit)
    }

    /// Removes elements with `f`, which may be user code, and fills their places with those of
    /// putters.
    fn remove(&self, f: impl FnOnce(&mut VecDeque<T>) -> Vec<T>) -> Vec<T> {
        let mut guard = self.lock.lock();
        let removed = f(&mut self.lock.enter(&mut guard).ring);
        let mut wakeups = Vec::new();
        while guard.ring.len() < self.capacity {
            let Some(wakeup) = guard.admit_putter() else {
                break;
            };
            wakeups.push(wakeup);
        }
        self.publish(&guard);
        drop(guard);
        drop(wakeups);
        removed
    }

    fn drain_up_to(&self, max: usize) -> Vec<T> {
        self.remove(|ring| {
            let count = max.min(ring.len());
            ring.drain(..count).collect()
        })
    }

    fn publish(&self, state: &State<T>) {
        self.published_len
            .store(state.ring.len(), Ordering::Relaxed);
    }

    fn read_len(&self) -> usize {
        // Under the lock, which orders the length with what its reader and a producer do beside the
        // queue: see `BlockingQueue::len`.
        let guard = self.lock.lock_unless_entered();
        let len = self.published_len.load(Ordering::Relaxed);
        drop(guard);
        len
    }
}

impl<T: Send> BlockingQueue<T> for FairRing<T> {
    insertions_within!(T);

    removals_within!(T);

    fn drain(&self, max: usize) -> Vec<T> {
        self.drain_up_to(max)
    }

    fn drain_all(&self) -> Vec<T> {
        self.drain_up_to(usize::MAX)
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        let removed = self.remove(|ring| {
            let index = ring.iter().position(wanted);
            Vec::from_iter(index.and_then(|index| ring.remove(index)))
        });
        removed.into_iter().next()
    }

    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        self.remove(|ring| {
            // All verdicts first, so that a predicate that panics changes nothing.
            let verdicts: Vec<bool> = ring.iter().map(keep).collect();
            retain_by_verdicts(ring, &verdicts)
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&T)) {
        let mut guard = self.lock.lock();
        self.lock.enter(&mut guard).ring.iter().for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&T)) {
        let mut guard = self.lock.lock();
        let state = self.lock.enter(&mut guard);
        state.ring.front().into_iter().for_each(f);
    }

    fn len(&self) -> usize {
        self.read_len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        Some(self.capacity - self.read_len())
    }

    fn waiting(&self) -> Option<Waiting> {
        let state = self.lock.lock();
        Some(Waiting {
            takers: state.takers.len(),
            putters: state.putters.len(),
        })
    }
}
