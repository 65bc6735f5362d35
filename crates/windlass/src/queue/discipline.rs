//! The order and the admission rule of a queue, without any concurrency.

use std::collections::VecDeque;
use std::time::Instant;

use super::CapacityError;

/// Which element is next, and whether one more may come in.
///
/// Implement this for an ordering of your own; [`Blocking`](super::Blocking) adds the lock, the
/// waiting, time-outs, interrupts and exact wake-ups. All methods run under that lock: they must
/// not block, and cannot use the queue itself (it panics rather than deadlock).
///
/// A stack, as a work queue that runs the newest task first:
///
/// ```
/// use windlass::queue::{Blocking, BlockingQueue, Discipline};
///
/// struct Stack<T>(Vec<T>);
///
/// impl<T: Send> Discipline for Stack<T> {
///     type Item = T;
///     fn push(&mut self, item: T) {
///         self.0.push(item);
///     }
///     fn pop(&mut self) -> Option<T> {
///         self.0.pop()
///     }
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///     fn peek(&self) -> Option<&T> {
///         self.0.last()
///     }
///     fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
///         Box::new(self.0.iter().rev())
///     }
///     fn remove(&mut self, at: usize) -> T {
///         let index = self.0.len() - 1 - at;
///         self.0.remove(index)
///     }
/// }
///
/// let queue = Blocking::new(Stack(Vec::new()));
/// queue.offer(1).unwrap();
/// queue.offer(2).unwrap();
/// assert_eq!(queue.poll(), Some(2));
/// ```
pub trait Discipline: Send {
    /// What is queued.
    type Item: Send;

    /// Takes an element in. Called only where there is room and the element is admitted.
    fn push(&mut self, item: Self::Item);

    /// Gives up the element that is next, whatever [`ready_at`](Self::ready_at) says.
    fn pop(&mut self) -> Option<Self::Item>;

    /// How many elements there are.
    fn len(&self) -> usize;

    /// The element that [`pop`](Self::pop) would give.
    fn peek(&self) -> Option<&Self::Item>;

    /// All elements, in queue order or in any fixed order of the structure.
    fn iter(&self) -> Box<dyn Iterator<Item = &Self::Item> + '_>;

    /// Takes out the element at this place in the order of [`iter`](Self::iter).
    fn remove(&mut self, at: usize) -> Self::Item;

    /// Keeps the elements that `keep` marks, by place in the order of [`iter`](Self::iter), and
    /// gives the others back in that order.
    ///
    /// Override where many single removals would be slow.
    fn retain(&mut self, keep: &[bool]) -> Vec<Self::Item> {
        let gone = keep.iter().enumerate().rev().filter(|(_, keep)| !**keep);
        let mut removed: Vec<_> = gone.map(|(at, _)| self.remove(at)).collect();
        removed.reverse();
        removed
    }

    /// Gives up everything, whatever [`ready_at`](Self::ready_at) says.
    fn take_all(&mut self) -> Vec<Self::Item> {
        let mut items = Vec::with_capacity(self.len());
        items.extend(std::iter::from_fn(|| self.pop()));
        items
    }

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements may be queued; `None` for any number.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Changes the bound; gives the former one.
    ///
    /// # Errors
    ///
    /// [`CapacityError`], and nothing is changed.
    fn set_capacity(&mut self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let _ = capacity;
        Err(CapacityError::NotResizable)
    }

    /// Whether this element may come in at all, room aside.
    fn admits(&self, item: &Self::Item) -> bool {
        let _ = item;
        true
    }

    /// Before when the next element must not leave; `None` if it may leave now.
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// Before when the element after the next must not leave, where that is known and there is one.
    ///
    /// A second taker then sleeps until that moment, so that the one which leaves with the next
    /// element need not wake another first.
    fn ready_next_at(&self) -> Option<Instant> {
        None
    }
}

/// Splits a sequence by verdict in one pass: the kept elements stay, the others come back.
pub(super) fn partition<T>(items: &mut VecDeque<T>, keep: &[bool]) -> Vec<T> {
    let mut removed = Vec::new();
    for &keep in keep {
        if let Some(item) = items.pop_front() {
            if keep {
                items.push_back(item);
            } else {
                removed.push(item);
            }
        }
    }
    removed
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Discipline;
    use crate::queue::scenarios::spawn;
    use crate::queue::{Blocking, BlockingQueue, PutError};
    use crate::sync::model;

    /// Has one place, and no longer admits 2 once an element has left.
    struct Picky {
        held: Option<u32>,
        popped: bool,
    }

    impl Discipline for Picky {
        type Item = u32;
        fn push(&mut self, item: u32) {
            self.held = Some(item);
        }
        fn pop(&mut self) -> Option<u32> {
            self.popped = true;
            self.held.take()
        }
        fn len(&self) -> usize {
            usize::from(self.held.is_some())
        }
        fn peek(&self) -> Option<&u32> {
            self.held.as_ref()
        }
        fn iter(&self) -> Box<dyn Iterator<Item = &u32> + '_> {
            Box::new(self.held.iter())
        }
        fn remove(&mut self, _at: usize) -> u32 {
            self.held.take().unwrap()
        }
        fn capacity(&self) -> Option<usize> {
            Some(1)
        }
        fn admits(&self, item: &u32) -> bool {
            !(self.popped && *item == 2)
        }
    }

    #[test]
    fn a_putter_that_is_refused_after_its_wait_passes_its_place_on() {
        model(|| {
            let picky = Picky {
                held: Some(1),
                popped: false,
            };
            let queue = Arc::new(Blocking::new(picky));
            let theirs = Arc::clone(&queue);
            let refused = spawn(move || theirs.put(2));
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.poll());
            queue.put(3).unwrap();
            assert_eq!(queue.poll(), Some(3));
            assert_eq!(refused.join().unwrap(), Err(PutError::Refused(2)));
            assert_eq!(taker.join().unwrap(), Some(1));
        });
    }
}
