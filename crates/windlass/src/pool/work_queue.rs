//! The queue of a pool, with static dispatch where it is the default queue.
//!
//! A pool works with any [`BlockingQueue`]. Most pools have a [`LinkedBlockingQueue`], and a
//! virtual call costs such a pool a measurable part of each submission: a task has to be written to
//! memory before the call and read back after it, and its two hot methods cannot be inlined. So the
//! type of the queue is checked once, when the pool is built, and the linked queue is kept under
//! its own type: a task is then created directly in its slot of the queue.
//!
//! The check is by `Any`, on the type that [`Builder::work_queue`](super::Builder::work_queue) was
//! called with: the linked queue itself, or an `Arc` of it that the caller shares. A linked queue
//! behind an `Arc<dyn BlockingQueue<Task>>` is used through that, as any other queue.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, LinkedBlockingQueue, PutError, Received, SynchronousQueue};
use crate::sync::{arc_dyn, downcast};
use crate::task::{Task, TaskId};

/// The queue in which tasks wait for a worker.
pub(crate) enum WorkQueue {
    /// Called by static dispatch.
    Linked(Arc<LinkedBlockingQueue<Task>>),
    /// Called by static dispatch: a submission may wait for a worker that is about to return.
    Synchronous(Arc<SynchronousQueue<Task>>),
    /// Called by dynamic dispatch.
    Any(Arc<dyn BlockingQueue<Task>>),
}

impl WorkQueue {
    /// Chooses the kind of dispatch by the type of the queue.
    pub(crate) fn new(queue: impl BlockingQueue<Task> + 'static) -> Self {
        downcast::<_, LinkedBlockingQueue<Task>>(queue)
            .map(|linked| Self::Linked(Arc::new(linked)))
            .or_else(|queue| downcast(queue).map(Self::Linked))
            .or_else(|queue| {
                downcast::<_, SynchronousQueue<Task>>(queue)
                    .map(|handoff| Self::Synchronous(Arc::new(handoff)))
            })
            .or_else(|queue| downcast(queue).map(Self::Synchronous))
            .unwrap_or_else(|queue| {
                Self::Any(arc_dyn(queue, |queue| {
                    Arc::new(queue) as Arc<dyn BlockingQueue<Task>>
                }))
            })
    }

    /// Offers the task that `make` returns; the linked queue creates it directly in its slot.
    /// Returns the task if the queue refuses it.
    #[inline(always)]
    pub(crate) fn offer_with(&self, make: impl FnOnce() -> Task) -> Result<(), Task> {
        match self {
            Self::Linked(queue) => queue.offer_with(make).map_err(|make| make()),
            Self::Synchronous(queue) => (**queue).offer(make()).map_err(PutError::into_inner),
            Self::Any(queue) => (**queue).offer(make()).map_err(PutError::into_inner),
        }
    }

    /// Offers a task that the queue has refused to a worker that is about to return, for about as long as
    /// it takes to start a thread. Returns the task if none came.
    pub(crate) fn offer_for_returning(&self, task: Task) -> Result<(), Task> {
        match self {
            Self::Synchronous(queue) => queue.offer_for_returning(task),
            Self::Linked(_) | Self::Any(_) => Err(task),
        }
    }

    /// Accepts a task that the queue has refused though no worker waits, if workers return quickly and one of
    /// them watches.
    pub(crate) fn lend(&self, task: Task) -> Result<(), Task> {
        match self {
            Self::Synchronous(queue) => queue.lend(task),
            Self::Linked(_) | Self::Any(_) => Err(task),
        }
    }

    /// Returns how many tasks are lent at most.
    pub(crate) fn debt_limit(&self) -> usize {
        match self {
            Self::Synchronous(queue) => queue.debt_limit() as usize,
            Self::Linked(_) | Self::Any(_) => 0,
        }
    }

    /// Waits for a task, or for the duty to watch what was lent.
    pub(crate) fn take_or_watch(
        &self,
        timeout: Option<Duration>,
    ) -> Result<Received<Task>, Interrupted> {
        let taken = match (self, timeout) {
            (Self::Synchronous(queue), _) => return queue.take_or_watch(timeout),
            (_, Some(timeout)) => self.poll_timeout(timeout)?,
            (_, None) => Some(self.take()?),
        };
        Ok(taken.map_or(Received::Nothing, Received::Element))
    }

    /// Returns whether no task is left for workers. Unlike `is_empty` it counts tasks that a hand-off has
    /// accepted, where they may be more than workers wait.
    pub(crate) fn is_drained(&self) -> bool {
        match self {
            Self::Synchronous(queue) => queue.is_drained(),
            Self::Linked(_) | Self::Any(_) => self.is_empty(),
        }
    }

    /// Removes all tasks that are left for workers.
    pub(crate) fn drain_left(&self) -> Vec<Task> {
        match self {
            Self::Synchronous(queue) => queue.drain_accepted(),
            Self::Linked(_) | Self::Any(_) => self.drain_all(),
        }
    }

    /// Removes the first of the tasks that are left for workers for which `wanted` returns true.
    pub(crate) fn remove_left(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        match self {
            Self::Synchronous(queue) => queue.remove_accepted(wanted),
            Self::Linked(_) | Self::Any(_) => self.remove_first(wanted),
        }
    }

    /// Removes the task with this id, if it is left for workers.
    pub(crate) fn withdraw(&self, id: TaskId) -> Option<Task> {
        self.remove_left(&mut |task| task.id() == id)
    }

    /// Returns how many tasks the queue holds at most; `None` if there is no bound. Exact while nobody
    /// uses the queue.
    pub(crate) fn bound(&self) -> Option<usize> {
        let room = self.remaining_capacity()?;
        Some(room.saturating_add(self.len()))
    }

    #[inline(always)]
    pub(crate) fn poll(&self) -> Option<Task> {
        match self {
            Self::Linked(queue) => (**queue).poll(),
            Self::Synchronous(queue) => (**queue).poll(),
            Self::Any(queue) => (**queue).poll(),
        }
    }
}

impl Deref for WorkQueue {
    type Target = dyn BlockingQueue<Task>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Linked(queue) => &**queue,
            Self::Synchronous(queue) => &**queue,
            Self::Any(queue) => &**queue,
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::ptr;
    use std::sync::Arc;

    use super::WorkQueue;
    use crate::queue::{ArrayBlockingQueue, BlockingQueue, LinkedBlockingQueue};
    use crate::task::Task;

    #[test]
    fn a_linked_queue_is_called_by_static_dispatch() {
        let own = WorkQueue::new(LinkedBlockingQueue::with_capacity(3).unwrap());
        assert!(matches!(&own, WorkQueue::Linked(_)));
        assert_eq!(own.remaining_capacity(), Some(3));
    }

    #[test]
    fn a_shared_linked_queue_is_called_by_static_dispatch() {
        let queue = Arc::new(LinkedBlockingQueue::new());
        let shared = WorkQueue::new(Arc::clone(&queue));
        assert!(matches!(&shared, WorkQueue::Linked(_)));
        assert!(ptr::addr_eq(&*shared, &*queue));
    }

    #[test]
    fn any_other_queue_is_called_through_its_trait() {
        let array = || ArrayBlockingQueue::new(2).unwrap();
        assert!(matches!(WorkQueue::new(array()), WorkQueue::Any(_)));
        let queue: Arc<dyn BlockingQueue<Task>> = Arc::new(array());
        let shared = WorkQueue::new(Arc::clone(&queue));
        assert!(matches!(&shared, WorkQueue::Any(_)));
        assert!(ptr::addr_eq(&*shared, &*queue));
    }
}
