//! Threads that are not workers of the pool and temporarily run its work.

use std::sync::Arc;

use super::assist::Assist;
use super::deque::Deque;
use super::job::Work;
use super::local::Local;
use super::roster::WorkerInfo;
use super::shared::Shared;
use crate::task::{Wanted, run_in_place, with_wait_helper};
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
        let ended = with_wait_helper(self.assist(), || {
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

    /// Creates the helper of a thread that is a worker or a guest of the pool.
    pub(super) fn assist(self: &Arc<Self>) -> Arc<Assist> {
        Arc::new(Assist::new(self, Self::run_if_stalled))
    }

    /// Runs what the current thread, which has no part in the pool, waits for, if it is queued and no worker
    /// would run it; returns whether it has.
    fn run_if_stalled(self: &Arc<Self>, wanted: Wanted) -> bool {
        self.while_open(|| {
            let taken = self.take_if_stalled(None, |work| work.is_wanted(wanted));
            taken.map(|work| self.run_on_outsider(work)).is_some()
        })
    }

    /// Runs work that the current thread, which has no part in the pool, waits for, and has taken.
    pub(super) fn run_on_outsider(self: &Arc<Self>, work: Work) {
        run_in_place(work.to_name(), || {
            Local::while_running(|| self.as_helper(|local| local.run(work)));
        });
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
