//! The order and the admission rule of a queue, without any concurrency.

use std::mem;
use std::time::Instant;

use super::error::CapacityError;
use crate::unwind::ignore_panic;

/// The order and the admission rule of a queue: which element is next, and whether one more may be
/// inserted.
///
/// Implement this for an ordering of your own; [`Blocking`](super::Blocking) adds the lock, the
/// waiting, time-outs, interrupts and exact wake-ups. All methods run under that lock: they must
/// not block, and cannot use the queue itself (it panics rather than deadlock).
///
/// Six methods are required: [`push`](Self::push), [`pop`](Self::pop), [`len`](Self::len),
/// [`peek`](Self::peek), [`iter`](Self::iter) and [`remove`](Self::remove). The others have
/// defaults: for a bound override [`capacity`](Self::capacity), for an admission rule
/// [`admits`](Self::admits), for a bound on some of the elements
/// [`has_room_for`](Self::has_room_for) and
/// [`has_partial_bounds`](Self::has_partial_bounds), for elements that are not available yet
/// [`ready_at`](Self::ready_at) or [`available`](Self::available).
///
/// # Panics
///
/// A method may panic if it leaves the discipline as it was before the call. The panic reaches the
/// caller of the queue, and the queue stays as it was: no element is lost or doubled, the length is
/// right, and threads that wait are served as if there had been no call. What `poll`, `take` or
/// `drain` had removed already is next to leave. Two calls of the queue cannot be undone where a
/// method panics later: an element stays inserted after [`push`](Self::push) has returned, and
/// `remove_first`, `retain` and `drain_all` deliver what they removed and discard the panic.
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
///     fn remove(&mut self, index: usize) -> T {
///         let last = self.0.len() - 1;
///         self.0.remove(last - index)
///     }
/// }
///
/// let queue = Blocking::new(Stack(Vec::new()));
/// queue.offer(1).unwrap();
/// queue.offer(2).unwrap();
/// assert_eq!(queue.poll(), Some(2));
/// ```
pub trait Discipline: Send {
    /// The type of the elements.
    type Item: Send;

    /// Inserts an element. Called only if there is room and the element is admitted.
    fn push(&mut self, item: Self::Item);

    /// Inserts the element of `item`, and leaves `None` there. Called instead of [`push`](Self::push).
    ///
    /// An element that is still there when this panics is dropped after the lock was released, so that its
    /// `Drop` can use the queue. Override where [`push`](Self::push) may panic.
    fn push_from(&mut self, item: &mut Option<Self::Item>) {
        if let Some(item) = item.take() {
            self.push(item);
        }
    }

    /// Removes the element that is next, whatever [`ready_at`](Self::ready_at) returns; `None` if
    /// none is [available](Self::available).
    fn pop(&mut self) -> Option<Self::Item>;

    /// Returns how many elements there are.
    fn len(&self) -> usize;

    /// Returns the element that [`pop`](Self::pop) would remove; if none is
    /// [available](Self::available), one that is first in some order.
    fn peek(&self) -> Option<&Self::Item>;

    /// Returns all elements, in queue order or in any fixed order of the structure.
    fn iter(&self) -> Box<dyn Iterator<Item = &Self::Item> + '_>;

    /// Removes the element at this index in the order of [`iter`](Self::iter).
    fn remove(&mut self, index: usize) -> Self::Item;

    /// Keeps the elements whose verdict is true, in the order of [`iter`](Self::iter). Returns the
    /// others in that order.
    ///
    /// Override where many single removals would be slow, or where [`remove`](Self::remove) may
    /// panic: this one then pushes again what it has removed.
    fn retain(&mut self, verdicts: &[bool]) -> Vec<Self::Item> {
        let removals = verdicts
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, keep)| !**keep);
        let mut taken = PushAgain::of(self);
        for (index, _) in removals {
            let item = taken.discipline.remove(index);
            taken.items.push(item);
        }
        let mut removed = taken.finish();
        removed.reverse();
        removed
    }

    /// Removes everything, whatever [`ready_at`](Self::ready_at) returns.
    ///
    /// Override where [`pop`](Self::pop) does not remove everything, or may panic: this one then
    /// pushes again what it has removed.
    fn take_all(&mut self) -> Vec<Self::Item> {
        let mut taken = PushAgain::of(self);
        taken.items.reserve_exact(taken.discipline.len());
        while let Some(item) = taken.discipline.pop() {
            taken.items.push(item);
        }
        taken.finish()
    }

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bound; `None` if there is none.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Changes the bound. Returns the former one.
    ///
    /// # Errors
    ///
    /// [`CapacityError`] if the bound is zero or cannot be changed; nothing is changed then.
    fn set_capacity(&mut self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        let _ = capacity;
        Err(CapacityError::NotResizable)
    }

    /// Returns whether this element may be inserted, regardless of room.
    fn admits(&self, item: &Self::Item) -> bool {
        let _ = item;
        true
    }

    /// Returns whether there is room for this element, if there is room at all.
    ///
    /// Threads that wait for room try again whenever an element is removed.
    fn has_room_for(&self, item: &Self::Item) -> bool {
        let _ = item;
        true
    }

    /// Returns how many elements [`pop`](Self::pop) would remove one after the other.
    ///
    /// Fewer than all if some wait for an event outside of the queue.
    fn available(&self) -> usize {
        self.len()
    }

    /// Returns whether a pool has to pass every task through this queue; see
    /// [`BlockingQueue::sees_every_element`](super::BlockingQueue::sees_every_element).
    fn sees_every_element(&self) -> bool {
        false
    }

    /// Returns whether [`has_room_for`](Self::has_room_for) ever returns false; see
    /// [`BlockingQueue::has_partial_bounds`](super::BlockingQueue::has_partial_bounds).
    fn has_partial_bounds(&self) -> bool {
        false
    }

    /// Returns the time before which the next element must not leave; `None` if it may leave now.
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// Returns the time before which the element after the next must not leave, if there is one and
    /// the time is known.
    ///
    /// A second taker then parks until that time, so that the taker of the next element need not
    /// wake another one.
    fn ready_next_at(&self) -> Option<Instant> {
        None
    }
}

/// Elements that have been removed from a discipline, and are pushed again if it panics.
struct PushAgain<'a, D: Discipline + ?Sized> {
    discipline: &'a mut D,
    items: Vec<D::Item>,
}

impl<'a, D: Discipline + ?Sized> PushAgain<'a, D> {
    fn of(discipline: &'a mut D) -> Self {
        Self {
            discipline,
            items: Vec::new(),
        }
    }

    fn finish(mut self) -> Vec<D::Item> {
        mem::take(&mut self.items)
    }
}

impl<D: Discipline + ?Sized> Drop for PushAgain<'_, D> {
    fn drop(&mut self) {
        for item in mem::take(&mut self.items) {
            ignore_panic(|| self.discipline.push(item));
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Discipline;
    use crate::queue::parts::scenarios::spawn;
    use crate::queue::{Blocking, BlockingQueue, PutError};
    use crate::sync::model;

    /// A discipline with room for one element, which rejects 2 after an element has left.
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
