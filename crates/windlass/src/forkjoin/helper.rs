//! Threads that are not workers of the pool and temporarily run its work.

use std::sync::Arc;

use super::assist::Assist;
use super::deque::Deque;
use super::local::Local;
use super::roster::WorkerInfo;
use super::shared::Shared;
use crate::task::with_wait_helper;
use crate::unwind::catch;

impl Shared {
    /// Runs `f` on the current thread, which is no worker of the pool, as if on a worker; then runs what
    /// `f` has forked and no other thread has taken.
    pub(super) fn as_helper<R>(self: &Arc<Self>, f: impl FnOnce(&Local) -> R) -> R {
        let deque = Deque::new(self.config.order);
        let worker = {
            let mut state = self.lock();
            state.helpers += 1;
            WorkerInfo::new(state.next_worker_index(), deque.stealer())
        };
        worker.set_thread();
        self.roster.add(&worker);
        let local = Local::helper(self, &worker, deque);
        let ended = with_wait_helper(Arc::new(Assist), || {
            local.enter(|| {
                let ended = catch(|| f(&local));
                while let Some(own) = local.deque.pop() {
                    local.run(own);
                }
                ended
            })
        });
        let mut state = self.lock();
        self.roster.remove(&worker);
        state.helpers -= 1;
        self.try_terminate(state);
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// Runs submissions on the current thread until there are none.
    pub(super) fn run_submissions(self: &Arc<Self>) {
        self.as_helper(|local| {
            while let Some(work) = self.take_submission() {
                local.run(work);
            }
        });
    }
}
