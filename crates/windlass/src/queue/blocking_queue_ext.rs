//! Convenience methods of every queue, in a trait of their own: `BlockingQueue` has only methods
//! that a trait object can have.

use super::blocking_queue::BlockingQueue;
use super::error::Unplaced;

/// Convenience methods of every queue, implemented with those of [`BlockingQueue`].
///
/// ```
/// use windlass::queue::{BlockingQueueExt, LinkedBlockingQueue};
///
/// let queue: LinkedBlockingQueue<u32> = (1..=3).collect();
/// assert!(queue.contains(&mut |&n| n == 2));
/// assert_eq!(queue.snapshot(), [1, 2, 3]);
/// ```
pub trait BlockingQueueExt<T: Send>: BlockingQueue<T> {
    /// Returns whether an element is queued for which `wanted` returns true.
    fn contains(&self, wanted: &mut dyn FnMut(&T) -> bool) -> bool {
        let mut found = false;
        self.for_each(&mut |item| found = found || wanted(item));
        found
    }

    /// Returns a copy of what is queued, in the order of [`BlockingQueue::for_each`].
    #[doc(alias = "toArray")]
    fn snapshot(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut items = Vec::new();
        self.for_each(&mut |item| items.push(item.clone()));
        items
    }

    /// Returns a copy of the next element.
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
    /// The element of a thread that waits at a [`SynchronousQueue`](super::SynchronousQueue) is not
    /// in the queue, and stays with the thread.
    fn clear(&self) {
        drop(self.retain(&mut |_| false));
    }

    /// Offers the elements in turn. Returns how many were placed.
    ///
    /// # Errors
    ///
    /// [`Unplaced`] if an element is rejected: those before it stay in the queue, and the error
    /// holds it and the rest.
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
