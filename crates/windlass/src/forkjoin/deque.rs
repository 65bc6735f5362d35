//! The deque of a worker: its owner works at one end, thieves take from the other.
//!
//! A ring of slots. Each has a `state`, which alone says who may touch its value: *empty*, the owner of
//! the deque may fill it; *full*, whoever changes the state has the value; *taken*, a thief is reading
//! it. Full and taken go with the position of the value, which counts on from lap to lap, so a thief
//! that was late does not take the value of another lap for its own. A full slot also says whether
//! its value is a *part*: some thieves want nothing else, and who has not claimed a value cannot look at
//! it.
//!
//! The owner fills the slot at `bottom`, and empties the one before it. Thieves take the slot at `top`;
//! whoever finds it taken moves `top` on. If thieves have the newest value, they have all.
//!
//! A push costs no exchange, a pop one. What does not fit into the ring spills over into a list under a
//! lock.

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

use super::job::Work;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, UnsafeCell, mutant};

/// The order in which a worker takes what it has forked itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalOrder {
    /// The newest first: best for tasks that are joined.
    Lifo,
    /// The oldest first: best for tasks that nobody joins.
    Fifo,
}

/// How many values fit into the ring; in models, so few that it overflows.
const ROOM: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

const EMPTY: usize = 0;

const fn full(position: usize, is_join_job: bool) -> usize {
    position << 2 | if is_join_job { 3 } else { 1 }
}

const fn taken(position: usize) -> usize {
    position << 2 | 2
}

const fn is_full(state: usize) -> bool {
    state & 1 == 1
}

/// What thieves may choose by.
pub(super) trait Choice {
    /// Whether this is a part of the work that its worker is at.
    fn is_join_job(&self) -> bool;
}

/// What a thief is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Anything,
    JoinJob,
}

/// On a cache line of its own, if it holds a piece of work.
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
    /// The caller owns the deque, and has seen the slot empty.
    #[inline]
    unsafe fn fill(&self, value: T) {
        self.value.with_mut(|place| {
            // SAFETY: nobody else touches the value of an empty slot.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
    }

    /// # Safety
    ///
    /// The caller has changed the state from full, and to nothing that lets others at the value.
    #[inline]
    unsafe fn take(&self) -> T {
        self.value.with(|place| {
            // SAFETY: a full slot has a value, and it is the caller's.
            unsafe { place.cast::<T>().read() }
        })
    }
}

/// A number that its neighbours do not slow down.
#[repr(align(128))]
struct CacheLine(AtomicUsize);

struct Inner<T> {
    /// The position that thieves take next.
    top: CacheLine,
    /// The position that the owner fills next.
    bottom: CacheLine,
    /// As many as a power of two, or none.
    slots: Box<[Slot<T>]>,
    /// How many values are in the list. While there are any, new ones go there too: they are all
    /// newer than those in the ring.
    spilled: AtomicUsize,
    list: Mutex<VecDeque<T>>,
}

// SAFETY: values change hands with the state of their slot, as said above.
unsafe impl<T: Send> Send for Inner<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Sync for Inner<T> {}

impl<T: Choice> Inner<T> {
    fn new(room: usize) -> Self {
        Self {
            top: CacheLine(AtomicUsize::new(0)),
            bottom: CacheLine(AtomicUsize::new(0)),
            slots: (0..room).map(|_| Slot::new()).collect(),
            spilled: AtomicUsize::new(0),
            list: Mutex::new(VecDeque::new()),
        }
    }

    #[inline]
    fn slot(&self, position: usize) -> Option<&Slot<T>> {
        self.slots.get(position & self.slots.len().wrapping_sub(1))
    }

    #[inline]
    fn has_spilled(&self) -> bool {
        self.spilled.load(Ordering::Acquire) != 0
    }

    #[cold]
    fn with_list<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let mut list = self.list.lock();
        let result = change(&mut list);
        self.spilled.store(list.len(), Ordering::Release);
        result
    }

    fn steal(&self, wanted: Wanted) -> Option<T> {
        match self.steal_from_ring(wanted) {
            None if self.has_spilled() => self.with_list(|list| {
                let is_wanted = |oldest: &T| wanted == Wanted::Anything || oldest.is_join_job();
                list.front()
                    .is_some_and(is_wanted)
                    .then(|| list.pop_front())?
            }),
            stolen => stolen,
        }
    }

    fn steal_from_ring(&self, wanted: Wanted) -> Option<T> {
        loop {
            let oldest = self.top.0.load(Ordering::Acquire);
            let slot = self.slot(oldest)?;
            let state = slot.state.load(Ordering::Acquire);
            let is_join_job = state == full(oldest, true);
            if is_join_job || state == full(oldest, false) {
                // Mutant: a thief gets what it is not after.
                let takes_all = mutant!("deque_gives_anything", true, wanted == Wanted::Anything);
                if !is_join_job && !takes_all {
                    return None;
                }
                let taken = taken(oldest);
                let claimed =
                    slot.state
                        .compare_exchange(state, taken, Ordering::Acquire, Ordering::Relaxed);
                if claimed.is_err() {
                    continue;
                }
                self.pass(oldest);
                // SAFETY: claimed.
                let value = unsafe { slot.take() };
                // Mutant: the owner may write while this thread reads.
                let order = mutant!("deque_empties_early", Ordering::Relaxed, Ordering::Release);
                slot.state.store(EMPTY, order);
                return Some(value);
            }
            if state == taken(oldest) {
                self.pass(oldest);
            } else if self.top.0.load(Ordering::Acquire) == oldest {
                return None;
            }
        }
    }

    /// Moves `top` past this position, unless somebody has.
    fn pass(&self, position: usize) {
        let next = position.wrapping_add(1);
        let top = &self.top.0;
        let _ = top.compare_exchange(position, next, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn len(&self) -> usize {
        let bottom = self.bottom.0.load(Ordering::Acquire);
        let top = self.top.0.load(Ordering::Acquire);
        let between = bottom.wrapping_sub(top);
        // Less than none, that is far more than fit: a thief has passed what was pushed after `bottom`
        // was read, or what the owner is about to miss.
        let in_ring = if between > self.slots.len() {
            0
        } else {
            between
        };
        in_ring + self.spilled.load(Ordering::Acquire)
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            // Not a load: the models do not see what the count of an `Arc` orders, and an exchange finds
            // the newest state whatever they see.
            if is_full(slot.state.swap(EMPTY, Ordering::Acquire)) {
                // SAFETY: nobody else is left.
                drop(unsafe { slot.take() });
            }
        }
    }
}

/// The owner's side. It stays with one thread at a time.
pub(super) struct Deque<T = Work> {
    inner: Arc<Inner<T>>,
    order: LocalOrder,
    owner: PhantomData<Cell<()>>,
}

impl<T: Send + Choice> Deque<T> {
    pub(super) fn new(order: LocalOrder) -> Self {
        Self::with_room(order, ROOM)
    }

    fn with_room(order: LocalOrder, room: usize) -> Self {
        Self {
            inner: Arc::new(Inner::new(room)),
            order,
            owner: PhantomData,
        }
    }

    #[inline]
    pub(super) fn push(&self, value: T) {
        let inner = &*self.inner;
        let bottom = inner.bottom.0.load(Ordering::Relaxed);
        match inner.slot(bottom) {
            Some(slot) if slot.state.load(Ordering::Acquire) == EMPTY && !inner.has_spilled() => {
                let is_join_job = value.is_join_job();
                // SAFETY: this is the owner, and the slot is empty.
                unsafe { slot.fill(value) };
                // Mutant: a thief may see the state and not the value.
                let order = mutant!("deque_fills_relaxed", Ordering::Relaxed, Ordering::Release);
                slot.state.store(full(bottom, is_join_job), order);
                let next = bottom.wrapping_add(1);
                inner.bottom.0.store(next, Ordering::Release);
            }
            _ => inner.with_list(|list| list.push_back(value)),
        }
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        match self.order {
            LocalOrder::Lifo => self.pop_newest(),
            LocalOrder::Fifo => self.inner.steal(Wanted::Anything),
        }
    }

    #[inline]
    fn pop_newest(&self) -> Option<T> {
        let inner = &*self.inner;
        if inner.has_spilled() {
            if let spilled @ Some(_) = inner.with_list(VecDeque::pop_back) {
                return spilled;
            }
        }
        let bottom = inner.bottom.0.load(Ordering::Relaxed);
        let newest = bottom.wrapping_sub(1);
        let slot = inner.slot(newest)?;
        // Before the claim: who finds the slot empty does not take the deque for filled.
        inner.bottom.0.store(newest, Ordering::Relaxed);
        if !Self::claim(slot, newest) {
            inner.bottom.0.store(bottom, Ordering::Relaxed);
            return None;
        }
        // SAFETY: claimed; and only the owner, which is here, fills an empty slot.
        Some(unsafe { slot.take() })
    }

    #[inline]
    fn claim(slot: &Slot<T>, position: usize) -> bool {
        let state = slot.state.load(Ordering::Relaxed);
        if state | 2 != full(position, true) {
            return false;
        }
        if mutant!("deque_owner_claims_nothing") {
            // Mutant: a thief may have claimed it meanwhile.
            slot.state.store(EMPTY, Ordering::Release);
            return true;
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

/// The thieves' side.
#[derive(Clone)]
pub(super) struct Stealer<T = Work>(Arc<Inner<T>>);

impl<T: Send + Choice> Stealer<T> {
    /// Takes the oldest.
    pub(super) fn steal(&self) -> Option<T> {
        self.0.steal(Wanted::Anything)
    }

    /// Takes the oldest, if it is a part.
    pub(super) fn steal_join_job(&self) -> Option<T> {
        self.0.steal(Wanted::JoinJob)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: Choice> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
impl Choice for u32 {
    fn is_join_job(&self) -> bool {
        self % 2 == 1
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::{Choice, Deque, LocalOrder};

    impl Choice for Arc<()> {
        fn is_join_job(&self) -> bool {
            false
        }
    }

    fn filled(order: LocalOrder) -> Deque<u32> {
        let deque = Deque::with_room(order, 4);
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
    fn thieves_go_on_from_the_ring_to_the_list() {
        let deque = filled(LocalOrder::Lifo);
        let stealer = deque.stealer();
        let stolen: Vec<u32> = std::iter::from_fn(|| stealer.steal()).collect();
        assert_eq!(stolen, [0, 1, 2, 3, 4, 5]);
        // The ring starts over somewhere in its middle.
        (6..9).for_each(|value| deque.push(value));
        assert_eq!(drained(&deque), [8, 7, 6]);
    }

    #[test]
    fn who_wants_a_part_takes_nothing_else() {
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
    fn what_nobody_has_taken_goes_with_the_deque() {
        let value = Arc::new(());
        let deque = Deque::with_room(LocalOrder::Lifo, 4);
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

    /// What everybody has got, in the end.
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
            let deque = Deque::with_room(LocalOrder::Lifo, 2);
            let thief = thief(deque.stealer());
            deque.push(1);
            deque.push(2);
            assert_eq!(total(&deque, [thief]), 3);
        });
    }

    #[test]
    fn thieves_take_each_value_once() {
        model(|| {
            let deque = Deque::with_room(LocalOrder::Lifo, 2);
            deque.push(1);
            deque.push(2);
            let thieves = [thief(deque.stealer()), thief(deque.stealer())];
            assert_eq!(total(&deque, thieves), 3);
        });
    }

    #[test]
    fn a_slot_that_was_used_again_gives_no_part_that_is_none() {
        model(|| {
            let deque = Deque::with_room(LocalOrder::Lifo, 2);
            let stealer = deque.stealer();
            let thief = thread::Builder::new().spawn(move || stealer.steal_join_job());
            deque.push(1);
            let own = deque.pop().unwrap_or(0);
            deque.push(2);
            let part = thief.unwrap().join().unwrap();
            assert!(part.is_none_or(|part| part == 1));
            assert_eq!(part.unwrap_or(0) + own, 1);
            assert_eq!(deque.pop(), Some(2));
        });
    }

    #[test]
    fn a_slot_is_used_again_when_its_thief_is_through() {
        model(|| {
            let deque = Deque::with_room(LocalOrder::Lifo, 1);
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
    fn a_thief_finds_what_it_has_been_told_of() {
        model(|| {
            let deque = Deque::with_room(LocalOrder::Lifo, 2);
            let stealer = deque.stealer();
            let looker = thread::Builder::new().spawn(move || {
                // Nobody else takes anything here.
                (stealer.len() > 0).then(|| stealer.steal().expect("it was seen"))
            });
            deque.push(1);
            let found = looker.unwrap().join().unwrap();
            assert_eq!(found.unwrap_or_else(|| deque.pop().unwrap()), 1);
        });
    }
}
