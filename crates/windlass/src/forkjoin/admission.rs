//! Admission of work: into the deque of the calling worker, or into the injector.

use std::sync::Arc;

use super::job::Work;
use super::local::Local;
use super::shared::{Accepted, Shared};

impl Shared {
    /// Queues work in the injector, and wakes a worker; returns the work if the pool is shut down.
    ///
    /// If the pool has a parallelism of zero, the current thread runs it.
    pub(super) fn submit(self: &Arc<Self>, work: Work) -> Result<(), Work> {
        let accepted = self.inject(work)?;
        self.notify_work();
        if accepted == Accepted::WithoutWorkers {
            self.run_submissions();
        }
        Ok(())
    }

    /// Pushes work to the deque of the calling worker, also in a pool that is shut down. On other threads
    /// it submits the work.
    pub(super) fn push_or_submit(self: &Arc<Self>, work: Work) -> Result<(), Work> {
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
