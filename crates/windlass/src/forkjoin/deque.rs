//! The deque of a worker: its owner works at one end, thieves take from the other.
//!
//! The deque itself is crossbeam's. The models cannot look into it, and run with a locked one in its
//! place: what they check is the protocol around it.

use super::job::Work;

#[cfg(not(any(loom, shuttle)))]
pub(super) use fast::{Deque, Stealer};
#[cfg(any(loom, shuttle))]
pub(super) use locked::{Deque, Stealer};

/// The order in which a worker takes what it has forked itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalOrder {
    /// The newest first: best for tasks that are joined.
    Lifo,
    /// The oldest first: best for tasks that nobody joins.
    Fifo,
}

#[cfg(not(any(loom, shuttle)))]
mod fast {
    use std::fmt;

    use crossbeam_deque::Steal;

    use super::{LocalOrder, Work};

    pub(in super::super) struct Deque(crossbeam_deque::Worker<Work>);

    #[derive(Clone)]
    pub(in super::super) struct Stealer(crossbeam_deque::Stealer<Work>);

    impl Deque {
        pub(in super::super) fn new(order: LocalOrder) -> Self {
            Self(match order {
                LocalOrder::Lifo => crossbeam_deque::Worker::new_lifo(),
                LocalOrder::Fifo => crossbeam_deque::Worker::new_fifo(),
            })
        }

        pub(in super::super) fn push(&self, work: Work) {
            self.0.push(work);
        }

        pub(in super::super) fn pop(&self) -> Option<Work> {
            self.0.pop()
        }

        pub(in super::super) fn stealer(&self) -> Stealer {
            Stealer(self.0.stealer())
        }
    }

    impl Stealer {
        pub(in super::super) fn steal(&self) -> Option<Work> {
            loop {
                match self.0.steal() {
                    Steal::Success(work) => return Some(work),
                    Steal::Empty => return None,
                    Steal::Retry => std::hint::spin_loop(),
                }
            }
        }

        pub(in super::super) fn len(&self) -> usize {
            self.0.len()
        }
    }

    impl fmt::Debug for Stealer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Stealer").field("len", &self.len()).finish()
        }
    }
}

#[cfg(any(loom, shuttle))]
mod locked {
    use std::collections::VecDeque;
    use std::fmt;
    use std::sync::Arc;

    use super::{LocalOrder, Work};
    use crate::sync::Mutex;

    pub(in super::super) struct Deque(Stealer, LocalOrder);

    #[derive(Clone)]
    pub(in super::super) struct Stealer(Arc<Mutex<VecDeque<Work>>>);

    impl Deque {
        pub(in super::super) fn new(order: LocalOrder) -> Self {
            Self(Stealer(Arc::new(Mutex::new(VecDeque::new()))), order)
        }

        pub(in super::super) fn push(&self, work: Work) {
            self.0.0.lock().push_back(work);
        }

        pub(in super::super) fn pop(&self) -> Option<Work> {
            let mut works = self.0.0.lock();
            match self.1 {
                LocalOrder::Lifo => works.pop_back(),
                LocalOrder::Fifo => works.pop_front(),
            }
        }

        pub(in super::super) fn stealer(&self) -> Stealer {
            self.0.clone()
        }
    }

    impl Stealer {
        pub(in super::super) fn steal(&self) -> Option<Work> {
            self.0.lock().pop_front()
        }

        pub(in super::super) fn len(&self) -> usize {
            self.0.lock().len()
        }
    }

    impl fmt::Debug for Stealer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Stealer(..)")
        }
    }
}
