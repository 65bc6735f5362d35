//! The trait of all queues: what a pool requires of its work queue.

use std::sync::Arc;
use std::time::Duration;

use super::error::{CapacityError, PutError};
use crate::interrupt::Interrupted;

/// The number of threads that wait on a queue.
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
/// Every operation that cannot place its element returns it inside the error. All
/// waits observe the [interrupt](crate::interrupt) of the calling thread; whether an interrupt
/// that is pending on entry ends an operation that need not wait differs from queue to queue, as
/// it does in the JDK, and each queue documents it.
///
/// Closures are taken as `&mut dyn FnMut` throughout, so that the trait can be used as
/// `dyn BlockingQueue`. [The module](super) describes what they may do.
///
/// A queue never calls one of its own overridable methods to do the work of another, so a wrapper
/// may change one of them and forward the others. An `Arc` of a queue is a queue.
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

    /// Places the element, waiting for room no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`], [`PutError::Interrupted`] or [`PutError::Refused`], with the
    /// element.
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
    /// Waits forever if no room becomes free and nobody interrupts.
    fn put(&self, item: T) -> Result<(), PutError<T>>;

    /// Removes the next element if there is one right now.
    fn poll(&self) -> Option<T>;

    /// Removes the next element, waiting for it no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], which takes precedence over the time-out.
    #[doc(alias = "poll")]
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted>;

    /// Removes the next element, waiting for it.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    ///
    /// # Deadlocks
    ///
    /// Waits forever if nothing is inserted and nobody interrupts.
    fn take(&self) -> Result<T, Interrupted>;

    /// Removes up to `max` elements that could be polled right now, in the order of polling.
    #[doc(alias = "drainTo")]
    fn drain(&self, max: usize) -> Vec<T>;

    /// Removes every element, including those that could not be polled yet.
    fn drain_all(&self) -> Vec<T>;

    /// Removes the first element, in the order of [`for_each`](Self::for_each), for which `wanted`
    /// returns true.
    #[doc(alias = "remove")]
    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T>;

    /// Keeps the elements for which `keep` returns true. Returns the others, in the order of
    /// [`for_each`](Self::for_each).
    #[doc(alias = "removeIf")]
    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T>;

    /// Calls `f` with every element: in queue order if the queue has one, otherwise in no
    /// particular order.
    #[doc(alias = "forEach")]
    fn for_each(&self, f: &mut dyn FnMut(&T));

    /// Calls `f` with the next element, if there is one, even if it could not be polled yet.
    fn peek(&self, f: &mut dyn FnMut(&T));

    /// Returns how many elements are queued.
    ///
    /// A pool's last worker gives up its place in a sequentially consistent atomic and then asks for
    /// the length, while a submitter inserts and then reads that atomic. So this takes part in that
    /// order: either the length counts the element, or the submitter sees that the worker has left.
    /// A lock that both calls take suffices; a relaxed or acquire read of a counter does not.
    #[doc(alias = "size")]
    fn len(&self) -> usize;

    /// Returns how many more elements there is room for; `None` if there is no bound.
    fn remaining_capacity(&self) -> Option<usize>;

    /// Returns how many elements there is room for in all; `None` if there is no bound.
    ///
    /// By default this is the sum of two figures that are not read at once: exact only while nobody uses the
    /// queue. All queues of this library return it exactly.
    fn capacity(&self) -> Option<usize> {
        let room = self.remaining_capacity()?;
        Some(room.saturating_add(self.len()))
    }

    /// Returns whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes how many elements there is room for. Returns the former bound (`None`: unbounded).
    ///
    /// # Errors
    ///
    /// [`CapacityError`]: the bound is zero, or this queue's bound is fixed.
    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let _ = capacity;
        Err(CapacityError::NotResizable)
    }

    /// Returns how many threads wait; `None` if the queue does not count them.
    fn waiting(&self) -> Option<Waiting> {
        None
    }

    /// Returns whether a pool has to pass every task through this queue.
    ///
    /// By default it passes the first task of a new worker to the worker. A queue that counts which
    /// of its elements run returns true: the pool then starts the worker without a task, and starts
    /// none beyond core for a task that finds the queue full.
    fn sees_every_element(&self) -> bool {
        false
    }

    /// Returns whether there are bounds for some of the elements only: an element may be refused though the
    /// queue as a whole has room, or has no bound.
    ///
    /// A pool then lets a submission that awaits room in before others that wait for longer, if the queue has
    /// room for it and not for those.
    fn has_partial_bounds(&self) -> bool {
        false
    }

    /// Returns whether an interrupt of the waiting thread ends this queue's waits.
    ///
    /// A pool whose queue returns false polls it with short time-outs, so that shutdown and
    /// reconfiguration still take effect.
    fn is_interruptible(&self) -> bool {
        true
    }
}

/// Forwards every call to the inner queue, so that its owner can share it with a pool.
impl<T: Send, Q: BlockingQueue<T> + ?Sized> BlockingQueue<T> for Arc<Q> {
    #[inline]
    fn offer(&self, item: T) -> Result<(), PutError<T>> {
        (**self).offer(item)
    }

    fn offer_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        (**self).offer_timeout(item, timeout)
    }

    fn put(&self, item: T) -> Result<(), PutError<T>> {
        (**self).put(item)
    }

    #[inline]
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

    fn capacity(&self) -> Option<usize> {
        (**self).capacity()
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

    fn sees_every_element(&self) -> bool {
        (**self).sees_every_element()
    }

    fn has_partial_bounds(&self) -> bool {
        (**self).has_partial_bounds()
    }

    fn is_interruptible(&self) -> bool {
        (**self).is_interruptible()
    }
}
