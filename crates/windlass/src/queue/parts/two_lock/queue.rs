//! The two ends together: the room that the bound leaves, and what needs both locks.

use std::mem;

use crossbeam_utils::CachePadded;

use super::batch_spin::{BatchSpin, SpinStyle};
use super::ends::{Head, HeadEnd, Tail, TailEnd, UNBOUNDED, WakeOrder};
use super::yielding::Yielding;
use crate::queue::parts::queue_lock::QueueLock;
use crate::queue::parts::sequence::Sequence;
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::waiting::WaitQueue;

/// A first-in-first-out queue with a lock at each end.
///
/// The ends are padded, so that producers and consumers do not share a cache line.
#[derive(Debug)]
pub(crate) struct TwoLockQueue<S> {
    pub(super) head: CachePadded<HeadEnd<S>>,
    pub(super) tail: CachePadded<TailEnd<S>>,
    pub(super) capacity_mode: CapacityMode,
}

/// Whether the bound can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapacityMode {
    Fixed,
    Resizable,
}

pub(super) type TailGuard<'a, S> = MutexGuard<'a, Tail<S>>;
pub(super) type HeadGuard<'a, S> = MutexGuard<'a, Head<S>>;

impl<S: Sequence<Item: Send> + Send> TwoLockQueue<S> {
    /// Creates a queue of two sequences: the tail, with the initial elements, and an empty one for
    /// the head.
    pub(crate) fn new(
        tail: S,
        empty: S,
        capacity: Option<usize>,
        capacity_mode: CapacityMode,
    ) -> Self {
        let taking = (WakeOrder::OldestFirst, SpinStyle::Batches);
        Self::with_takers([tail, empty], capacity, capacity_mode, taking)
    }

    /// Creates an unbounded queue of two empty sequences for a hand-off, where few elements are queued at
    /// a time: it signals the newest taker first, and takers spin for the next element.
    pub(crate) fn for_handoff(sequences: [S; 2]) -> Self {
        let taking = (WakeOrder::NewestFirst, SpinStyle::SingleElements);
        Self::with_takers(sequences, None, CapacityMode::Fixed, taking)
    }

    fn with_takers(
        [tail, empty]: [S; 2],
        capacity: Option<usize>,
        capacity_mode: CapacityMode,
        (wake_order, spin_style): (WakeOrder, SpinStyle),
    ) -> Self {
        let capacity = capacity.unwrap_or(UNBOUNDED);
        Self {
            head: CachePadded::new(HeadEnd {
                len: AtomicUsize::new(0),
                lock: QueueLock::new(Head {
                    items: empty,
                    putters: WaitQueue::default(),
                    putters_waking: 0,
                    batch_spin: BatchSpin::new(spin_style),
                    refilled: 0,
                    taker_yields: Yielding::default(),
                    putter_yields: Yielding::default(),
                }),
            }),
            tail: CachePadded::new(TailEnd {
                published_len: AtomicUsize::new(tail.len()),
                has_spinning_taker: AtomicBool::new(false),
                lock: QueueLock::new(Tail {
                    push_limit: capacity,
                    items: tail,
                    takers: WaitQueue::default(),
                    takers_waking: 0,
                    recruits: 0,
                    wake_order,
                }),
                capacity: AtomicUsize::new(capacity),
            }),
            capacity_mode,
        }
    }

    /// Swaps the sequences if the head is empty, so that the oldest element is in the head. Returns
    /// false if there is none.
    pub(super) fn refill_head(&self, head: &mut Head<S>, tail: &mut Tail<S>) -> bool {
        if head.items.len() == 0 && tail.items.len() > 0 {
            mem::swap(&mut head.items, &mut tail.items);
            self.tail.published_len.store(0, Ordering::Relaxed);
            let moved = head.items.len();
            self.head.len.store(moved, Ordering::Release);
            tail.push_limit = self.tail_capacity();
            let batch = head.items.len();
            head.refilled = head.refilled.wrapping_add(batch);
            head.batch_spin.record_batch(batch);
        }
        head.items.len() > 0
    }

    /// Reads the length of the head again, which may have shrunk since. Returns whether there is
    /// room.
    #[cold]
    pub(super) fn refresh_push_limit(&self, tail: &mut Tail<S>) -> bool {
        tail.push_limit = self.tail_capacity();
        tail.items.len() < tail.push_limit
    }

    /// Returns how many more elements there is room for; zero if the bound was lowered below the
    /// length.
    pub(super) fn room(&self, tail: &Tail<S>) -> usize {
        self.tail_capacity().saturating_sub(tail.items.len())
    }

    /// Returns how many elements the bound leaves to the tail. To be called under the tail lock.
    pub(super) fn tail_capacity(&self) -> usize {
        match self.tail.capacity.load(Ordering::Relaxed) {
            UNBOUNDED => usize::MAX,
            capacity => capacity.saturating_sub(self.head.len.load(Ordering::Acquire)),
        }
    }

    /// Runs `f`, which may be user code, on both ends, and signals a putter if there is room
    /// afterwards.
    pub(super) fn remove_with(
        &self,
        f: impl FnOnce(&mut Head<S>, &mut Tail<S>) -> Vec<S::Item>,
    ) -> Vec<S::Item> {
        let mut head = self.head.lock.lock();
        let mut tail = self.tail.lock.lock();
        let removed = {
            let mut head = self.head.lock.enter(&mut head);
            f(&mut head, &mut self.tail.lock.enter(&mut tail))
        };
        self.head.len.store(head.items.len(), Ordering::Release);
        self.tail
            .published_len
            .store(tail.items.len(), Ordering::Relaxed);
        let room = self.room(&tail);
        drop(tail);
        let wakeup = head.signal_putter(room);
        drop(head);
        drop(wakeup);
        removed
    }
}
