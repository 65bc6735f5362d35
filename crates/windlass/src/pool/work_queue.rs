//! The queue of a pool, with a short way to the everyday one.
//!
//! A pool works with any queue, through the table of its trait. Nearly all pools have a
//! [`LinkedBlockingQueue`], and a call through a table is a wall: a task has to be laid down in
//! memory before it and picked up behind it, and the processor stalls where the portions differ in
//! which that is done. So the everyday queue is known by its type too, and its two hot methods
//! become a part of whoever calls them.

use std::ops::Deref;
use std::sync::Arc;

use crate::queue::{BlockingQueue, LinkedBlockingQueue, PutError};
use crate::task::Task;

/// The queue in which tasks wait for a worker.
pub(crate) struct WorkQueue {
    any: Arc<dyn BlockingQueue<Task>>,
    /// The same queue, where it is the everyday one.
    linked: Option<Arc<LinkedBlockingQueue<Task>>>,
}

impl WorkQueue {
    pub(crate) fn new(any: Arc<dyn BlockingQueue<Task>>) -> Self {
        let linked = Arc::clone(&any).into_linked();
        Self { any, linked }
    }

    pub(crate) const fn as_dyn(&self) -> &Arc<dyn BlockingQueue<Task>> {
        &self.any
    }

    /// Offers a task, which is made in its place if it can be; a refused one comes back.
    #[inline(always)]
    pub(crate) fn offer_with(&self, task: impl FnOnce() -> Task) -> Result<(), Task> {
        match &self.linked {
            Some(queue) => queue.offer_with(task).map_err(|task| task()),
            None => self.any.offer(task()).map_err(PutError::into_inner),
        }
    }

    #[inline(always)]
    pub(crate) fn poll(&self) -> Option<Task> {
        match &self.linked {
            Some(queue) => queue.poll(),
            None => self.any.poll(),
        }
    }
}

impl Deref for WorkQueue {
    type Target = dyn BlockingQueue<Task>;

    fn deref(&self) -> &Self::Target {
        &*self.any
    }
}
