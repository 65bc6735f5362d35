//! Waits of threads that are not workers of the pool, for a job in the pool.

use std::panic;
use std::sync::Arc;

use super::job::{StackJob, WaiterId, Work};
use super::latch::{Latch, Registered};
use super::local::Local;
use super::shared::Shared;
use crate::interrupt::ThreadContext;
use crate::sync::Deadline;

impl Shared {
    /// Runs the closure on a worker while the current thread waits; on the current thread if the pool
    /// is shut down.
    pub(super) fn run_on_worker<F, R>(self: &Arc<Self>, body: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let job = StackJob::new(body);
        if self.submit(Work::Job(job.as_ref())).is_err() {
            let body = job.into_body();
            return self.as_helper(|_| body());
        }
        self.wait_outside(&job.latch, job.waiter());
        match job.into_outcome() {
            Ok(value) => value,
            Err(payload) => panic::resume_unwind(payload),
        }
    }

    /// Parks a thread that is no worker of the pool until the latch is set; interrupts stay pending.
    ///
    /// If the pool has no worker, the thread runs the work of `waiter` itself.
    pub(super) fn wait_outside(self: &Arc<Self>, latch: &Latch, waiter: WaiterId) {
        let me = ThreadContext::current();
        let _registration = ExternalWaiter::register(self, &me);
        let wait = || {
            while !latch.is_set() {
                if !self.run_without_workers(waiter) && latch.register(&me) == Registered::Awaited {
                    let _ = me.park_uninterruptibly(Deadline::Never);
                }
            }
        };
        // A worker of another pool counts as blocked in that pool while it waits here.
        Local::while_blocked(wait);
    }

    /// Runs submitted work of `waiter` if the pool has no worker; returns whether it did.
    fn run_without_workers(self: &Arc<Self>, waiter: WaiterId) -> bool {
        if !self.has_no_workers() {
            return false;
        }
        match self.take_submission_if(|work| work.is_for(waiter)) {
            Some(own) => {
                self.as_helper(|local| local.run(own));
                true
            }
            None => false,
        }
    }
}

/// The registration of a thread that is unparked when the pool's last worker retires.
struct ExternalWaiter<'a> {
    shared: &'a Shared,
    me: &'a Arc<ThreadContext>,
}

impl<'a> ExternalWaiter<'a> {
    fn register(shared: &'a Shared, me: &'a Arc<ThreadContext>) -> Self {
        shared.lock().external_waiters.push(Arc::clone(me));
        Self { shared, me }
    }
}

impl Drop for ExternalWaiter<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let mut waiters = state.external_waiters.iter();
        let at = waiters.position(|other| Arc::ptr_eq(other, self.me));
        if let Some(at) = at {
            state.external_waiters.swap_remove(at);
        }
    }
}
