//! An unbounded queue that shares its consumers fairly between keys, by weight.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::error::CapacityError;
use super::parts::blocking::Blocking;
use super::parts::delegate::delegate_queue;
use super::parts::lanes::{AddGuard, Lanes, Order};

/// A queue that shares its consumers between the tenants of a service, by weight.
///
/// Each element belongs to the tenant whose key `key` returns for it. While several tenants have
/// elements queued, those leave in proportion to the weights, so nobody waits behind the backlog of
/// another. The elements of one tenant are first in, first out. A tenant that was idle gains no
/// credit, and one without elements takes no memory.
///
/// A weight is one unless it is [set](Self::set_weight), and counts tasks, not their run time. An
/// insertion or a removal takes time in the logarithm of the number of tenants with elements.
/// [`drain_all`](super::BlockingQueue::drain_all) and `for_each` are in order of arrival.
///
/// The queue takes any number of elements, unless there is a [bound](Self::bound_per_key) for each
/// tenant. A pending interrupt ends every call that can wait, even where it need not wait.
///
/// ```
/// use windlass::queue::{BlockingQueue, FairShareQueue};
///
/// let queue = FairShareQueue::new(|job: &(&'static str, u32)| job.0);
/// for n in 0..1000 {
///     queue.offer(("big", n)).unwrap();
/// }
/// queue.offer(("small", 0)).unwrap();
/// let first = queue.drain(3);
/// assert!(first.contains(&("small", 0)), "{first:?}");
/// ```
///
/// For a pool, the key can be read from what is attached to the task:
///
/// ```
/// use std::sync::Arc;
/// use windlass::prelude::*;
/// use windlass::queue::FairShareQueue;
/// use windlass::task::Task;
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Tenant(&'static str);
///
/// let queue = FairShareQueue::new(|task: &Task| task.attachment::<Tenant>().cloned());
/// let pool = ThreadPoolExecutor::builder().core_pool_size(1).work_queue(queue).build().unwrap();
/// let report = pool.task().attach(Tenant("acme")).submit(|| 42).unwrap();
/// assert_eq!(report.join().unwrap(), 42);
/// ```
pub struct FairShareQueue<T: Send, K: Hash + Eq + Clone + Send + 'static>(
    Arc<Blocking<Lanes<T, K>>>,
);

impl<T: Send, K: Hash + Eq + Clone + Send + 'static> FairShareQueue<T, K> {
    /// Creates a queue whose tenants are told apart by `key`.
    ///
    /// `key` runs under the lock of the queue. If it panics, the element is dropped and the panic
    /// reaches the caller.
    pub fn new(key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        Self(Lanes::queue(Arc::new(key), Order::Share))
    }

    /// Sets how many elements of one tenant may be queued; a tenant with as many gets
    /// [`PutError::Full`](super::PutError::Full), the others go on.
    ///
    /// # Errors
    ///
    /// [`CapacityError::Zero`].
    pub fn bound_per_key(self, bound: usize) -> Result<Self, CapacityError> {
        if bound == 0 {
            return Err(CapacityError::Zero);
        }
        self.0.change(|lanes| lanes.set_bound(bound));
        Ok(self)
    }

    /// Sets the weight of a tenant, from its next element on. Returns the former weight.
    ///
    /// A tenant of weight three gets three times the share of a tenant of weight one. A weight
    /// other than one is kept until it is set to one, also while the tenant has no elements.
    pub fn set_weight(&self, key: K, weight: NonZeroU32) -> NonZeroU32 {
        self.0.change(|lanes| lanes.set_weight(key, weight))
    }

    /// Returns how many elements of a tenant are queued.
    #[must_use]
    pub fn len_of(&self, key: &K) -> usize {
        self.0
            .with(|state| (state.items.discipline.counts(key).0, ()))
    }

    /// Returns how many tenants the queue knows: those with elements, and those that have had more
    /// than their share.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.0
            .with(|state| (state.items.discipline.lane_count(), ()))
    }

    /// Sets how many elements of one tenant may run at a time.
    pub(crate) fn limited(
        self,
        limit: usize,
        add_guard: AddGuard<T, K>,
    ) -> Result<Self, CapacityError> {
        if limit == 0 {
            return Err(CapacityError::Zero);
        }
        self.0.change(|lanes| {
            lanes.set_limit(limit);
            lanes.set_add_guard(add_guard);
        });
        Ok(self)
    }
}

delegate_queue!([K: Hash + Eq + Clone + Send + 'static] FairShareQueue<T, K>, |queue| &*queue.0);
