//! Work queues: what a pool asks of the place where its tasks wait.
//!
//! A pool holds an `Arc<dyn BlockingQueue<Task>>` and asks nothing that this trait does not say,
//! so any of the queues below, or one of your own, decides which task is next and how many may
//! wait.
//!
//! | queue | order | bound |
//! |---|---|---|
//! | [`LinkedBlockingQueue`] | first in, first out | none, or fixed |
//! | [`ResizableBlockingQueue`] | first in, first out | changeable while in use |
//! | [`ArrayBlockingQueue`] | first in, first out; fair on demand | fixed, never allocates |
//! | [`SynchronousQueue`] | hand-off, holds nothing; fair on demand | zero |
//! | [`PriorityBlockingQueue`] | least first, equals in order of arrival | none |
//! | [`DelayQueue`] | earliest expiry first, not before it | none |
//! | [`LinkedTransferQueue`] | first in, first out; producers may wait for receipt | none |
//! | [`LinkedBlockingDeque`] | both ends | none, or fixed |
//!
//! There are two ways to bring your own. For another *order* or *admission rule*, implement
//! [`Discipline`]: five methods on plain `&mut self`, no locks, no waiting; [`Blocking`] makes a
//! queue of it. For a foreign structure, implement [`BlockingQueue`] itself. Either way the suite
//! in `windlass::testing::queue_contract` (feature `testing`) tells whether it keeps the contract.
//!
//! # User code and locks
//!
//! Predicates, visitors and comparisons run while the queue is locked. They may ask the queue for
//! `len`, `is_empty` and `remaining_capacity`; any other call on the same queue from inside them
//! panics, where it would otherwise wait for itself for ever. If a predicate panics, the queue is
//! as it was before the call.

#[macro_use]
mod delegate;

mod array;
mod block;
mod blocking;
mod blocks;
mod delay;
mod deque;
mod discipline;
mod error;
mod handoff;
mod heap;
mod line;
mod linked;
mod lock;
mod partners;
mod precedence;
mod priority;
mod promised;
mod resizable;
#[cfg(test)]
mod scenarios;
mod sequence;
mod synchronous;
mod transfer;
mod two_lock;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use array::ArrayBlockingQueue;
pub use blocking::Blocking;
pub use delay::{DelayQueue, Delayed};
pub use deque::LinkedBlockingDeque;
pub use discipline::Discipline;
pub use error::{CapacityError, PutError, Unplaced};
pub use linked::LinkedBlockingQueue;
pub(crate) use precedence::Precedence;
pub use priority::PriorityBlockingQueue;
pub use resizable::ResizableBlockingQueue;
pub use synchronous::SynchronousQueue;
pub use transfer::LinkedTransferQueue;

use crate::interrupt::Interrupted;

/// In which order threads that wait on a queue are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fairness {
    /// Whoever gets there first; the faster choice.
    #[default]
    Unfair,
    /// In order of arrival: a newcomer cannot overtake a thread that waits.
    Fair,
}

/// How many threads wait on a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Waiting {
    /// Threads that wait for an element.
    pub takers: usize,
    /// Threads that wait for room, or for their element to be received.
    pub putters: usize,
}

/// A queue on which threads can wait for elements and for room.
///
/// It has no closed state: a pool ends its workers by interrupting them.
///
/// Every operation that takes an element and cannot place it gives it back inside the error. All
/// waits observe the [interrupt](crate::interrupt) of the calling thread; whether an interrupt
/// that is pending on entry beats an operation that need not wait differs from queue to queue, as
/// it does in the JDK, and each queue says which.
///
/// A queue never calls one of its own overridable methods to do the work of another, so a wrapper
/// may change one of them and pass the rest on.
///
/// ```
/// use windlass::queue::{BlockingQueue, LinkedBlockingQueue, PutError};
///
/// let queue = LinkedBlockingQueue::with_capacity(1).unwrap();
/// queue.offer('a').unwrap();
/// assert_eq!(queue.offer('b'), Err(PutError::Full('b')));
/// assert_eq!(queue.poll(), Some('a'));
/// ```
pub trait BlockingQueue<T: Send>: Send + Sync {
    /// Places the element if there is room right now.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`] or [`PutError::Refused`], with the element.
    fn offer(&self, item: T) -> Result<(), PutError<T>>;

    /// Places the element, waiting for room for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`], [`PutError::Interrupted`] or [`PutError::Refused`], with the element.
    #[doc(alias = "offer")]
    fn offer_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>>;

    /// Places the element, waiting for room.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`] or [`PutError::Refused`], with the element.
    ///
    /// # Deadlocks
    ///
    /// Waits for ever if nobody ever makes room and nobody interrupts.
    fn put(&self, item: T) -> Result<(), PutError<T>>;

    /// Takes the next element if there is one right now.
    fn poll(&self) -> Option<T>;

    /// Takes the next element, waiting for it for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], which takes precedence over running out of time.
    #[doc(alias = "poll")]
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted>;

    /// Takes the next element, waiting for it.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    ///
    /// # Deadlocks
    ///
    /// Waits for ever if nothing is ever inserted and nobody interrupts.
    fn take(&self) -> Result<T, Interrupted>;

    /// Takes up to `max` elements that could be polled right now, in the order of polling.
    #[doc(alias = "drainTo")]
    fn drain(&self, max: usize) -> Vec<T>;

    /// Takes every element, also those that could not be polled yet.
    fn drain_all(&self) -> Vec<T>;

    /// Takes the first element, in the order of [`for_each`](Self::for_each), for which `wanted` holds.
    ///
    /// See the module about what `wanted` may do.
    #[doc(alias = "remove")]
    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T>;

    /// Keeps the elements for which `keep` holds and gives the others back, in the order of
    /// [`for_each`](Self::for_each).
    ///
    /// See the module about what `keep` may do.
    #[doc(alias = "removeIf")]
    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T>;

    /// Calls `f` with every element; in queue order where the queue has one, else in any.
    ///
    /// See the module about what `f` may do.
    #[doc(alias = "forEach")]
    fn for_each(&self, f: &mut dyn FnMut(&T));

    /// Calls `f` with the next element, also one that could not be polled yet.
    fn peek(&self, f: &mut dyn FnMut(&T));

    /// How many elements are queued.
    #[doc(alias = "size")]
    fn len(&self) -> usize;

    /// How many more elements there is room for; `None` where there is no bound.
    fn remaining_capacity(&self) -> Option<usize>;

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes how many elements there is room for; gives the former bound (`None`: unbounded).
    ///
    /// # Errors
    ///
    /// [`CapacityError`]: the bound is zero, or this queue's bound is fixed.
    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let _ = capacity;
        Err(CapacityError::NotResizable)
    }

    /// How many threads wait, where the queue knows.
    fn waiting(&self) -> Option<Waiting> {
        None
    }

    /// Whether this queue's waits see the interrupt of the waiting thread.
    ///
    /// A pool whose queue says no polls it in short slices, so that shutdown and reconfiguration
    /// still take effect.
    fn is_interruptible(&self) -> bool {
        true
    }
}

/// What every queue offers on top of [`BlockingQueue`], by way of its methods.
///
/// ```
/// use windlass::queue::{BlockingQueueExt, LinkedBlockingQueue};
///
/// let queue: LinkedBlockingQueue<u32> = (1..=3).collect();
/// assert!(queue.contains(&mut |&n| n == 2));
/// assert_eq!(queue.snapshot(), [1, 2, 3]);
/// ```
pub trait BlockingQueueExt<T: Send>: BlockingQueue<T> {
    /// Whether an element for which `wanted` holds is queued.
    fn contains(&self, wanted: &mut dyn FnMut(&T) -> bool) -> bool {
        let mut found = false;
        self.for_each(&mut |item| found = found || wanted(item));
        found
    }

    /// A copy of what is queued, in the order of [`BlockingQueue::for_each`].
    #[doc(alias = "toArray")]
    fn snapshot(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut items = Vec::new();
        self.for_each(&mut |item| items.push(item.clone()));
        items
    }

    /// A copy of the next element.
    fn peek_cloned(&self) -> Option<T>
    where
        T: Clone,
    {
        let mut next = None;
        self.peek(&mut |item| next = Some(item.clone()));
        next
    }

    /// Drops every element.
    ///
    /// What a thread holds out to a [`SynchronousQueue`] is not in it, and stays with the thread.
    fn clear(&self) {
        drop(self.retain(&mut |_| false));
    }

    /// Offers the elements in turn and says how many there were.
    ///
    /// # Errors
    ///
    /// [`Unplaced`] on the first refusal: what was placed stays, the rest comes back.
    #[doc(alias = "addAll")]
    fn offer_all<I>(&self, items: I) -> Result<usize, Unplaced<T>>
    where
        I: IntoIterator<Item = T>,
    {
        let mut items = items.into_iter();
        let mut placed = 0;
        while let Some(item) = items.next() {
            if let Err(refused) = self.offer(item) {
                let mut rest = vec![refused.into_inner()];
                rest.extend(items);
                return Err(Unplaced { placed, rest });
            }
            placed += 1;
        }
        Ok(placed)
    }
}

impl<T: Send, Q: BlockingQueue<T> + ?Sized> BlockingQueueExt<T> for Q {}

/// Writes a queue's name, its length and its first elements.
fn describe<T: Send + fmt::Debug>(
    queue: &dyn BlockingQueue<T>,
    name: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    const SHOWN: usize = 16;
    let mut first = Vec::new();
    let mut len = 0;
    queue.for_each(&mut |item| {
        len += 1;
        if len <= SHOWN {
            first.push(format!("{item:?}"));
        }
    });
    write!(f, "{name} {{ len: {len}, elements: [{}", first.join(", "))?;
    f.write_str(if len > SHOWN { ", ..] }" } else { "] }" })
}

/// Passes every call on to the queue inside, so that a pool can share a queue with its owner.
impl<T: Send, Q: BlockingQueue<T> + ?Sized> BlockingQueue<T> for Arc<Q> {
    fn offer(&self, item: T) -> Result<(), PutError<T>> {
        (**self).offer(item)
    }

    fn offer_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        (**self).offer_timeout(item, timeout)
    }

    fn put(&self, item: T) -> Result<(), PutError<T>> {
        (**self).put(item)
    }

    fn poll(&self) -> Option<T> {
        (**self).poll()
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        (**self).poll_timeout(timeout)
    }

    fn take(&self) -> Result<T, Interrupted> {
        (**self).take()
    }

    fn drain(&self, max: usize) -> Vec<T> {
        (**self).drain(max)
    }

    fn drain_all(&self) -> Vec<T> {
        (**self).drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        (**self).remove_first(wanted)
    }

    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        (**self).retain(keep)
    }

    fn for_each(&self, f: &mut dyn FnMut(&T)) {
        (**self).for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&T)) {
        (**self).peek(f);
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        (**self).remaining_capacity()
    }

    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        (**self).set_capacity(capacity)
    }

    fn waiting(&self) -> Option<Waiting> {
        (**self).waiting()
    }

    fn is_interruptible(&self) -> bool {
        (**self).is_interruptible()
    }
}
