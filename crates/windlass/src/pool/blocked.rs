//! The submitters that wait for room in the queue of a pool.

use std::sync::Arc;

use crate::interrupt::ThreadContext;
use crate::sync::Mutex;

/// The submitters that wait for room, to be nudged when the state of the pool changes.
#[derive(Debug, Default)]
pub(crate) struct Blocked(Mutex<Vec<Arc<ThreadContext>>>);

impl Blocked {
    /// Adds a submitter that is about to wait.
    pub(super) fn register(&self, submitter: &Arc<ThreadContext>) {
        self.0.lock().push(Arc::clone(submitter));
    }

    pub(super) fn unregister(&self, submitter: &Arc<ThreadContext>) {
        let mut blocked = self.0.lock();
        if let Some(at) = blocked
            .iter()
            .position(|other| Arc::ptr_eq(other, submitter))
        {
            blocked.swap_remove(at);
        }
    }

    /// Makes all of them read the state of the pool again.
    pub(super) fn nudge_all(&self) {
        let blocked = self.0.lock().clone();
        for submitter in blocked {
            submitter.nudge();
        }
    }
}
