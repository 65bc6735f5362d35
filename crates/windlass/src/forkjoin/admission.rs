//! Admission of work: into the deque of the calling worker, or into the injector.

use std::sync::Arc;

use super::job::Work;
use super::local::Local;
use super::shared::{Accepted, Refused, Shared};

impl Shared {
    /// Queues work in the injector, and wakes a worker; returns the work if the pool is shut down, or has
    /// no worker and no thread can be created.
    ///
    /// If the pool has a parallelism of zero, the current thread runs it.
    pub(super) fn submit(self: &Arc<Self>, work: Work) -> Result<(), Refused> {
        let id = work.task_id();
        let accepted = self.inject(work)?;
        match id {
            Some(id) => self.notify_submitted(id)?,
            // A job is never refused: the thread that waits for it runs it.
            None => self.notify_work(),
        }
        if accepted == Accepted::WithoutWorkers {
            self.run_submissions();
        }
        Ok(())
    }

    /// Pushes work to the deque of the calling worker, also in a pool that is shut down. On other threads
    /// it submits the work.
    pub(super) fn push_or_submit(self: &Arc<Self>, work: Work) -> Result<(), Refused> {
        let external = Local::of(self, |local| match local {
            Some(local) => {
                local.push(work);
                None
            }
            None => Some(work),
        });
        external.map_or(Ok(()), |work| self.submit(work))
    }
}
