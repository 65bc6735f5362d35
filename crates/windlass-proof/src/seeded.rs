//! A queue with a seeded bug, to show that a check notices it.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::error::{Interrupted, PutError};
use windlass::queue::{BlockingQueue, LinkedBlockingDeque, Waiting};

/// What is wrong with a [`SeededQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The last element in is the first out.
    Lifo,
    /// Loses one of so many elements.
    LosesOneOf(usize),
}

/// An unbounded queue that claims to be first in, first out, and to lose nothing.
pub struct SeededQueue<T: Send> {
    inner: LinkedBlockingDeque<T>,
    bug: Bug,
    taken: AtomicUsize,
}

impl<T: Send> SeededQueue<T> {
    /// Creates a queue with this bug.
    #[must_use]
    pub fn new(bug: Bug) -> Self {
        Self {
            inner: LinkedBlockingDeque::new(),
            bug,
            taken: AtomicUsize::new(0),
        }
    }
}

impl<T: Send> fmt::Debug for SeededQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeededQueue({:?})", self.bug)
    }
}

impl<T: Send> BlockingQueue<T> for SeededQueue<T> {
    fn offer(&self, item: T) -> Result<(), PutError<T>> {
        let taken = 1 + self.taken.fetch_add(1, Ordering::SeqCst);
        match self.bug {
            Bug::Lifo => self.inner.offer_first(item),
            Bug::LosesOneOf(many) if taken % many == 0 => {
                mem::forget(item);
                Ok(())
            }
            Bug::LosesOneOf(_) => self.inner.offer(item),
        }
    }

    fn offer_timeout(&self, item: T, _timeout: Duration) -> Result<(), PutError<T>> {
        self.offer(item)
    }

    fn put(&self, item: T) -> Result<(), PutError<T>> {
        self.offer(item)
    }

    fn poll(&self) -> Option<T> {
        self.inner.poll()
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<T>, Interrupted> {
        self.inner.poll_timeout(timeout)
    }

    fn take(&self) -> Result<T, Interrupted> {
        self.inner.take()
    }

    fn drain(&self, max: usize) -> Vec<T> {
        self.inner.drain(max)
    }

    fn drain_all(&self) -> Vec<T> {
        self.inner.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&T) -> bool) -> Option<T> {
        self.inner.remove_first(wanted)
    }

    fn retain(&self, keep: &mut dyn FnMut(&T) -> bool) -> Vec<T> {
        self.inner.retain(keep)
    }

    fn for_each(&self, f: &mut dyn FnMut(&T)) {
        self.inner.for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&T)) {
        self.inner.peek(f);
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.inner.remaining_capacity()
    }

    fn waiting(&self) -> Option<Waiting> {
        self.inner.waiting()
    }
}
