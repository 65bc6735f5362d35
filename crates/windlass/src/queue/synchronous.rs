//! A queue that holds nothing: each element goes from a putter to a taker directly.

use std::fmt;
use std::time::Duration;

use super::blocking_queue::{BlockingQueue, Waiting};
use super::error::PutError;
use super::fairness::Fairness;
use super::parts::handoff::{BufferedHandoff, DirectHandoff, Inspected, Received, Watch};
use super::parts::wait_limit::{WaitLimit, insertions_within, removals_within};
use crate::interrupt::Interrupted;

/// A queue without capacity: `put` waits for a `take`, `offer` succeeds only if a taker waits.
///
/// As a pool's work queue it makes the pool hand each task to an idle worker or start a new one;
/// [`with_interchangeable_takers`](Self::with_interchangeable_takers) does so with fewer wake-ups.
/// With [`Fairness::Fair`] waiting threads are served in order of arrival, otherwise the newest
/// first, which keeps caches warm and lets surplus workers time out.
///
/// A pending interrupt ends a call only if it has to wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, PutError, SynchronousQueue};
///
/// let queue = SynchronousQueue::new();
/// assert_eq!(queue.offer(1), Err(PutError::Full(1)));
/// std::thread::scope(|scope| {
///     let taker = scope.spawn(|| queue.take());
///     queue.put(2).unwrap();
///     assert_eq!(taker.join().unwrap(), Ok(2));
/// });
/// ```
pub struct SynchronousQueue<T: Send>(Handoff<T>);

/// Which taker an element goes to.
enum Handoff<T: Send> {
    Direct(DirectHandoff<T>),
    /// Boxed: its parts are on cache lines of their own.
    Buffered(Box<BufferedHandoff<T>>),
}

impl<T: Send> SynchronousQueue<T> {
    /// Creates a queue that serves the newest waiting thread first.
    #[must_use]
    pub fn new() -> Self {
        Self::with_fairness(Fairness::Unfair)
    }

    /// Creates a queue with this fairness.
    #[must_use]
    pub fn with_fairness(fairness: Fairness) -> Self {
        Self(Handoff::Direct(DirectHandoff::new(fairness)))
    }

    /// Creates a queue for interchangeable takers, such as the workers of a pool.
    ///
    /// No more elements are accepted than takers wait. They are taken in the order of acceptance,
    /// each by the taker that is woken for it or by one that arrives sooner. So a burst of short
    /// tasks is run by the few workers that are awake, and wakes few others.
    ///
    /// ```
    /// use windlass::ThreadPoolExecutor;
    /// use windlass::queue::SynchronousQueue;
    ///
    /// let pool = ThreadPoolExecutor::builder()
    ///     .core_pool_size(0)
    ///     .maximum_pool_size(64)
    ///     .work_queue(SynchronousQueue::with_interchangeable_takers())
    ///     .build()
    ///     .unwrap();
    /// # drop(pool);
    /// ```
    #[must_use]
    pub fn with_interchangeable_takers() -> Self {
        Self(Handoff::Buffered(Box::default()))
    }

    /// Creates a queue for the workers of a pool that may start threads without end.
    ///
    /// Such a pool may [lend](Self::lend): so many more elements are accepted than workers wait,
    /// while they return quickly and one of them [watches](Self::take_or_watch). Otherwise it is as with
    /// [`with_interchangeable_takers`](Self::with_interchangeable_takers).
    pub(crate) fn lending(debt_limit: u32) -> Self {
        let handoff = BufferedHandoff::with_debt_limit(debt_limit);
        Self(Handoff::Buffered(Box::new(handoff)))
    }

    /// Returns the fairness that this queue was created with.
    #[must_use]
    pub const fn fairness(&self) -> Fairness {
        match &self.0 {
            Handoff::Direct(handoff) => handoff.fairness,
            Handoff::Buffered(_) => Fairness::Unfair,
        }
    }

    /// Hands the element to a taker that is about to return, waiting for it no longer than it takes to
    /// start a thread.
    pub(crate) fn offer_for_returning(&self, item: T) -> Result<(), T> {
        match &self.0 {
            Handoff::Direct(_) => Err(item),
            Handoff::Buffered(handoff) => handoff.put_for_returning(item),
        }
    }

    /// Returns how many more elements are accepted than takers wait, at most.
    pub(crate) const fn debt_limit(&self) -> u32 {
        match &self.0 {
            Handoff::Direct(_) => 0,
            Handoff::Buffered(handoff) => handoff.debt_limit(),
        }
    }

    /// Accepts an element though no taker waits, while takers return quickly and one watches.
    pub(crate) fn lend(&self, item: T) -> Result<(), T> {
        match self.lender() {
            Some(handoff) => handoff.lend(item),
            None => Err(item),
        }
    }

    /// Receives an element like `poll_timeout` or `take`, or the duty to watch.
    ///
    /// A taker that has it calls [`watch`](Self::watch), and [`inspect`](Self::inspect) from time to time.
    pub(crate) fn take_or_watch(
        &self,
        timeout: Option<Duration>,
    ) -> Result<Received<T>, Interrupted> {
        let limit = timeout.map_or(WaitLimit::Forever, WaitLimit::timeout);
        match &self.0 {
            Handoff::Direct(handoff) => handoff
                .take(limit)
                .map(|item| item.map_or(Received::Nothing, Received::Element)),
            Handoff::Buffered(handoff) => handoff.take_or_watch(limit),
        }
    }

    /// Begins the duty of a taker that has received it; `None` if there is none.
    pub(crate) fn watch(&self) -> Option<Watch> {
        self.lender().map(BufferedHandoff::watch)
    }

    /// Decides what the taker that watches does next.
    pub(crate) fn inspect(&self, watch: &mut Watch) -> Inspected {
        self.lender()
            .map_or(Inspected::Done, |handoff| handoff.inspect(watch))
    }

    /// Lends nothing until takers return. Called by the taker that watches.
    pub(crate) fn suspend_lending(&self) {
        if let Some(handoff) = self.lender() {
            handoff.suspend_lending();
        }
    }

    /// Ends the duty of the taker that watches.
    pub(crate) fn resign(&self, watch: &Watch) {
        if let Some(handoff) = self.lender() {
            handoff.resign(watch);
        }
    }

    /// Returns whether no element is queued for takers, of a queue that lends; true for any other.
    pub(crate) fn is_drained(&self) -> bool {
        self.lender().is_none_or(BufferedHandoff::is_drained)
    }

    /// Removes what is queued for takers, of a queue that lends, and the elements of putters that wait.
    pub(crate) fn drain_accepted(&self) -> Vec<T> {
        let mut drained = self
            .lender()
            .map_or_else(Vec::new, BufferedHandoff::drain_accepted);
        drained.append(&mut self.drain_all());
        drained
    }

    /// Removes the first element that satisfies the predicate of those that are queued for takers, of a queue
    /// that lends.
    pub(crate) fn remove_accepted(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        self.lender()?.remove_accepted(wanted)
    }

    fn lender(&self) -> Option<&BufferedHandoff<T>> {
        match &self.0 {
            Handoff::Buffered(handoff) if handoff.lends() => Some(handoff),
            Handoff::Direct(_) | Handoff::Buffered(_) => None,
        }
    }

    fn waiting_threads(&self) -> Waiting {
        match &self.0 {
            Handoff::Direct(handoff) => handoff.waiting(),
            Handoff::Buffered(handoff) => handoff.waiting(),
        }
    }

    fn put_within(&self, item: T, limit: WaitLimit) -> Result<(), PutError<T>> {
        match &self.0 {
            Handoff::Direct(handoff) => handoff.put(item, limit),
            Handoff::Buffered(handoff) => handoff.put(item, limit),
        }
    }

    fn take_within(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        match &self.0 {
            Handoff::Direct(handoff) => handoff.take(limit),
            Handoff::Buffered(handoff) => handoff.take(limit),
        }
    }
}

impl<T: Send> Default for SynchronousQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> BlockingQueue<T> for SynchronousQueue<T> {
    insertions_within!(T);

    removals_within!(T);

    /// Receives from up to `max` putters that wait.
    fn drain(&self, max: usize) -> Vec<T> {
        // No more than wait now: a stream of new putters would keep the loop running.
        let putters = self.waiting_threads().putters;
        let polled = std::iter::from_fn(|| self.poll());
        polled.take(max.min(putters)).collect()
    }

    fn drain_all(&self) -> Vec<T> {
        self.drain(usize::MAX)
    }

    /// Returns `None`: the element of a putter that waits is not in the queue.
    fn remove_first(&self, _wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        None
    }

    fn retain(&self, _keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        Vec::new()
    }

    fn for_each(&self, _f: &mut dyn FnMut(&T)) {}

    fn peek(&self, _f: &mut dyn FnMut(&T)) {}

    fn len(&self) -> usize {
        0
    }

    fn remaining_capacity(&self) -> Option<usize> {
        Some(0)
    }

    fn waiting(&self) -> Option<Waiting> {
        Some(self.waiting_threads())
    }
}

impl<T: Send> fmt::Debug for SynchronousQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SynchronousQueue")
            .field("fairness", &self.fairness())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::SynchronousQueue;
    use crate::interrupt;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::queue::{BlockingQueue, Fairness, PutError};
    use crate::sync::model;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Runs the model with a queue of each kind.
    fn model_each(body: impl Fn(SynchronousQueue<u32>) + Copy + Send + Sync + 'static) {
        for fairness in [Fairness::Unfair, Fairness::Fair] {
            model(move || body(SynchronousQueue::with_fairness(fairness)));
        }
        model(move || body(SynchronousQueue::with_interchangeable_takers()));
    }

    #[test]
    fn a_putter_and_a_taker_meet_whoever_comes_first() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(7));
            assert_eq!(queue.take(), Ok(7));
            assert_eq!(putter.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn an_element_is_delivered_or_given_back_never_both() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let other = spawn(move || {
                let taken = theirs.poll();
                me.interrupt();
                taken
            });
            let put = queue.put(7);
            let taken = other.join().unwrap();
            match put {
                Ok(()) => assert_eq!(taken, Some(7)),
                Err(refused) => {
                    assert_eq!(refused, PutError::Interrupted(7));
                    assert_eq!(taken, None);
                }
            }
            let _ = interrupt::interrupted();
        });
    }

    #[test]
    fn one_element_goes_to_one_of_two_takers() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let theirs = Arc::clone(&queue);
            let other = spawn(move || theirs.take().unwrap());
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || {
                theirs.put(1).unwrap();
                theirs.put(2).unwrap();
            });
            let sum = queue.take().unwrap() + other.join().unwrap();
            putter.join().unwrap();
            assert_eq!(sum, 3);
        });
    }

    #[test]
    fn a_taker_that_is_interrupted_leaves_the_element_to_the_next() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || {
                me.interrupt();
                theirs.put(7)
            });
            let mut taken = queue.take();
            while taken.is_err() {
                taken = queue.take();
            }
            assert_eq!(taken, Ok(7));
            assert_eq!(putter.join().unwrap(), Ok(()));
            let _ = interrupt::interrupted();
        });
    }

    #[test]
    fn a_taker_whose_time_is_up_leaves_the_element_to_the_next() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let theirs = Arc::clone(&queue);
            let putter = spawn(move || theirs.put(7));
            let taken = match queue.poll_timeout(HOUR) {
                Ok(Some(item)) => item,
                _ => queue.take().unwrap(),
            };
            assert_eq!((taken, putter.join().unwrap()), (7, Ok(())));
        });
    }

    #[test]
    fn a_putter_whose_time_is_up_has_its_element_back_or_delivered() {
        model_each(|queue| {
            let queue = Arc::new(queue);
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap());
            if let Err(late) = queue.offer_timeout(7, HOUR) {
                assert_eq!(late, PutError::TimedOut(7));
                queue.put(7).unwrap();
            }
            assert_eq!(taker.join().unwrap(), 7);
            assert_eq!(queue.waiting().unwrap().putters, 0);
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model_each(scenarios::a_taker_sees_what_came_before_the_put);
    }
}
