//! Waits for work of a pool: a thread runs what it waits for if no other thread would.
//!
//! A worker that waits for a task runs it if the task is in a short deque of its own, or the newest in
//! a long one. Otherwise the worker is replaced while it waits. If the pool is
//! [stalled](super::state::Census::is_stalled), because all workers wait and none can be started, each
//! waiting thread runs what it waits for, wherever in the pool that is queued. The thread is registered
//! with the pool, which unparks it when it stalls. A thread of another executor finds the pool by the
//! waits of its threads, and is woken by [`wake_waiters`](crate::task::wake_waiters).

use std::sync::Arc;

use super::job::Work;
use super::local::Local;
use super::shared::Shared;
use crate::interrupt::ThreadContext;
use crate::task::{Helped, WaitHelper, Wanted, run_in_place};

/// The helper of a thread that is a worker or a guest of a pool.
pub(super) struct Assist {
    pool: Arc<Shared>,
    /// Runs what is wanted on a thread that has no part in the pool, if no worker would; returns whether it
    /// has. A function pointer, so that this file does not depend on `helper`.
    run_on_stranger: fn(&Arc<Shared>, Wanted) -> bool,
}

impl Assist {
    pub(super) fn new(
        pool: &Arc<Shared>,
        run_on_stranger: fn(&Arc<Shared>, Wanted) -> bool,
    ) -> Self {
        Self {
            pool: Arc::clone(pool),
            run_on_stranger,
        }
    }
}

impl WaitHelper for Assist {
    fn help(&self, wanted: Wanted) -> Helped {
        let is_awaited = |work: &Work| work.is_wanted(wanted);
        let ran = Local::visit_until(|local| {
            let near = local.take_near(is_awaited);
            let taken = near.or_else(|| local.shared.take_if_stalled(Some(local), is_awaited));
            taken.map(|work| local.run_awaited(work)).is_some()
        });
        if ran { Helped::Ran } else { Helped::Nothing }
    }

    fn help_stranger(&self, wanted: Wanted) -> Helped {
        if !self.is_stalled() {
            return Helped::Nothing;
        }
        if (self.run_on_stranger)(&self.pool, wanted) {
            Helped::Ran
        } else {
            Helped::Nothing
        }
    }

    fn executor(&self) -> usize {
        Arc::as_ptr(&self.pool).addr()
    }

    fn is_stalled(&self) -> bool {
        self.pool.is_stalled_with_work(&self.pool.lock())
    }

    fn finds_newest_first(&self) -> bool {
        true
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        fn register(me: &Arc<ThreadContext>, pools: &mut Vec<Arc<Shared>>, wait: &mut dyn FnMut()) {
            match pools.pop() {
                None => Local::while_blocked(wait),
                Some(pool) => pool.as_waiter(me, || register(me, pools, wait)),
            }
        }
        let mut pools: Vec<Arc<Shared>> = Vec::new();
        Local::visit_until(|local| {
            if !pools.iter().any(|pool| local.is_of(pool)) {
                pools.push(Arc::clone(&local.shared));
            }
            false
        });
        register(&ThreadContext::current(), &mut pools, wait);
    }
}

impl Shared {
    /// Runs `wait` while the current thread is registered to be unparked when the pool stalls.
    pub(super) fn as_waiter<R>(&self, me: &Arc<ThreadContext>, wait: impl FnOnce() -> R) -> R {
        struct Registered<'a>(&'a Shared, &'a Arc<ThreadContext>);
        impl Drop for Registered<'_> {
            fn drop(&mut self) {
                let waiters = &mut self.0.lock().waiters;
                let at = waiters.iter().position(|other| Arc::ptr_eq(other, self.1));
                if let Some(at) = at {
                    waiters.swap_remove(at);
                }
            }
        }
        self.lock().waiters.push(Arc::clone(me));
        let _registered = Registered(self, me);
        wait()
    }

    /// Takes queued work that the current thread waits for, if the pool is stalled. `local` is what the
    /// thread has in the pool.
    pub(super) fn take_if_stalled(
        self: &Arc<Self>,
        local: Option<&Local>,
        is_awaited: impl Fn(&Work) -> bool,
    ) -> Option<Work> {
        if !self.is_stalled() {
            return None;
        }
        local
            .and_then(|local| local.take_if(&is_awaited))
            .or_else(|| self.take_submission_if(&is_awaited))
            .or_else(|| self.take_from_blocked(local, is_awaited))
    }

    /// Takes work out of the deques of other workers, which are all blocked.
    ///
    /// A deque can be stolen from at one end only. What is stolen on the way is still queued afterwards:
    /// in the injector, or, if it belongs to a join, with the worker that joins.
    fn take_from_blocked(
        self: &Arc<Self>,
        local: Option<&Local>,
        is_awaited: impl Fn(&Work) -> bool,
    ) -> Option<Work> {
        let workers = self.roster.snapshot();
        let others = workers.iter().filter(|other| {
            let is_me = local.is_some_and(|local| local.worker.index == other.index);
            other.is_worker() && !is_me
        });
        let mut has_moved = false;
        for other in others {
            while let Some(work) = other.stealer.steal() {
                if is_awaited(&work) {
                    return Some(work);
                }
                match work {
                    Work::Job(job) if job.is_join_job() => Local::return_job(job),
                    other => {
                        self.inject_stolen(other);
                        has_moved = true;
                    }
                }
            }
        }
        // Only then: it wakes all threads that wait, this one too, which would never sleep.
        if has_moved {
            self.notify_work();
        }
        None
    }
}

impl Local {
    /// Runs work that the current thread waits for, and has taken.
    pub(super) fn run_awaited(&self, work: Work) {
        run_in_place(work.to_name(), || {
            Self::while_running(|| self.as_current(|| self.run(work)));
        });
    }
}
