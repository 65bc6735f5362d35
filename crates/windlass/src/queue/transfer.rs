//! An unbounded queue whose producers may wait until their element has been received.
//!
//! Elements and takers never wait at the same time: an element goes to the taker that has waited
//! longest, or is queued. A queued element may belong to a producer that waits for its receipt;
//! the thread that removes the element signals that producer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::blocking_queue::{BlockingQueue, Waiting};
use super::error::PutError;
use super::parts::block_list::BlockList;
use super::parts::describe::describe;
use super::parts::handoff::exchange::{Slot, wait_for_item};
use super::parts::queue_lock::QueueLock;
use super::parts::sequence::Sequence;
use super::parts::wait_limit::{WaitLimit, removals_within, timed};
use crate::interrupt::{Interrupted, ThreadContext};
use crate::sync::Deadline;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::waiting::{
    WaitOutcome, WaitQueue, Wakeup, park_until_signalled, prepare_current, unsignalled_outcome,
};

/// An unbounded first-in-first-out queue with [`transfer`](Self::transfer): a `put` that returns
/// when the element has been received.
///
/// A pending interrupt ends a call only if it has to wait; an element that is present is still
/// taken.
///
/// Removing an element that is being transferred (`remove_first`, `retain`, `drain`) counts as its
/// receipt.
///
/// ```
/// use windlass::queue::{BlockingQueue, LinkedTransferQueue};
///
/// let queue = LinkedTransferQueue::new();
/// assert!(queue.try_transfer("nobody waits").is_err());
/// std::thread::scope(|scope| {
///     let receipt = scope.spawn(|| queue.transfer("signed for"));
///     assert_eq!(queue.take().unwrap(), "signed for");
///     assert_eq!(receipt.join().unwrap(), Ok(()));
/// });
/// ```
pub struct LinkedTransferQueue<T: Send> {
    lock: QueueLock<State<T>>,
    /// The length as of the last change under the lock. Written and read under the lock; code that
    /// runs under it, a predicate for instance, reads it there.
    published_len: AtomicUsize,
}

struct State<T> {
    entries: BlockList<Entry<T>>,
    takers: WaitQueue<Slot<T>>,
}

struct Entry<T> {
    item: T,
    /// The producer that waits for the receipt, if one does.
    sender: Option<Arc<ThreadContext>>,
}

impl<T> Entry<T> {
    /// Returns the element, and the wake-up of the producer that waits for its receipt.
    fn receive(self) -> (T, Option<Wakeup>) {
        (self.item, self.sender.map(Wakeup::signal))
    }
}

impl<T> State<T> {
    /// Hands the element to the taker that has waited longest. Returns the element if none waits.
    fn hand_to_taker(&mut self, item: T) -> Result<Wakeup, T> {
        let Some((wakeup, slot)) = self.takers.signal_oldest() else {
            return Err(item);
        };
        *slot.lock() = Some(item);
        Ok(wakeup)
    }
}

impl<T: Send> LinkedTransferQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        let state = State {
            entries: BlockList::default(),
            takers: WaitQueue::default(),
        };
        Self {
            lock: QueueLock::new(state),
            published_len: AtomicUsize::new(0),
        }
    }

    /// Inserts the element and waits until a taker has received it.
    ///
    /// # Errors
    ///
    /// [`PutError::Interrupted`], with the element, which has left the queue.
    ///
    /// # Deadlocks
    ///
    /// Waits forever if nobody takes it and nobody interrupts.
    pub fn transfer(&self, item: T) -> Result<(), PutError<T>> {
        self.transfer_until(item, Deadline::Never)
    }

    /// Hands the element to a taker that already waits.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`], with the element, if nobody waits; nothing is queued.
    pub fn try_transfer(&self, item: T) -> Result<(), PutError<T>> {
        let mut state = self.lock.lock();
        let handed = state.hand_to_taker(item);
        drop(state);
        handed.map(drop).map_err(PutError::Full)
    }

    /// Inserts the element and waits, no longer than `timeout`, until a taker has received it.
    ///
    /// # Errors
    ///
    /// [`PutError::TimedOut`] or [`PutError::Interrupted`], with the element, which has left the
    /// queue.
    #[doc(alias = "tryTransfer")]
    pub fn try_transfer_timeout(&self, item: T, timeout: Duration) -> Result<(), PutError<T>> {
        self.transfer_until(item, timed(timeout))
    }

    /// Returns whether a thread waits for an element.
    pub fn has_waiting_consumer(&self) -> bool {
        self.waiting_consumer_count() > 0
    }

    /// Returns how many threads wait for an element.
    pub fn waiting_consumer_count(&self) -> usize {
        self.lock.lock().takers.len()
    }

    fn enqueue(&self, item: T) {
        let mut state = self.lock.lock();
        match state.hand_to_taker(item) {
            Ok(wakeup) => {
                drop(state);
                drop(wakeup);
            }
            Err(item) => {
                state.entries.push(Entry { item, sender: None });
                self.publish(&state);
            }
        }
    }

    fn transfer_until(&self, item: T, deadline: Deadline) -> Result<(), PutError<T>> {
        let mut state = self.lock.lock();
        let item = match state.hand_to_taker(item) {
            Ok(wakeup) => {
                drop(state);
                drop(wakeup);
                return Ok(());
            }
            Err(item) => item,
        };
        if deadline.has_passed() {
            drop(state);
            return Err(unreceived(WaitOutcome::expired(), item));
        }
        let me = prepare_current();
        state.entries.push(Entry {
            item,
            sender: Some(Arc::clone(&me)),
        });
        self.publish(&state);
        drop(state);
        let reason = park_until_signalled(&me, deadline);
        let mut state = self.lock.lock();
        if me.is_signalled() {
            return Ok(());
        }
        let mine = |entry: &Entry<T>| entry.sender.as_ref().is_some_and(|s| Arc::ptr_eq(s, &me));
        let index = state.entries.iter().position(mine);
        let entry = index.and_then(|index| state.entries.remove(index));
        self.publish(&state);
        drop(state);
        let entry = entry.expect("an entry that nobody received is still queued");
        Err(unreceived(unsignalled_outcome(&me, reason), entry.item))
    }

    fn take_within(&self, limit: WaitLimit) -> Result<Option<T>, Interrupted> {
        let mut state = self.lock.lock();
        if let Some(entry) = state.entries.pop() {
            self.publish(&state);
            let (item, wakeup) = entry.receive();
            drop(state);
            drop(wakeup);
            return Ok(Some(item));
        }
        wait_for_item(&self.lock, state, |state| &mut state.takers, limit)
    }

    /// Removes entries with `f`, which may be user code, and signals the producers that wait for
    /// their receipt.
    fn remove(&self, f: impl FnOnce(&mut BlockList<Entry<T>>) -> Vec<Entry<T>>) -> Vec<T> {
        let mut guard = self.lock.lock();
        let removed = f(&mut self.lock.enter(&mut guard).entries);
        self.publish(&guard);
        let received: Vec<_> = removed.into_iter().map(Entry::receive).collect();
        drop(guard);
        received.into_iter().map(|(item, _wakeup)| item).collect()
    }

    fn drain_up_to(&self, max: usize) -> Vec<T> {
        self.remove(|entries| {
            let mut drained = Vec::with_capacity(max.min(entries.len()));
            drained.extend(std::iter::from_fn(|| entries.pop()).take(max));
            drained
        })
    }

    fn publish(&self, state: &State<T>) {
        self.published_len
            .store(state.entries.len(), Ordering::Relaxed);
    }
}

/// Returns the error of a transfer whose element nobody has received.
fn unreceived<T>(outcome: WaitOutcome, item: T) -> PutError<T> {
    match outcome {
        WaitOutcome::TimedOut => PutError::TimedOut(item),
        WaitOutcome::Interrupted | WaitOutcome::Signalled => PutError::Interrupted(item),
    }
}

impl<T: Send> Default for LinkedTransferQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for LinkedTransferQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let queue = Self::new();
        items.into_iter().for_each(|item| queue.enqueue(item));
        queue
    }
}

impl<T: Send> BlockingQueue<T> for LinkedTransferQueue<T> {
    fn offer(&self, item: T) -> Result<(), PutError<T>> {
        self.enqueue(item);
        Ok(())
    }

    fn offer_timeout(&self, item: T, _timeout: Duration) -> Result<(), PutError<T>> {
        self.enqueue(item);
        Ok(())
    }

    fn put(&self, item: T) -> Result<(), PutError<T>> {
        self.enqueue(item);
        Ok(())
    }

    removals_within!(T);

    fn drain(&self, max: usize) -> Vec<T> {
        self.drain_up_to(max)
    }

    fn drain_all(&self) -> Vec<T> {
        self.drain_up_to(usize::MAX)
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        let removed = self.remove(|entries| {
            let index = entries.iter().position(|entry| wanted(&entry.item));
            Vec::from_iter(index.and_then(|index| entries.remove(index)))
        });
        removed.into_iter().next()
    }

    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        self.remove(|entries| {
            // All verdicts first, so that a predicate that panics changes nothing.
            let verdicts: Vec<bool> = entries.iter().map(|entry| keep(&entry.item)).collect();
            entries.retain(&mut verdicts.into_iter())
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&T)) {
        let mut guard = self.lock.lock();
        let state = self.lock.enter(&mut guard);
        state.entries.iter().for_each(|entry| f(&entry.item));
    }

    fn peek(&self, f: &mut dyn FnMut(&T)) {
        let mut guard = self.lock.lock();
        let state = self.lock.enter(&mut guard);
        if let Some(entry) = state.entries.iter().next() {
            f(&entry.item);
        }
    }

    fn len(&self) -> usize {
        // Under the lock, which orders the length with what its reader and a producer do beside the
        // queue: a pool's last worker leaves and then looks for an element, a submitter inserts one
        // and then looks for a worker.
        let guard = self.lock.lock_unless_entered();
        let len = self.published_len.load(Ordering::Relaxed);
        drop(guard);
        len
    }

    fn remaining_capacity(&self) -> Option<usize> {
        None
    }

    fn waiting(&self) -> Option<Waiting> {
        let state = self.lock.lock();
        let senders = state.entries.iter().filter(|entry| entry.sender.is_some());
        Some(Waiting {
            takers: state.takers.len(),
            putters: senders.count(),
        })
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for LinkedTransferQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, "LinkedTransferQueue", f)
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::LinkedTransferQueue;
    use crate::interrupt;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::queue::{BlockingQueue, PutError};
    use crate::sync::model;

    #[test]
    fn a_transfer_returns_when_its_element_has_been_received() {
        model(|| {
            let queue = Arc::new(LinkedTransferQueue::new());
            let theirs = Arc::clone(&queue);
            let sender = spawn(move || theirs.transfer(7));
            assert_eq!(queue.take(), Ok(7));
            assert_eq!(sender.join().unwrap(), Ok(()));
            assert_eq!(queue.len(), 0);
        });
    }

    #[test]
    fn an_interrupted_transfer_is_received_or_withdrawn_never_both() {
        model(|| {
            let queue = Arc::new(LinkedTransferQueue::new());
            let me = interrupt::current();
            let theirs = Arc::clone(&queue);
            let other = spawn(move || {
                let taken = theirs.poll();
                me.interrupt();
                taken
            });
            let sent = queue.transfer(7);
            let taken = other.join().unwrap();
            match sent {
                Ok(()) => assert_eq!(taken, Some(7)),
                Err(refused) => {
                    assert_eq!(refused, PutError::Interrupted(7));
                    assert_eq!((taken, queue.len()), (None, 0));
                }
            }
            let _ = interrupt::interrupted();
        });
    }

    #[test]
    fn every_element_finds_a_taker_that_waits_or_comes() {
        model(|| scenarios::every_element_finds_a_taker(LinkedTransferQueue::new()));
    }

    #[test]
    fn an_interrupted_taker_strands_neither_an_element_nor_another_taker() {
        model(|| scenarios::an_interrupted_taker_strands_nobody(LinkedTransferQueue::new()));
    }

    #[test]
    fn draining_an_element_releases_its_sender() {
        model(|| {
            let queue = Arc::new(LinkedTransferQueue::new());
            let theirs = Arc::clone(&queue);
            let sender = spawn(move || theirs.transfer(7));
            let drained = queue.drain_all();
            if drained.is_empty() {
                assert_eq!(queue.take(), Ok(7));
            }
            assert_eq!(sender.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn whoever_takes_an_element_sees_what_was_done_before_it_was_put() {
        model(|| scenarios::a_taker_sees_what_came_before_the_put(LinkedTransferQueue::new()));
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(
                LinkedTransferQueue::new(),
            );
        });
    }
}
