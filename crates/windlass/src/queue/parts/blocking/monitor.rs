//! The lock around a discipline, and what is published about its state.

use std::fmt;

use super::items::Items;
use super::state::State;
use crate::queue::discipline::Discipline;
use crate::queue::fairness::Fairness;
use crate::queue::parts::interrupt_precedence::InterruptPrecedence;
use crate::queue::parts::queue_lock::QueueLock;
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Stands for "no bound" in the atomic that publishes the capacity.
const UNBOUNDED: usize = usize::MAX;

/// A [`BlockingQueue`](crate::queue::BlockingQueue) made of a [`Discipline`].
///
/// A pending interrupt ends every call that can wait, `take`, `put` and the timed forms, even where
/// it need not wait.
///
/// See [`Discipline`] for an example.
pub struct Blocking<D: Discipline> {
    pub(super) lock: QueueLock<State<D>>,
    pub(super) fairness: Fairness,
    pub(super) precedence: InterruptPrecedence,
    pub(super) admission: Admission,
    /// The length and the capacity as of the last change under the lock. Code that runs under the
    /// lock reads them there, a predicate for instance; and an offer that finds no room needs no
    /// lock to say so.
    published_len: AtomicUsize,
    published_capacity: AtomicUsize,
}

/// The rule that decides whether an element is admitted, regardless of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// Every element is admitted: a full queue rejects without taking the lock.
    All,
    /// [`Discipline::admits`] decides.
    ByDiscipline,
}

pub(super) type Guard<'a, D> = MutexGuard<'a, State<D>>;

impl<D: Discipline> Blocking<D> {
    /// Creates an unfair queue: a newcomer may overtake a waiting thread.
    pub fn new(discipline: D) -> Self {
        Self::configured(discipline, Fairness::Unfair, InterruptPrecedence::Always)
    }

    /// Creates a queue that serves waiting threads with this fairness.
    pub fn with_fairness(discipline: D, fairness: Fairness) -> Self {
        Self::configured(discipline, fairness, InterruptPrecedence::Always)
    }

    pub(crate) fn configured(
        discipline: D,
        fairness: Fairness,
        precedence: InterruptPrecedence,
    ) -> Self {
        let (len, capacity) = (discipline.len(), discipline.capacity().unwrap_or(UNBOUNDED));
        Self {
            lock: QueueLock::new(State::new(discipline)),
            fairness,
            precedence,
            admission: Admission::ByDiscipline,
            published_len: AtomicUsize::new(len),
            published_capacity: AtomicUsize::new(capacity),
        }
    }

    /// Declares that the discipline admits every element that there is room for.
    pub(crate) fn admitting_all(self) -> Self {
        Self {
            admission: Admission::All,
            ..self
        }
    }

    /// Returns the fairness that this queue was created with.
    pub const fn fairness(&self) -> Fairness {
        self.fairness
    }

    /// Converts the queue into its discipline, with all that is queued.
    pub fn into_inner(self) -> D {
        self.lock.into_inner().items.into_discipline()
    }

    pub(super) fn publish(&self, items: &Items<D>) {
        self.published_len.store(items.len(), Ordering::Release);
        let capacity = items.discipline.capacity().unwrap_or(UNBOUNDED);
        self.published_capacity.store(capacity, Ordering::Release);
    }

    /// Reads what is published with `read`, under the lock unless this thread runs code under it.
    ///
    /// The lock orders a length with what its reader and a producer do beside the queue. The last
    /// worker of a pool gives up its place and then looks for an element; a submitter inserts one
    /// and then looks for a worker: whichever locks second finds what the other did before. Atomics
    /// without the lock would need a full barrier after every change for that.
    pub(super) fn in_order<R>(&self, read: impl FnOnce(&Self) -> R) -> R {
        let guard = self.lock.lock_unless_entered();
        let result = read(self);
        drop(guard);
        result
    }

    pub(super) fn published_len(&self) -> usize {
        self.published_len.load(Ordering::Acquire)
    }

    pub(super) fn published_room(&self) -> Option<usize> {
        let capacity = self.published_capacity.load(Ordering::Acquire);
        (capacity != UNBOUNDED).then(|| capacity.saturating_sub(self.published_len()))
    }
}

impl<D: Discipline> fmt::Debug for Blocking<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking")
            .field("len", &self.published_len())
            .field("remaining_capacity", &self.published_room())
            .finish_non_exhaustive()
    }
}
