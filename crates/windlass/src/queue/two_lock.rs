//! A first-in-first-out queue with a lock at each end.
//!
//! Producers append to the *inbox* under the front lock. Consumers take from the *outbox* under
//! the back lock; when it is empty they take the front lock too and swap the two boxes, so the
//! locks meet once for a whole batch and producers and consumers hardly ever wait for each other.
//! The order is exact: everything in the outbox is older than everything in the inbox.
//!
//! Lock order: back, then front.
//!
//! What lies where, and why nobody sleeps past a wake-up:
//! - `takers` live with the inbox. A taker enlists under the front lock, having seen both boxes
//!   empty under both locks; a producer appends and signals under the front lock.
//! - `putters` live with the outbox. A putter enlists under the back lock, having seen the queue
//!   full under both locks; places become free under the back lock only.
//!
//! So each wait is decided and announced under the lock that its wake-up needs, and no pair of
//! atomics has to be ordered against each other.
//!
//! Waking a thread costs a hundred times what an element costs, so not every element wakes one.
//! A taker that was signalled is *on its way* until it has locked the queue again; as long as one
//! is, further elements signal more of them only as the backlog grows: at most one, and one more
//! for each time that it quadruples. Whoever arrives applies the same rule to what it leaves
//! behind. So while there is an element and a taker asleep, another taker is on its way: nothing
//! is left lying. The same holds for putters and places, one at a time.
//!
//! A swap moves the cache lines of the inbox from the producer's core to the consumer's, and the
//! producer's next element moves them back. For a batch of three that costs more than all the rest.
//! So a consumer that has used up a small batch *lingers* for some microseconds before it looks
//! at the inbox again: a producer at full speed has dozens of elements there by then, and one that
//! is just about to bring its next element need not wake anybody. While it lingers it counts as a
//! taker on its way. If it finds the outbox filled when it comes, whoever filled that has signalled
//! a sleeper for what was left, and that one comes by the inbox.
//!
//! A taker that finds nothing *gives way* once before it sleeps: it lets the other threads of its
//! core run. A producer is often among them, since systems like to wake a thread on the core of whoever
//! woke it; it then fills the inbox for as long as its turn lasts, and has nobody to wake. A taker
//! that gives way promises nothing to anybody: who sleeps is signalled as ever.
//!
//! Both are done only while they pay; see [`AdaptiveSpin`].

use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::blocking::timed;
use super::lock::{QueueLock, misused};
use super::sequence::Sequence;
use super::{BlockingQueue, CapacityError, PutError, Waiting};
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{AdaptiveSpin, Deadline, MutexGuard, mutant, spin_until, yield_now};
use crate::waiting::{Wait, WaitQueue, Wakeup, wait};

/// The two ends lie apart, so that producers and consumers do not share a cache line.
#[derive(Debug)]
pub(super) struct TwoLock<S> {
    back: CachePadded<BackEnd<S>>,
    front: CachePadded<FrontEnd<S>>,
    bound: Bound,
}

// In this and the next types the order of the fields is that in memory: what every element changes
// comes first and lies together, so that few cache lines go from core to core with it.
#[derive(Debug)]
#[repr(C)]
struct FrontEnd<S> {
    /// Elements in the inbox as last left under the front lock: for code that runs under both locks
    /// and asks for the length.
    shown_inbox_len: AtomicUsize,
    /// Whether a consumer lingers: it sees what comes, and nobody needs to be woken.
    has_lookout: AtomicBool,
    lock: QueueLock<Front<S>>,
    /// The bound, or [`UNBOUNDED`]. Written under both locks, and so exact for whoever has one.
    capacity: AtomicUsize,
}

#[derive(Debug)]
#[repr(C)]
struct BackEnd<S> {
    /// Elements in the outbox. Raised under both locks, lowered under the back lock: so whoever
    /// holds the front lock reads a number that can only be too high by what is taken meanwhile,
    /// and a producer never exceeds the bound.
    outbox_len: AtomicUsize,
    lock: QueueLock<Back<S>>,
}

/// Whether the bound can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Fixed,
    Changeable,
}

/// Stands for "no bound".
const UNBOUNDED: usize = usize::MAX;

#[derive(Debug)]
#[repr(C)]
struct Front<S> {
    /// As long as the inbox is shorter there is room, without a look at the outbox: its length
    /// lies on a line that consumers write to with each element. What leaves the outbox makes the
    /// true figure larger; a swap and a new bound, which can make it smaller, set it anew.
    roomy_until: usize,
    inbox: S,
    takers: WaitQueue,
    /// Takers that were signalled and have not locked the queue since.
    takers_coming: usize,
}

#[derive(Debug)]
#[repr(C)]
struct Back<S> {
    outbox: S,
    putters: WaitQueue,
    /// Putters that were signalled and have not locked the queue since.
    putters_coming: usize,
    lingering: Lingering,
    yielding: AdaptiveSpin,
}

/// When consumers linger: after a small batch, while that pays.
#[derive(Debug, Default)]
struct Lingering {
    /// Whether the last batch was a small one that somebody is to linger after.
    is_due: bool,
    /// Batches of a single element in a row.
    singles: u32,
    spin: AdaptiveSpin,
}

impl Lingering {
    fn after_batch(&mut self, len: usize) {
        self.is_due = len < SMALL_BATCH && self.spin.should_spin();
        self.singles = if len == 1 {
            self.singles.saturating_add(1)
        } else {
            0
        };
    }

    /// How often to look at the inbox meanwhile.
    fn looks(&self) -> u32 {
        if self.singles < SOME { SELDOM } else { OFTEN }
    }
}

/// How often a consumer that lingers looks at the inbox. Seldom where elements come thick and fast:
/// by the first look, after some microseconds, there are dozens. Often after some that came one by
/// one: their producer may wait for each before it brings the next.
const SELDOM: u32 = 4;
const OFTEN: u32 = 24;
const SOME: u32 = 4;

/// A batch of fewer elements makes the next look at the inbox wait.
const SMALL_BATCH: usize = 32;

impl<S> Front<S> {
    /// Signals a taker for what is queued, unless enough of them are on their way.
    #[inline]
    fn signal_taker(&mut self, queued: usize) -> Option<Wakeup> {
        if self.takers.is_empty() || queued == 0 || self.takers_coming >= most_coming(queued) {
            return None;
        }
        self.takers_coming += 1;
        self.takers.signal_one()
    }
}

/// How many takers may be on their way to so many elements.
fn most_coming(queued: usize) -> usize {
    1 + queued.ilog2() as usize / 2
}

/// How a taker comes to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    Anew,
    HavingGivenWay,
    Signalled,
}

type FrontGuard<'a, S> = MutexGuard<'a, Front<S>>;
type BackGuard<'a, S> = MutexGuard<'a, Back<S>>;

impl<S: Sequence<Item: Send> + Send> TwoLock<S> {
    /// Makes a queue of two boxes: the inbox, with what is queued at first, and one that is empty.
    pub(super) fn new(boxes: [S; 2], capacity: Option<usize>, bound: Bound) -> Self {
        let [inbox, outbox] = boxes;
        let queued = inbox.len();
        let front = Front {
            inbox,
            roomy_until: capacity.unwrap_or(UNBOUNDED),
            takers: WaitQueue::default(),
            takers_coming: 0,
        };
        let back = Back {
            outbox,
            putters: WaitQueue::default(),
            putters_coming: 0,
            lingering: Lingering::default(),
            yielding: AdaptiveSpin::default(),
        };
        Self {
            back: CachePadded::new(BackEnd {
                lock: QueueLock::new(back),
                outbox_len: AtomicUsize::new(0),
            }),
            front: CachePadded::new(FrontEnd {
                lock: QueueLock::new(front),
                shown_inbox_len: AtomicUsize::new(queued),
                capacity: AtomicUsize::new(capacity.unwrap_or(UNBOUNDED)),
                has_lookout: AtomicBool::new(false),
            }),
            bound,
        }
    }

    /// Appends without looking at the bound.
    pub(super) fn append(&self, item: S::Item) {
        let mut front = self.front.lock.lock();
        let wakeup = self.push(&mut front, || item);
        drop(front);
        drop(wakeup);
    }

    /// Places an element that is made in its place; gives the maker back if there is no room.
    #[inline(always)]
    pub(super) fn offer_with<M: FnOnce() -> S::Item>(&self, make: M) -> Result<(), M> {
        let Some(mut front) = self.front.lock.lock_unless_visiting() else {
            misused(make())
        };
        if front.inbox.len() >= front.roomy_until && !self.has_room_after_all(&mut front) {
            return Err(make);
        }
        let wakeup = self.push(&mut front, make);
        drop(front);
        drop(wakeup);
        Ok(())
    }

    /// Appends, and signals a taker if one is needed.
    #[inline(always)]
    fn push(&self, front: &mut Front<S>, make: impl FnOnce() -> S::Item) -> Option<Wakeup> {
        front.inbox.push_with(make);
        let len = front.inbox.len();
        self.front.shown_inbox_len.store(len, Ordering::Relaxed);
        if self.front.has_lookout.load(Ordering::Relaxed) {
            return None;
        }
        // What is in the outbox counts for little: a taker that works on it comes by here.
        front.signal_taker(len)
    }

    fn put_by(&self, item: S::Item, deadline: Deadline) -> Result<(), PutError<S::Item>> {
        if wait_interrupted() {
            return Err(PutError::Interrupted(item));
        }
        // Most calls find room, and need the front lock only.
        let Err(refused) = self.offer(item) else {
            return Ok(());
        };
        let item = refused.into_inner();
        let mut back = self.back.lock.lock();
        loop {
            let mut front = self.front.lock.lock();
            let room = self.room(&front);
            if room > 0 {
                let taker = self.push(&mut front, || item);
                drop(front);
                // Whoever comes first through the door holds it open for the next.
                let putter = self.signal_putter(&mut back, room - 1);
                drop(back);
                drop((taker, putter));
                return Ok(());
            }
            drop(front);
            let how = if deadline.has_passed() {
                if wait_interrupted() {
                    Wait::Interrupted
                } else {
                    Wait::TimedOut
                }
            } else {
                if mutant!("putter_enlists_late") {
                    drop(back); // A place that becomes free now is signalled to nobody.
                    back = self.back.lock.lock();
                }
                let waited = wait(
                    self.back.lock.mutex(),
                    back,
                    |back| &mut back.putters,
                    (),
                    deadline,
                );
                back = waited.guard;
                waited.how
            };
            match how {
                // Mutant: one putter stays on its way for ever, and no other is signalled.
                Wait::Signalled => back.putters_coming -= mutant!("putter_keeps_its_token", 0, 1),
                Wait::TimedOut => return Err(PutError::TimedOut(item)),
                Wait::Interrupted => return Err(PutError::Interrupted(item)),
            }
        }
    }

    /// Locks the back; where the outbox is empty after a small batch, a moment later, in which
    /// this thread looks out for elements.
    #[inline(always)]
    fn lock_back(&self) -> BackGuard<'_, S> {
        let back = self.back.lock.lock();
        if back.outbox.len() > 0 || !back.lingering.is_due {
            return back;
        }
        self.linger(back)
    }

    #[cold]
    fn linger<'a>(&'a self, mut back: BackGuard<'a, S>) -> BackGuard<'a, S> {
        back.lingering.is_due = false;
        let looks = back.lingering.looks();
        drop(back);
        let front = &self.front;
        front.has_lookout.store(true, Ordering::Relaxed);
        let something_came = || front.shown_inbox_len.load(Ordering::Relaxed) > 0;
        spin_until(looks, something_came);
        // Whoever has seen the lookout has left its element before this thread looks at the inbox,
        // and whoever comes after that does not see it: the front lock orders both.
        let stays = mutant!("lookout_is_never_over");
        front.has_lookout.store(stays, Ordering::Relaxed);
        let mut back = self.back.lock.lock();
        back.lingering.spin.record(something_came());
        back
    }

    /// Takes the oldest element. If there is none, goes on with both locks, under which that is
    /// so.
    ///
    /// A thread that was signalled, for whose sake others were not, looks at both boxes and
    /// signals the next one for what it leaves behind. So does whoever swaps them.
    ///
    /// The locks are not given back in the place of an element: in a type that can be either, the
    /// element is moved in the odd portions that both have in common, and each move stalls.
    #[inline(always)]
    fn take_now<'a>(
        &'a self,
        comes: Comes,
        if_empty: impl FnOnce(BackGuard<'a, S>, FrontGuard<'a, S>),
    ) -> Option<S::Item> {
        let mut back = self.lock_back();
        if comes != Comes::Signalled && back.outbox.len() > 0 {
            return self.pop(back);
        }
        let mut front = self.front.lock.lock();
        if comes == Comes::Signalled {
            // Mutant: one taker stays on its way for ever, and no other is signalled.
            front.takers_coming -= mutant!("taker_keeps_its_token", 0, 1);
        }
        let is_filled = self.fill_outbox(&mut back, &mut front);
        if comes == Comes::HavingGivenWay {
            back.yielding.record(is_filled);
        }
        if !is_filled {
            if_empty(back, front);
            return None;
        }
        let left = back.outbox.len() - 1 + front.inbox.len();
        // Mutant: who arrives leaves the others asleep.
        let next = front.signal_taker(mutant!("taker_tells_nobody", 0, left));
        drop(front);
        let item = self.pop(back);
        drop(next);
        item
    }

    fn take_by(&self, deadline: Deadline) -> Result<Option<S::Item>, Interrupted> {
        if wait_interrupted() {
            return Err(Interrupted);
        }
        let mut comes = Comes::Anew;
        loop {
            let mut waited = Wait::Signalled;
            let item = self.take_now(comes, |mut back, mut front| {
                let has_time = comes == Comes::Anew && !deadline.has_passed();
                if has_time && back.yielding.should_spin() {
                    drop((back, front));
                    yield_now();
                    comes = Comes::HavingGivenWay;
                    return;
                }
                drop(back);
                if mutant!("taker_enlists_late") {
                    drop(front); // An element that comes now is signalled to nobody.
                    front = self.front.lock.lock();
                }
                waited = Self::await_element(&self.front.lock, front, deadline);
                comes = Comes::Signalled;
            });
            match waited {
                _ if item.is_some() => return Ok(item),
                Wait::Signalled => {}
                Wait::TimedOut => return Ok(None),
                Wait::Interrupted => return Err(Interrupted),
            }
        }
    }

    fn await_element(
        lock: &QueueLock<Front<S>>,
        front: FrontGuard<'_, S>,
        deadline: Deadline,
    ) -> Wait {
        if deadline.has_passed() {
            return if wait_interrupted() {
                Wait::Interrupted
            } else {
                Wait::TimedOut
            };
        }
        wait(lock.mutex(), front, |front| &mut front.takers, (), deadline).how
    }

    /// Makes sure that the oldest element is in the outbox; false if there is none.
    fn fill_outbox(&self, back: &mut Back<S>, front: &mut Front<S>) -> bool {
        if back.outbox.len() == 0 && front.inbox.len() > 0 {
            std::mem::swap(&mut back.outbox, &mut front.inbox);
            self.front.shown_inbox_len.store(0, Ordering::Relaxed);
            // Mutant: producers do not see what the swap has moved.
            let moved = mutant!("swap_hides_the_outbox", 0, back.outbox.len());
            self.back.outbox_len.store(moved, Ordering::Release);
            // Mutant: producers count on room that the moved elements take.
            front.roomy_until = mutant!(
                "swap_leaves_the_old_room",
                front.roomy_until,
                self.places_beside_outbox()
            );
            let batch = back.outbox.len();
            back.lingering.after_batch(batch);
        }
        back.outbox.len() > 0
    }

    /// Takes the oldest element out of the outbox and gives the lock up.
    ///
    /// The element is never taken out of its `Option` on the way: each time it were, it would be
    /// copied.
    #[inline(always)]
    fn pop(&self, mut back: BackGuard<'_, S>) -> Option<S::Item> {
        let item = back.outbox.pop();
        self.back
            .outbox_len
            .store(back.outbox.len(), Ordering::Release);
        // Mutant: the place that becomes free is signalled to nobody.
        let is_told = back.putters_coming > 0 || mutant!("pop_signals_no_putter");
        if !is_told && !back.putters.is_empty() {
            self.let_putter_in(back);
        }
        item
    }

    /// Signals a putter if there is room, and gives the lock up.
    #[cold]
    fn let_putter_in(&self, mut back: BackGuard<'_, S>) {
        let room = self.room(&self.front.lock.lock());
        let wakeup = self.signal_putter(&mut back, room);
        drop(back);
        drop(wakeup);
    }

    /// Signals a putter if there is room, unless one is on its way: that one signals the next.
    fn signal_putter(&self, back: &mut Back<S>, room: usize) -> Option<Wakeup> {
        if room == 0 || back.putters_coming > 0 || back.putters.is_empty() {
            return None;
        }
        back.putters_coming += 1;
        back.putters.signal_one()
    }

    /// Looks at the outbox, from which elements may have left since the last look.
    #[cold]
    fn has_room_after_all(&self, front: &mut Front<S>) -> bool {
        front.roomy_until = self.places_beside_outbox();
        front.inbox.len() < front.roomy_until
    }

    /// How many more elements there is room for. A queue whose bound was lowered may hold too many.
    fn room(&self, front: &Front<S>) -> usize {
        self.places_beside_outbox()
            .saturating_sub(front.inbox.len())
    }

    /// How many places the bound leaves to the inbox; to be called under the front lock.
    fn places_beside_outbox(&self) -> usize {
        match self.front.capacity.load(Ordering::Relaxed) {
            UNBOUNDED => usize::MAX,
            capacity => capacity.saturating_sub(self.back.outbox_len.load(Ordering::Acquire)),
        }
    }

    /// Runs `f`, which may be user code, on both ends; what it removed makes room for putters.
    fn with_both(
        &self,
        f: impl FnOnce(&mut Back<S>, &mut Front<S>) -> Vec<S::Item>,
    ) -> Vec<S::Item> {
        let mut back = self.back.lock.lock();
        let mut front = self.front.lock.lock();
        let removed = {
            let mut back = self.back.lock.visit(&mut back);
            f(&mut back, &mut self.front.lock.visit(&mut front))
        };
        self.back
            .outbox_len
            .store(back.outbox.len(), Ordering::Release);
        self.front
            .shown_inbox_len
            .store(front.inbox.len(), Ordering::Relaxed);
        // Mutant: the places that become free are signalled to nobody.
        let room = mutant!("removal_lets_nobody_in", 0, self.room(&front));
        drop(front);
        let wakeup = self.signal_putter(&mut back, room);
        drop(back);
        drop(wakeup);
        removed
    }
}

impl<S: Sequence<Item: Send> + Send> BlockingQueue<S::Item> for TwoLock<S> {
    #[inline(always)]
    fn offer(&self, item: S::Item) -> Result<(), PutError<S::Item>> {
        self.offer_with(|| item)
            .map_err(|make| PutError::Full(make()))
    }

    fn put(&self, item: S::Item) -> Result<(), PutError<S::Item>> {
        self.put_by(item, Deadline::Never)
    }

    fn offer_timeout(&self, item: S::Item, timeout: Duration) -> Result<(), PutError<S::Item>> {
        self.put_by(item, timed(timeout))
    }

    #[inline]
    fn poll(&self) -> Option<S::Item> {
        self.take_now(Comes::Anew, |_, _| ())
    }

    fn take(&self) -> Result<S::Item, Interrupted> {
        loop {
            if let Some(item) = self.take_by(Deadline::Never)? {
                return Ok(item);
            }
        }
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<S::Item>, Interrupted> {
        self.take_by(timed(timeout))
    }

    fn drain(&self, max: usize) -> Vec<S::Item> {
        self.with_both(|back, front| {
            let available = back.outbox.len() + front.inbox.len();
            let mut drained = Vec::with_capacity(max.min(available));
            while drained.len() < max {
                let Some(item) = back.outbox.pop().or_else(|| front.inbox.pop()) else {
                    break;
                };
                drained.push(item);
            }
            drained
        })
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&S::Item) -> bool) -> Option<S::Item> {
        let removed = self.with_both(|back, front| {
            let at = back
                .outbox
                .iter()
                .chain(front.inbox.iter())
                .position(wanted);
            let removed = at.and_then(|at| match at.checked_sub(back.outbox.len()) {
                None => back.outbox.remove(at),
                Some(at) => front.inbox.remove(at),
            });
            Vec::from_iter(removed)
        });
        removed.into_iter().next()
    }

    fn retain(&self, keep: &mut dyn FnMut(&S::Item) -> bool) -> Vec<S::Item> {
        self.with_both(|back, front| {
            // All verdicts first: a predicate that panics has changed nothing.
            let verdicts: Vec<bool> = back
                .outbox
                .iter()
                .chain(front.inbox.iter())
                .map(keep)
                .collect();
            let mut verdicts = verdicts.into_iter();
            let mut removed = back.outbox.retain(&mut verdicts);
            removed.append(&mut front.inbox.retain(&mut verdicts));
            removed
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&S::Item)) {
        let mut back = self.back.lock.lock();
        let mut front = self.front.lock.lock();
        let (back, front) = (
            self.back.lock.visit(&mut back),
            self.front.lock.visit(&mut front),
        );
        back.outbox.iter().chain(front.inbox.iter()).for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&S::Item)) {
        let mut back = self.back.lock.lock();
        let mut front = self.front.lock.lock();
        let (back, front) = (
            self.back.lock.visit(&mut back),
            self.front.lock.visit(&mut front),
        );
        let mut queued = back.outbox.iter().chain(front.inbox.iter());
        queued.next().into_iter().for_each(f);
    }

    fn drain_all(&self) -> Vec<S::Item> {
        self.drain(usize::MAX)
    }

    fn len(&self) -> usize {
        // Without the lock only for code that runs under it: nothing moves meanwhile.
        let front = self.front.lock.lock_unless_visiting();
        let inbox = self.front.shown_inbox_len.load(Ordering::Relaxed);
        let len = inbox + self.back.outbox_len.load(Ordering::Acquire);
        drop(front);
        len
    }

    fn remaining_capacity(&self) -> Option<usize> {
        let front = self.front.lock.lock_unless_visiting();
        let capacity = self.front.capacity.load(Ordering::Relaxed);
        let inbox = self.front.shown_inbox_len.load(Ordering::Relaxed);
        let queued = inbox + self.back.outbox_len.load(Ordering::Acquire);
        drop(front);
        (capacity != UNBOUNDED).then(|| capacity.saturating_sub(queued))
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        match (self.bound, capacity) {
            (Bound::Fixed, _) => return Err(CapacityError::NotResizable),
            (Bound::Changeable, 0) => return Err(CapacityError::Zero),
            (Bound::Changeable, _) => {}
        }
        let mut back = self.back.lock.lock();
        let mut front = self.front.lock.lock();
        let former = self.front.capacity.swap(capacity, Ordering::Relaxed);
        // Mutant: producers go by the old bound.
        front.roomy_until = mutant!(
            "resize_is_not_noticed",
            front.roomy_until,
            self.places_beside_outbox()
        );
        // Mutant: the new places are signalled to nobody.
        let room = mutant!("resize_lets_nobody_in", 0, self.room(&front));
        drop(front);
        let wakeup = self.signal_putter(&mut back, room);
        drop(back);
        drop(wakeup);
        Ok((former != UNBOUNDED).then_some(former))
    }

    fn waiting(&self) -> Option<Waiting> {
        let back = self.back.lock.lock();
        let takers = self.front.lock.lock().takers.len();
        Some(Waiting {
            takers,
            putters: back.putters.len(),
        })
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{Bound, TwoLock};
    use crate::queue::BlockingQueue;
    use crate::queue::blocks::Blocks;
    use crate::queue::scenarios::spawn;
    use crate::sync::model;

    type Queue = TwoLock<Blocks<u32>>;

    fn holding(capacity: usize, items: &[u32]) -> Arc<Queue> {
        let queue = Queue::new(Default::default(), Some(capacity), Bound::Fixed);
        items.iter().for_each(|&item| queue.append(item));
        Arc::new(queue)
    }

    #[test]
    fn producers_never_exceed_the_bound_while_the_boxes_are_swapped() {
        model(|| {
            let queue = holding(2, &[1, 2]);
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap());
            let placed = (3..5).filter(|&item| queue.offer(item).is_ok()).count();
            assert_eq!(taker.join().unwrap(), 1);
            assert!(placed <= 1);
            assert_eq!(queue.len(), 1 + placed);
        });
    }

    #[test]
    fn the_order_survives_a_swap_and_a_push_at_the_same_time() {
        model(|| {
            let queue = holding(3, &[1, 2]);
            let theirs = Arc::clone(&queue);
            let giver = spawn(move || theirs.offer(3).unwrap());
            let mut taken = vec![queue.take().unwrap(), queue.take().unwrap()];
            taken.push(queue.take().unwrap());
            giver.join().unwrap();
            assert_eq!(taken, [1, 2, 3]);
        });
    }

    /// The consumer has used up a small batch, and so is on the lookout when the elements come.
    #[test]
    fn a_consumer_on_the_lookout_leaves_no_element_beside_a_taker_asleep() {
        model(|| {
            let queue = Arc::new(Queue::new(Default::default(), None, Bound::Fixed));
            queue.append(1);
            assert_eq!(queue.poll(), Some(1));
            let takers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.take().unwrap())
            });
            queue.append(2);
            queue.append(3);
            let sum: u32 = takers.map(|taker| taker.join().unwrap()).iter().sum();
            assert_eq!(sum, 5);
        });
    }

    #[test]
    fn draining_lets_in_as_many_putters_as_it_frees_places() {
        model(|| {
            let queue = holding(2, &[1, 2]);
            let putters = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.put(3).unwrap())
            });
            let mut seen = queue.drain(2);
            for putter in putters {
                putter.join().unwrap();
            }
            seen.append(&mut queue.drain(9));
            assert_eq!(seen, [1, 2, 3, 3]);
        });
    }

    #[test]
    fn an_element_that_is_taken_and_removed_at_once_goes_to_one_of_them() {
        model(|| {
            let queue = holding(2, &[1, 2]);
            let theirs = Arc::clone(&queue);
            let remover = spawn(move || theirs.remove_first(&mut |&item| item == 1));
            let polled = queue.poll();
            match remover.join().unwrap() {
                Some(1) => assert_eq!(polled, Some(2)),
                _ => assert_eq!(polled, Some(1)),
            }
        });
    }

    #[test]
    fn a_removal_from_the_middle_lets_a_putter_in() {
        model(|| {
            let queue = holding(2, &[1, 2]);
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(3).unwrap());
            assert_eq!(queue.remove_first(&mut |&item| item == 2), Some(2));
            putter.join().unwrap();
            assert_eq!(queue.drain(9), [1, 3]);
        });
    }

    #[test]
    fn the_length_never_counts_an_element_twice_or_not_at_all() {
        model(|| {
            let queue = holding(2, &[1, 2]);
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.poll());
            let len = queue.len();
            assert!(len == 1 || len == 2, "{len}");
            assert_eq!(taker.join().unwrap(), Some(1));
            assert_eq!(queue.len(), 1);
        });
    }
}
