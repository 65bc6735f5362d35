//! Queues that count the running tasks of each key: a task that leaves carries a guard.

use std::hash::Hash;
use std::sync::Arc;

use crate::queue::{CapacityError, FairShareQueue, KeyLimitQueue};
use crate::task::Task;

impl<K: Hash + Eq + Clone + Send + 'static> KeyLimitQueue<Task, K> {
    /// Creates a queue of which no more than `limit` tasks with the same key run at a time.
    ///
    /// `key` runs under the lock of the queue. If it panics, the task is dropped and the panic
    /// reaches the submitter.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn new(
        limit: usize,
        key: impl Fn(&Task) -> K + Send + Sync + 'static,
    ) -> Result<Self, CapacityError> {
        Self::guarded(limit, Arc::new(key), |task, running| {
            task.with_guard(running)
        })
    }
}

impl<K: Hash + Eq + Clone + Send + 'static> FairShareQueue<Task, K> {
    /// Sets how many tasks of one tenant may run at a time, as in a [`KeyLimitQueue`].
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    ///
    /// ```
    /// use windlass::queue::FairShareQueue;
    /// use windlass::task::Task;
    ///
    /// let queue = FairShareQueue::new(|task: &Task| task.priority());
    /// assert!(queue.limit_per_key(2).is_ok());
    /// ```
    pub fn limit_per_key(self, limit: usize) -> Result<Self, CapacityError> {
        self.limited(limit, |task, running| task.with_guard(running))
    }
}
