//! A first-in-first-out queue whose bound can be changed while it is in use.

use std::fmt;
use std::time::Duration;

use super::two_lock::{Bound, TwoLock};
use super::{BlockingQueue, CapacityError, PutError, Waiting};
use crate::interrupt::Interrupted;

/// A first-in-first-out queue whose capacity can be changed at any time.
///
/// A larger bound lets in, at once, as many waiting putters as there is new room for. A smaller
/// one drops nothing: what is queued beyond it stays, in order, and nothing new comes in until
/// there are fewer elements than the bound.
///
/// A pending interrupt ends `take`, `put` and the timed calls even where they need not wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, ResizableBlockingQueue};
///
/// let queue = ResizableBlockingQueue::with_capacity(1).unwrap();
/// queue.offer('a').unwrap();
/// assert!(queue.offer('b').is_err());
/// assert_eq!(queue.set_capacity(2), Ok(Some(1)));
/// assert!(queue.offer('b').is_ok());
/// ```
#[doc(alias = "VariableLinkedBlockingQueue")]
pub struct ResizableBlockingQueue<T: Send>(TwoLock<T>);

impl<T: Send> ResizableBlockingQueue<T> {
    /// Makes a queue without a bound; [`set_capacity`](BlockingQueue::set_capacity) can give it one.
    #[must_use]
    pub fn new() -> Self {
        Self(TwoLock::new(None, Bound::Changeable))
    }

    /// Makes a queue with room for `capacity` elements, for now.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(Self(TwoLock::new(Some(capacity), Bound::Changeable)))
    }
}

impl<T: Send> Default for ResizableBlockingQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> FromIterator<T> for ResizableBlockingQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let queue = Self::new();
        items.into_iter().for_each(|item| queue.0.append(item));
        queue
    }
}

delegate_queue!(ResizableBlockingQueue<T>, |queue| &queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::ResizableBlockingQueue;
    use crate::queue::BlockingQueue;
    use crate::sync::{model, thread};

    #[test]
    fn a_putter_that_waits_sees_the_larger_bound() {
        model(|| {
            let queue = Arc::new(ResizableBlockingQueue::with_capacity(1).unwrap());
            queue.offer(1).unwrap();
            let putter = {
                let queue = Arc::clone(&queue);
                thread::Builder::new()
                    .spawn(move || queue.put(2).unwrap())
                    .unwrap()
            };
            queue.set_capacity(2).unwrap();
            putter.join().unwrap();
            assert_eq!(queue.drain(9), [1, 2]);
        });
    }
}
