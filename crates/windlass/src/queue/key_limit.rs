//! An unbounded queue that limits how many elements with the same key run at a time.

use std::hash::Hash;
use std::sync::Arc;

use super::error::CapacityError;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::lanes::{AddGuard, KeyOf, Lanes, Order};

/// A queue that limits how many tasks with the same key run at a time.
///
/// A task whose key has reached the limit stays queued while others pass. When a task with that key
/// has ended (completed, failed, panicked, or was dropped unrun), the next one can leave, and a worker
/// that waits is woken. A task that is cancelled counts until its code has returned. Among the tasks
/// that may leave, the first to arrive is next.
///
/// A task counts from the moment it is polled, taken or [drained](super::BlockingQueue::drain) until
/// it has ended, also if it is run elsewhere; so do not offer it to the same queue again. Tasks that
/// `drain_all`, `remove_first` or `retain` remove do not count.
///
/// A pool passes every task through this queue, also the first one of a new worker
/// ([`sees_every_element`](super::BlockingQueue::sees_every_element)). Not limited is what a worker
/// runs in place because another task waits for it, and what a policy runs on the submitter.
///
/// For shares by weight with a limit, see
/// [`FairShareQueue::limit_per_key`](super::FairShareQueue::limit_per_key). A pending interrupt ends
/// every call that can wait, even where it need not wait.
///
/// ```
/// use windlass::prelude::*;
/// use windlass::queue::KeyLimitQueue;
/// use windlass::task::Task;
///
/// // No more than two connections to each host.
/// let queue = KeyLimitQueue::new(2, |task: &Task| task.name().map(str::to_owned)).unwrap();
/// let pool = ThreadPoolExecutor::builder().core_pool_size(8).work_queue(queue).build().unwrap();
/// for host in ["a", "a", "a", "b"] {
///     pool.task().name(host).execute(|| { /* at most two of host a at a time */ }).unwrap();
/// }
/// pool.close();
/// ```
pub struct KeyLimitQueue<T: Send, K: Hash + Eq + Clone + Send + 'static>(
    Arc<Blocking<Lanes<T, K>>>,
);

impl<T: Send, K: Hash + Eq + Clone + Send + 'static> KeyLimitQueue<T, K> {
    pub(crate) fn guarded(
        limit: usize,
        key: KeyOf<T, K>,
        add_guard: AddGuard<T, K>,
    ) -> Result<Self, CapacityError> {
        let queue = Self(Lanes::queue(key, Order::Arrival));
        queue.0.change(|lanes| lanes.set_add_guard(add_guard));
        queue.set_limit(limit)?;
        Ok(queue)
    }

    /// Returns how many tasks with the same key may run at a time.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.with(|state| (state.items.discipline.limit(), ()))
    }

    /// Changes how many tasks with the same key may run at a time; returns the former limit.
    ///
    /// A task that has left the queue is not recalled.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn set_limit(&self, limit: usize) -> Result<usize, CapacityError> {
        if limit == 0 {
            return Err(CapacityError::Zero);
        }
        Ok(self.0.change(|lanes| lanes.set_limit(limit)))
    }

    /// Returns how many tasks with this key have left the queue and have not ended.
    #[must_use]
    pub fn running(&self, key: &K) -> usize {
        self.0
            .with(|state| (state.items.discipline.counts(key).1, ()))
    }

    /// Returns how many keys the queue knows: those with tasks that are queued or run.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.0
            .with(|state| (state.items.discipline.lane_count(), ()))
    }
}

delegate_queue!([K: Hash + Eq + Clone + Send + 'static] KeyLimitQueue<T, K>, |queue| &*queue.0);

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::KeyLimitQueue;
    use crate::queue::BlockingQueue;
    use crate::queue::parts::lanes::Running;
    use crate::queue::parts::scenarios::{self, spawn};
    use crate::sync::model;

    /// An element that counts as running until it is dropped.
    struct Guarded {
        number: u32,
        _running: Option<Running<Self, u32>>,
    }

    fn queue(numbers: &[u32]) -> Arc<KeyLimitQueue<Guarded, u32>> {
        let queue = KeyLimitQueue::guarded(
            1,
            Arc::new(|element: &Guarded| element.number / 10),
            |element, running| Guarded {
                _running: Some(running),
                ..element
            },
        );
        let queue = Arc::new(queue.unwrap());
        for &number in numbers {
            let element = Guarded {
                number,
                _running: None,
            };
            assert!(queue.offer(element).is_ok());
        }
        queue
    }

    #[test]
    fn a_taker_that_waits_for_a_key_gets_its_next_element_when_one_has_ended() {
        model(|| {
            let queue = queue(&[10, 11]);
            let first = queue.take().unwrap();
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap().number);
            drop(first);
            assert_eq!(taker.join().unwrap(), 11);
            assert_eq!(queue.key_count(), 0);
        });
    }

    #[test]
    fn two_takers_get_the_elements_of_one_key_one_after_the_other() {
        model(|| {
            let queue = queue(&[10, 11, 12]);
            let first = queue.poll().unwrap();
            let takers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(move || queue.take().unwrap().number)
            });
            drop(first);
            let sum: u32 = takers.map(|taker| taker.join().unwrap()).iter().sum();
            assert_eq!((sum, queue.len()), (23, 0));
        });
    }

    #[test]
    fn a_higher_limit_wakes_takers() {
        model(|| {
            let queue = queue(&[10, 11]);
            let first = queue.take().unwrap();
            let theirs = Arc::clone(&queue);
            let taker = spawn(move || theirs.take().unwrap().number);
            queue.set_limit(2).unwrap();
            assert_eq!(taker.join().unwrap(), 11);
            drop(first);
        });
    }

    #[test]
    fn an_element_is_counted_or_its_producer_sees_who_counts() {
        model(|| {
            let queue = KeyLimitQueue::guarded(1, Arc::new(|&key: &u32| key), |element, _| element);
            scenarios::an_element_is_counted_or_its_producer_sees_who_counts(queue.unwrap());
        });
    }
}
