//! The data at each end of the queue: what its lock guards, and what is read without the lock.
//!
//! The order of the fields is that in memory. What every element changes comes first and lies
//! together, so that few cache lines move between the cores with each element.

use std::time::Duration;

use crate::queue::parts::queue_lock::QueueLock;
use crate::sync::atomic::{AtomicBool, AtomicUsize};
use crate::waiting::{WaitQueue, Wakeup};

use super::batch_spin::BatchSpin;
use super::yielding::Yielding;

/// Stands for "no bound".
pub(super) const UNBOUNDED: usize = usize::MAX;

/// The end at which producers push.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TailEnd<S> {
    /// Elements in the tail as of the last change under the tail lock. Read by a consumer that
    /// spins, and by code that runs under both locks and reads the length.
    pub(super) published_len: AtomicUsize,
    /// Whether a consumer spins for elements. It finds what is pushed, and nobody has to be woken.
    pub(super) has_spinning_taker: AtomicBool,
    pub(super) lock: QueueLock<Tail<S>>,
    /// The bound, or [`UNBOUNDED`]. Written under both locks, and so exact under either of them.
    pub(super) capacity: AtomicUsize,
}

/// The end at which consumers pop.
#[derive(Debug)]
#[repr(C)]
pub(super) struct HeadEnd<S> {
    /// Elements in the head. Raised under both locks, lowered under the head lock: so a producer
    /// that holds the tail lock reads a number that can only be too high, by what is popped
    /// meanwhile, and never exceeds the bound.
    pub(super) len: AtomicUsize,
    pub(super) lock: QueueLock<Head<S>>,
}

/// Which of the takers that wait is signalled first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeOrder {
    OldestFirst,
    /// Keeps caches warm, and lets takers that are not needed time out.
    NewestFirst,
}

/// Whether a taker that waits can be given another duty than to take an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taker {
    Ordinary,
    Recruitable,
}

/// The last event of a thread before it tries to take or to put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// None: this is its first attempt.
    First,
    /// It found nothing, or no room, and yielded.
    AfterYield(Yielded),
    /// It was signalled, and counts as waking.
    AfterSignal,
}

/// A yield of a thread that found nothing, or no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Yielded {
    pub(super) took: Duration,
    /// What [`Head::refilled`] was before.
    pub(super) refilled: usize,
}

/// The data that the tail lock guards.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tail<S> {
    /// While the tail is shorter than this there is room, without a read of the head's length: that
    /// lies on a cache line that consumers write to with each element. What is popped makes the
    /// true limit larger; a swap and a new bound, which can make it smaller, set it anew.
    pub(super) push_limit: usize,
    pub(super) items: S,
    pub(super) takers: WaitQueue<Taker>,
    /// Takers that were signalled and have not locked the queue since.
    pub(super) takers_waking: usize,
    /// Those of them that are recruited. Which of the recruitable ones that wake it is does not matter.
    pub(super) recruits: usize,
    pub(super) wake_order: WakeOrder,
}

/// The data that the head lock guards.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Head<S> {
    pub(super) items: S,
    pub(super) putters: WaitQueue,
    /// Putters that were signalled and have not locked the queue since.
    pub(super) putters_waking: usize,
    pub(super) batch_spin: BatchSpin,
    /// The elements that have come from the tail so far, modulo the size of the type.
    pub(super) refilled: usize,
    pub(super) taker_yields: Yielding,
    pub(super) putter_yields: Yielding,
}

impl<S> Tail<S> {
    /// Signals a taker for what is queued, unless enough of them are waking.
    #[inline]
    pub(super) fn signal_taker(&mut self, queued: usize) -> Option<Wakeup> {
        if self.takers.is_empty() || queued == 0 || self.takers_waking >= max_waking(queued) {
            return None;
        }
        self.takers_waking += 1;
        let signalled = match self.wake_order {
            WakeOrder::OldestFirst => self.takers.signal_oldest(),
            WakeOrder::NewestFirst => self.takers.signal_newest(),
        };
        signalled.map(|(wakeup, _)| wakeup)
    }

    pub(super) fn has_recruitable(&self) -> bool {
        self.takers.has(|taker| *taker == Taker::Recruitable)
    }

    /// Signals a recruitable taker that it has another duty.
    pub(super) fn recruit_taker(&mut self) -> Option<Wakeup> {
        let recruited = self
            .takers
            .signal_oldest_of(|taker| *taker == Taker::Recruitable)?;
        self.takers_waking += 1;
        self.recruits += 1;
        Some(recruited)
    }
}

impl<S> Head<S> {
    /// Signals a putter if there is room, unless one is waking: that one signals the next.
    pub(super) fn signal_putter(&mut self, room: usize) -> Option<Wakeup> {
        if room == 0 || self.putters_waking > 0 || self.putters.is_empty() {
            return None;
        }
        self.putters_waking += 1;
        self.putters.signal_one()
    }
}

/// Returns how many takers may be waking while `queued` elements are queued.
fn max_waking(queued: usize) -> usize {
    1 + queued.ilog2() as usize / 2
}
