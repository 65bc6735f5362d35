//! The queue under test: how to create one, and what it promises.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::item::{Element, Item, element};
use crate::interrupt::{self, JoinHandle};
use crate::queue::BlockingQueue;
use crate::testing::patience::{PATIENCE, join_within, until_within};

/// How many elements a check usually works with, and the bound of the queue that holds them.
pub(super) const SIZE: usize = 8;

/// A queue of any type.
pub(super) type DynQueue<T> = dyn BlockingQueue<T>;

/// A queue of any type that several threads use.
pub(super) type Queue<T> = Arc<DynQueue<T>>;

type Make<T> = Arc<dyn Fn(usize) -> Result<Queue<T>, String> + Send + Sync>;
type Build<T> = Arc<dyn Fn(Vec<T>) -> Queue<T> + Send + Sync>;

/// The order in which elements leave a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// First in, first out.
    #[default]
    Fifo,
    /// Last in, first out.
    Lifo,
    /// The least [`Item`] first.
    Sorted,
    /// No order that the suite can check.
    Unspecified,
}

impl Order {
    /// Returns the order in which elements leave that were inserted in this one.
    pub(super) fn leaving(self, inserted: &[u64]) -> Vec<u64> {
        let mut numbers = inserted.to_vec();
        match self {
            Self::Fifo | Self::Unspecified => {}
            Self::Lifo => numbers.reverse(),
            Self::Sorted => numbers.sort_unstable(),
        }
        numbers
    }

    /// Fails unless `left` is what leaves after these were inserted.
    #[track_caller]
    pub(super) fn assert_left(self, mut left: Vec<u64>, inserted: &[u64]) {
        let mut expected = self.leaving(inserted);
        if self == Self::Unspecified {
            left.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(left, expected, "elements left in another order, or others");
    }

    /// Returns whether elements that are inserted in ascending order leave in ascending order.
    const fn is_sequential(self) -> bool {
        matches!(self, Self::Fifo | Self::Sorted)
    }
}

/// The calls that a pending interrupt ends even where they need not wait.
///
/// A call that has to wait is ended in any case, and a call that never waits (`offer`, `poll`,
/// `drain`) in none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Precedence {
    /// `take`, `put` and the timed forms.
    #[default]
    Always,
    /// `take` and `poll_timeout`.
    Removal,
    /// `offer_timeout` and `poll_timeout`.
    Timed,
    /// None: what need not wait succeeds.
    Never,
}

impl Precedence {
    pub(super) const fn ends_take(self) -> bool {
        matches!(self, Self::Always | Self::Removal)
    }

    pub(super) const fn ends_timed_poll(self) -> bool {
        matches!(self, Self::Always | Self::Removal | Self::Timed)
    }

    pub(super) const fn ends_put(self) -> bool {
        matches!(self, Self::Always)
    }

    pub(super) const fn ends_timed_offer(self) -> bool {
        matches!(self, Self::Always | Self::Timed)
    }
}

/// The waiting taker that gets the next element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Service {
    /// The one that has waited longest.
    OldestFirst,
    /// The one that came last.
    NewestFirst,
}

/// The capacity of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Nothing,
    Bounded,
    Unbounded,
}

/// The clock that a queue reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// That of the waiting thread, which the suite drives.
    OfThread,
    Real,
}

/// A queue under test: how to create one, and what it promises beyond the common contract.
///
/// For an example see [the module](super).
pub struct Subject<T: Element = Item> {
    make: Make<T>,
    build: Option<Build<T>>,
    pub(super) storage: Storage,
    pub(super) order: Order,
    pub(super) precedence: Precedence,
    pub(super) service: Option<Service>,
    pub(super) time: Time,
    pub(super) patience: Duration,
}

impl<T: Element> Subject<T> {
    /// Creates the subject of a queue without a bound.
    pub fn unbounded<Q>(make: impl Fn() -> Q + Send + Sync + 'static) -> Self
    where
        Q: BlockingQueue<T> + 'static,
    {
        let make = move |_| Ok(Arc::new(make()) as Queue<T>);
        Self::new(Storage::Unbounded, Arc::new(make))
    }

    /// Creates the subject of a queue with a bound; `make` is called with the bound and must reject
    /// zero.
    pub fn bounded<Q, E>(make: impl Fn(usize) -> Result<Q, E> + Send + Sync + 'static) -> Self
    where
        Q: BlockingQueue<T> + 'static,
        E: fmt::Debug,
    {
        let make = move |capacity| match make(capacity) {
            Ok(queue) => Ok(Arc::new(queue) as Queue<T>),
            Err(refused) => Err(format!("{refused:?}")),
        };
        Self::new(Storage::Bounded, Arc::new(make))
    }

    /// Creates the subject of a queue that holds nothing: elements go from putter to taker
    /// directly.
    pub fn rendezvous<Q>(make: impl Fn() -> Q + Send + Sync + 'static) -> Self
    where
        Q: BlockingQueue<T> + 'static,
    {
        let make = move |_| Ok(Arc::new(make()) as Queue<T>);
        Self::new(Storage::Nothing, Arc::new(make))
    }

    fn new(storage: Storage, make: Make<T>) -> Self {
        Self {
            make,
            build: None,
            storage,
            order: Order::default(),
            precedence: Precedence::default(),
            service: None,
            time: Time::OfThread,
            patience: PATIENCE,
        }
    }

    /// Sets the order in which elements leave; first in, first out by default.
    #[must_use]
    pub const fn ordered(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets which calls a pending interrupt ends; [`Precedence::Always`] by default.
    #[must_use]
    pub const fn interrupted(mut self, precedence: Precedence) -> Self {
        self.precedence = precedence;
        self
    }

    /// Sets which taker is served first; not checked by default.
    #[must_use]
    pub const fn serving(mut self, service: Service) -> Self {
        self.service = Some(service);
        self
    }

    /// Sets how a queue is built that holds these elements already; not checked by default.
    #[must_use]
    pub fn built_from<Q>(mut self, build: impl Fn(Vec<T>) -> Q + Send + Sync + 'static) -> Self
    where
        Q: BlockingQueue<T> + 'static,
    {
        self.build = Some(Arc::new(move |elements| Arc::new(build(elements))));
        self
    }

    /// Declares that the queue has a clock of its own: the checks then wait for time-outs in real
    /// time.
    #[must_use]
    pub const fn on_real_time(mut self) -> Self {
        self.time = Time::Real;
        self
    }

    /// Sets how long to wait for a thread before a check fails; [`PATIENCE`] by default.
    #[must_use]
    pub const fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(super) const fn is_stored(&self) -> bool {
        !matches!(self.storage, Storage::Nothing)
    }

    pub(super) fn is_built(&self) -> bool {
        self.build.is_some()
    }

    /// Returns whether elements that are put one after the other are received in that order.
    pub(super) const fn is_sequential(&self) -> bool {
        matches!(self.storage, Storage::Nothing) || self.order.is_sequential()
    }

    pub(super) fn try_make(&self, capacity: usize) -> Result<Queue<T>, String> {
        (self.make)(capacity)
    }

    /// Creates an empty queue with room for `capacity` elements, or more.
    pub(super) fn with_room(&self, capacity: usize) -> Queue<T> {
        match self.try_make(capacity) {
            Ok(queue) => queue,
            Err(refused) => panic!("a capacity of {capacity} was refused: {refused}"),
        }
    }

    /// Creates an empty queue with room for [`SIZE`] elements, or more.
    pub(super) fn empty(&self) -> Queue<T> {
        self.with_room(SIZE)
    }

    /// Creates a queue with room for [`SIZE`] elements, or more, and offers these to it.
    pub(super) fn holding(&self, numbers: &[u64]) -> Queue<T> {
        let queue = self.empty();
        for &number in numbers {
            let offered = queue.offer(element(number));
            assert!(offered.is_ok(), "an offer was refused: {offered:?}");
        }
        queue
    }

    /// Creates a queue that is built around these.
    pub(super) fn built(&self, numbers: &[u64]) -> Queue<T> {
        let elements = numbers.iter().map(|&number| element(number));
        match &self.build {
            Some(build) => build(elements.collect()),
            None => panic!("the subject has no `built_from`"),
        }
    }

    /// Creates a full queue. Returns it with the numbers of the elements that it holds.
    pub(super) fn full(&self) -> (Queue<T>, Vec<u64>) {
        let held: &[u64] = if self.is_stored() { &[0, 1] } else { &[] };
        let queue = self.with_room(held.len());
        for &number in held {
            let offered = queue.offer(element(number));
            assert!(offered.is_ok(), "an offer was refused: {offered:?}");
        }
        (queue, held.to_vec())
    }

    /// Starts a thread that uses the queue, on the clock of the caller.
    pub(super) fn spawn<R: Send + 'static>(
        queue: &Queue<T>,
        body: impl FnOnce(&DynQueue<T>) -> R + Send + 'static,
    ) -> JoinHandle<R> {
        let queue = Arc::clone(queue);
        interrupt::spawn(move || body(&*queue))
    }

    /// Waits for a thread to end.
    pub(super) fn join<R>(&self, what: &str, thread: JoinHandle<R>) -> R {
        join_within(self.patience, what, thread)
    }

    /// Waits for a state.
    pub(super) fn until(&self, what: &str, condition: impl FnMut() -> bool) {
        until_within(self.patience, what, condition);
    }

    pub(super) fn await_takers(&self, queue: &Queue<T>, count: usize) {
        self.until("takers that wait", || {
            queue
                .waiting()
                .is_some_and(|waiting| waiting.takers == count)
        });
    }

    pub(super) fn await_putters(&self, queue: &Queue<T>, count: usize) {
        self.until("putters that wait", || {
            queue
                .waiting()
                .is_some_and(|waiting| waiting.putters == count)
        });
    }
}

impl<T: Element> Clone for Subject<T> {
    fn clone(&self) -> Self {
        Self {
            make: Arc::clone(&self.make),
            build: self.build.clone(),
            ..*self
        }
    }
}

impl<T: Element> fmt::Debug for Subject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("storage", &self.storage)
            .field("order", &self.order)
            .field("precedence", &self.precedence)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
