//! The deque of a worker: the owner works at the bottom, thieves steal at the top.
//!
//! The deque is a ring of slots. The `state` of a slot alone decides who may touch its value:
//!
//! | state | who may touch the value |
//! |---|---|
//! | empty | the owner, which may fill it |
//! | full | the thread that changes the state by a compare-exchange |
//! | taken | the thief that changed it from full, until it stores empty |
//!
//! Full and taken carry the position of the value. Positions count on from lap to lap, so a late thief
//! cannot mistake a value of the next lap for the one whose state it has read. A full slot also carries
//! whether its value is a join job: a leapfrogging thief steals only those, and no thread may read a
//! value before claiming it.
//!
//! The owner fills the slot at `bottom` and pops the one below it. Thieves claim the slot at `top`;
//! a thief that finds that slot taken advances `top`. Since thieves claim in order, they hold the newest
//! value only if they have claimed all others.
//!
//! A push needs no read-modify-write operation, a pop needs one. Values that do not fit into the ring
//! go to an overflow list under a lock.

#![expect(
    unsafe_code,
    reason = "the values are handed from thread to thread by the state of their slot"
)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::queue::Shrink;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, UnsafeCell};

/// The order in which a worker pops its own deque.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalOrder {
    /// Newest first: best for tasks that are joined.
    Lifo,
    /// Oldest first: best for tasks that are never joined.
    Fifo,
}

/// The number of slots of the ring; small in models, so that it overflows.
const CAPACITY: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

/// The state of an empty slot. The other states are a position and one of the tags below.
const EMPTY: usize = 0;

const FULL: usize = 1;
const TAKEN: usize = 2;
const FULL_JOIN_JOB: usize = 3;
const TAG_BITS: u32 = 2;

const fn tagged(position: usize, tag: usize) -> usize {
    position << TAG_BITS | tag
}

const fn is_full(state: usize) -> bool {
    state & FULL == FULL
}

/// A property of values that thieves can filter by.
pub(super) trait DequeItem {
    /// Returns whether this is the job of a join.
    fn is_join_job(&self) -> bool;
}

/// The values that a thief accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StealFilter {
    Any,
    JoinJob,
}

/// A slot, aligned to a cache line.
#[repr(align(64))]
struct Slot<T> {
    state: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            state: AtomicUsize::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// # Safety
    ///
    /// The caller owns the deque and has read the state as empty.
    #[inline]
    unsafe fn fill(&self, value: T) {
        self.value.with_mut(|place| {
            // SAFETY: only the owner touches the value of an empty slot.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
    }

    /// # Safety
    ///
    /// The caller has changed the state from full, to one that entitles no other thread.
    #[inline]
    unsafe fn take(&self) -> T {
        self.value.with(|place| {
            // SAFETY: a full slot has a value, and the caller has claimed it.
            unsafe { place.cast::<T>().read() }
        })
    }
}

struct Inner<T> {
    /// The position that thieves claim next.
    top: CachePadded<AtomicUsize>,
    /// The position that the owner fills next.
    bottom: CachePadded<AtomicUsize>,
    /// A power of two in number, or none.
    slots: Box<[Slot<T>]>,
    /// Length of the overflow list. While it is not zero, pushes go to the list too: its values are all
    /// newer than those in the ring.
    overflow_len: AtomicUsize,
    overflow: Mutex<VecDeque<T>>,
}

// SAFETY: a value is touched only by the thread that the state of its slot entitles, and moves between
// threads only if it is `Send`.
unsafe impl<T: Send> Send for Inner<T> {}
// SAFETY: likewise; no reference to a value is ever shared.
unsafe impl<T: Send> Sync for Inner<T> {}

impl<T: DequeItem> Inner<T> {
    fn new(capacity: usize) -> Self {
        Self {
            top: CachePadded::new(AtomicUsize::new(0)),
            bottom: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..capacity).map(|_| Slot::new()).collect(),
            overflow_len: AtomicUsize::new(0),
            overflow: Mutex::new(VecDeque::new()),
        }
    }

    #[inline]
    fn slot(&self, position: usize) -> Option<&Slot<T>> {
        self.slots.get(position & self.slots.len().wrapping_sub(1))
    }

    #[inline]
    fn has_overflow(&self) -> bool {
        self.overflow_len.load(Ordering::Acquire) != 0
    }

    #[cold]
    fn with_overflow<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let mut list = self.overflow.lock();
        let result = change(&mut list);
        list.shrink_if_mostly_empty(0);
        self.overflow_len.store(list.len(), Ordering::Release);
        result
    }

    fn steal(&self, filter: StealFilter) -> Option<T> {
        match self.steal_from_ring(filter) {
            None if self.has_overflow() => self.with_overflow(|list| {
                let is_accepted = |oldest: &T| filter == StealFilter::Any || oldest.is_join_job();
                list.front()
                    .is_some_and(is_accepted)
                    .then(|| list.pop_front())?
            }),
            stolen => stolen,
        }
    }

    fn steal_from_ring(&self, filter: StealFilter) -> Option<T> {
        loop {
            let oldest = self.top.load(Ordering::Acquire);
            let slot = self.slot(oldest)?;
            let state = slot.state.load(Ordering::Acquire);
            let is_join_job = state == tagged(oldest, FULL_JOIN_JOB);
            if is_join_job || state == tagged(oldest, FULL) {
                let accepts_any = filter == StealFilter::Any;
                if !is_join_job && !accepts_any {
                    return None;
                }
                let taken = tagged(oldest, TAKEN);
                let claimed =
                    slot.state
                        .compare_exchange(state, taken, Ordering::Acquire, Ordering::Relaxed);
                if claimed.is_err() {
                    continue;
                }
                self.advance_top(oldest);
                // SAFETY: the exchange above has claimed the value.
                let value = unsafe { slot.take() };
                // Release: the owner refills the slot only after the read.
                slot.state.store(EMPTY, Ordering::Release);
                return Some(value);
            }
            if state == tagged(oldest, TAKEN) {
                self.advance_top(oldest);
            } else if self.top.load(Ordering::Acquire) == oldest {
                return None;
            }
        }
    }

    /// Advances `top` past this position, unless another thread has.
    fn advance_top(&self, position: usize) {
        let next = position.wrapping_add(1);
        let top = &self.top;
        let _ = top.compare_exchange(position, next, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn len(&self) -> usize {
        let bottom = self.bottom.load(Ordering::Acquire);
        let top = self.top.load(Ordering::Acquire);
        let between = bottom.wrapping_sub(top);
        // A difference above the capacity is a negative one: after `bottom` was read, a thief has
        // advanced `top` past a later push, or past a value that the owner tried to pop.
        let in_ring = if between > self.slots.len() {
            0
        } else {
            between
        };
        in_ring + self.overflow_len.load(Ordering::Acquire)
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            // A swap instead of a load: loom does not model the ordering of `Arc`'s count, and a
            // read-modify-write always reads the newest state.
            if is_full(slot.state.swap(EMPTY, Ordering::Acquire)) {
                // SAFETY: no owner and no thief is left.
                drop(unsafe { slot.take() });
            }
        }
    }
}

/// The owner's end of the deque, used by one thread at a time (it is not `Sync`).
pub(super) struct Deque<T> {
    inner: Arc<Inner<T>>,
    order: LocalOrder,
    owner: PhantomData<Cell<()>>,
}

impl<T: Send + DequeItem> Deque<T> {
    pub(super) fn new(order: LocalOrder) -> Self {
        Self::with_capacity(order, CAPACITY)
    }

    fn with_capacity(order: LocalOrder, capacity: usize) -> Self {
        Self {
            inner: Arc::new(Inner::new(capacity)),
            order,
            owner: PhantomData,
        }
    }

    #[inline]
    pub(super) fn push(&self, value: T) {
        let inner = &*self.inner;
        let bottom = inner.bottom.load(Ordering::Relaxed);
        match inner.slot(bottom) {
            Some(slot) if slot.state.load(Ordering::Acquire) == EMPTY && !inner.has_overflow() => {
                let tag = if value.is_join_job() {
                    FULL_JOIN_JOB
                } else {
                    FULL
                };
                // SAFETY: this is the owner, and the slot was read as empty.
                unsafe { slot.fill(value) };
                // Release: a thief that sees the state sees the value.
                slot.state.store(tagged(bottom, tag), Ordering::Release);
                let next = bottom.wrapping_add(1);
                inner.bottom.store(next, Ordering::Release);
            }
            _ => inner.with_overflow(|list| list.push_back(value)),
        }
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        match self.order {
            LocalOrder::Lifo => self.pop_newest(),
            LocalOrder::Fifo => self.inner.steal(StealFilter::Any),
        }
    }

    /// Returns whether the newest value is a join job.
    #[inline]
    pub(super) fn newest_is_join_job(&self) -> bool {
        let inner = &*self.inner;
        if inner.has_overflow() {
            return inner.with_overflow(|list| list.back().is_some_and(T::is_join_job));
        }
        let newest = inner.bottom.load(Ordering::Relaxed).wrapping_sub(1);
        let slot = inner.slot(newest);
        slot.is_some_and(|slot| {
            // The position too: a slot that a thief has emptied may have a value of an earlier lap.
            slot.state.load(Ordering::Relaxed) == tagged(newest, FULL_JOIN_JOB)
        })
    }

    /// Pops the newest value, whatever the order.
    #[inline]
    pub(super) fn pop_newest(&self) -> Option<T> {
        let inner = &*self.inner;
        if inner.has_overflow() {
            if let newest @ Some(_) = inner.with_overflow(VecDeque::pop_back) {
                return newest;
            }
        }
        let bottom = inner.bottom.load(Ordering::Relaxed);
        let newest = bottom.wrapping_sub(1);
        let slot = inner.slot(newest)?;
        // Stored before the claim: a thread that then finds the slot empty does not count it as queued.
        inner.bottom.store(newest, Ordering::Relaxed);
        if !Self::claim(slot, newest) {
            inner.bottom.store(bottom, Ordering::Relaxed);
            return None;
        }
        // SAFETY: claimed; and only the owner, which is this thread, fills an empty slot.
        Some(unsafe { slot.take() })
    }

    #[inline]
    fn claim(slot: &Slot<T>, position: usize) -> bool {
        let state = slot.state.load(Ordering::Relaxed);
        // One comparison for both tags of a full slot: they differ in this bit only.
        if state | (FULL ^ FULL_JOIN_JOB) != tagged(position, FULL_JOIN_JOB) {
            return false;
        }
        slot.state
            .compare_exchange(state, EMPTY, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.inner.len() == 0
    }

    pub(super) fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.inner))
    }
}

/// The thieves' end of the deque.
#[derive(Clone)]
pub(super) struct Stealer<T>(Arc<Inner<T>>);

impl<T: Send + DequeItem> Stealer<T> {
    /// Steals the oldest value.
    pub(super) fn steal(&self) -> Option<T> {
        self.0.steal(StealFilter::Any)
    }

    /// Steals the oldest value if it is a join job.
    pub(super) fn steal_join_job(&self) -> Option<T> {
        self.0.steal(StealFilter::JoinJob)
    }

    /// Returns whether the oldest value is a join job; a hint.
    pub(super) fn has_join_job(&self) -> bool {
        let oldest = self.0.top.load(Ordering::Acquire);
        let slot = self.0.slot(oldest);
        slot.is_some_and(|slot| slot.state.load(Ordering::Acquire) == tagged(oldest, FULL_JOIN_JOB))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: DequeItem> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
impl DequeItem for u32 {
    fn is_join_job(&self) -> bool {
        self % 2 == 1
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::{Deque, DequeItem, LocalOrder};

    impl DequeItem for Arc<()> {
        fn is_join_job(&self) -> bool {
            false
        }
    }

    fn filled(order: LocalOrder) -> Deque<u32> {
        let deque = Deque::with_capacity(order, 4);
        (0..6).for_each(|value| deque.push(value));
        assert_eq!(deque.stealer().len(), 6);
        deque
    }

    fn drained(deque: &Deque<u32>) -> Vec<u32> {
        std::iter::from_fn(|| deque.pop()).collect()
    }

    #[test]
    fn the_owner_takes_the_newest_and_thieves_the_oldest() {
        let deque = filled(LocalOrder::Lifo);
        assert_eq!(deque.stealer().steal(), Some(0));
        assert_eq!(drained(&deque), [5, 4, 3, 2, 1]);
        assert!(deque.is_empty());
    }

    #[test]
    fn in_async_mode_all_take_the_oldest() {
        let deque = filled(LocalOrder::Fifo);
        assert_eq!(deque.stealer().steal(), Some(0));
        assert_eq!(drained(&deque), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn thieves_go_on_from_the_ring_to_the_overflow_list() {
        let deque = filled(LocalOrder::Lifo);
        let stealer = deque.stealer();
        let stolen: Vec<u32> = std::iter::from_fn(|| stealer.steal()).collect();
        assert_eq!(stolen, [0, 1, 2, 3, 4, 5]);
        // The ring starts over in its middle.
        (6..9).for_each(|value| deque.push(value));
        assert_eq!(drained(&deque), [8, 7, 6]);
    }

    #[test]
    fn a_thief_that_wants_a_join_job_takes_nothing_else() {
        let deque = filled(LocalOrder::Lifo);
        let stealer = deque.stealer();
        for even in [0, 2, 4] {
            assert_eq!(stealer.steal_join_job(), None);
            assert_eq!(stealer.steal(), Some(even));
            assert_eq!(stealer.steal_join_job(), Some(even + 1));
        }
        assert_eq!(stealer.steal_join_job(), None);
    }

    #[test]
    fn values_that_were_not_taken_are_dropped_with_the_deque() {
        let value = Arc::new(());
        let deque = Deque::with_capacity(LocalOrder::Lifo, 4);
        (0..6).for_each(|_| deque.push(Arc::clone(&value)));
        drop(deque);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[cfg(test)]
mod models {
    use super::{Deque, LocalOrder, Stealer};
    use crate::sync::{model, thread};

    fn thief(stealer: Stealer<u32>) -> thread::JoinHandle<Option<u32>> {
        let thief = thread::Builder::new().spawn(move || stealer.steal());
        thief.unwrap()
    }

    /// Returns the sum of what the owner pops and the thieves have stolen.
    fn total(
        deque: &Deque<u32>,
        thieves: impl IntoIterator<Item = thread::JoinHandle<Option<u32>>>,
    ) -> u32 {
        let mut total = 0;
        while let Some(own) = deque.pop() {
            total += own;
        }
        let stolen = thieves
            .into_iter()
            .filter_map(|thief| thief.join().unwrap());
        total + stolen.sum::<u32>()
    }

    #[test]
    fn owner_and_thief_take_each_value_once() {
        model(|| {
            let deque = Deque::with_capacity(LocalOrder::Lifo, 2);
            let thief = thief(deque.stealer());
            deque.push(1);
            deque.push(2);
            assert_eq!(total(&deque, [thief]), 3);
        });
    }

    #[test]
    fn thieves_take_each_value_once() {
        model(|| {
            let deque = Deque::with_capacity(LocalOrder::Lifo, 2);
            deque.push(1);
            deque.push(2);
            let thieves = [thief(deque.stealer()), thief(deque.stealer())];
            assert_eq!(total(&deque, thieves), 3);
        });
    }

    #[test]
    fn a_reused_slot_does_not_pass_for_a_join_job() {
        model(|| {
            let deque = Deque::with_capacity(LocalOrder::Lifo, 2);
            let stealer = deque.stealer();
            let thief = thread::Builder::new().spawn(move || stealer.steal_join_job());
            deque.push(1);
            let own = deque.pop().unwrap_or(0);
            deque.push(2);
            let stolen = thief.unwrap().join().unwrap();
            assert!(stolen.is_none_or(|job| job == 1));
            assert_eq!(stolen.unwrap_or(0) + own, 1);
            assert_eq!(deque.pop(), Some(2));
        });
    }

    #[test]
    fn a_slot_is_reused_only_after_its_thief_has_read_it() {
        model(|| {
            let deque = Deque::with_capacity(LocalOrder::Lifo, 1);
            let stealer = deque.stealer();
            deque.push(1);
            let owner = thread::Builder::new().spawn(move || {
                deque.push(2);
                let own = deque.pop().unwrap_or(0);
                deque.push(4);
                own + total(&deque, [])
            });
            let stolen = stealer.steal().unwrap_or(0);
            assert_eq!(stolen + owner.unwrap().join().unwrap(), 7);
        });
    }

    #[test]
    fn a_thief_can_steal_what_it_has_counted() {
        model(|| {
            let deque = Deque::with_capacity(LocalOrder::Lifo, 2);
            let stealer = deque.stealer();
            let thief = thread::Builder::new().spawn(move || {
                // No other thread takes anything here.
                (stealer.len() > 0).then(|| stealer.steal().expect("it was counted"))
            });
            deque.push(1);
            let found = thief.unwrap().join().unwrap();
            assert_eq!(found.unwrap_or_else(|| deque.pop().unwrap()), 1);
        });
    }
}
