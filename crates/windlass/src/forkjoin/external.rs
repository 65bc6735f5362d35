//! Waits of threads that are not workers of the pool, for a job in the pool.

use std::panic;
use std::sync::Arc;

use super::context::{Erased, erased};
use super::job::{StackJob, WaiterId, Work};
use super::latch::{Latch, Registered};
use super::shared::Shared;
use crate::interrupt::ThreadContext;
use crate::sync::Deadline;
use crate::task::while_waiting_elsewhere;

impl Shared {
    /// Runs the closure on a worker while the current thread waits; on the current thread if the pool
    /// is shut down.
    pub(super) fn run_on_worker<F, R>(self: &Arc<Self>, body: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.try_run_on_worker(body).unwrap_or_else(|body| {
            self.lock().caller_runs += 1;
            self.as_helper(|_| body())
        })
    }

    /// As [`run_on_worker`](Self::run_on_worker), but returns the closure if the pool is shut down.
    pub(super) fn try_run_on_worker<F, R>(self: &Arc<Self>, body: F) -> Result<R, F>
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let Some(context) = self.capture() else {
            return self.try_run_plainly(body);
        };
        let (_, body) = erased(&context, body, |body| self.try_run_plainly(body).is_ok());
        match body {
            Erased::Ran(value) => Ok(value),
            Erased::Unused(body) => Err(body),
        }
    }

    fn try_run_plainly<F, R>(self: &Arc<Self>, body: F) -> Result<R, F>
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let job = StackJob::new(body, None);
        if self.submit(Work::Job(job.share())).is_err() {
            return Err(job.into_body());
        }
        self.wait_outside(job.latch(), job.waiter());
        match job.into_outcome() {
            Ok(value) => Ok(value),
            Err(payload) => panic::resume_unwind(payload),
        }
    }

    /// Parks a thread that is no worker of the pool until the latch is set; interrupts stay pending.
    ///
    /// If no worker would, the thread runs the work of `waiter` itself.
    pub(super) fn wait_outside(self: &Arc<Self>, latch: &Latch, waiter: WaiterId) {
        let me = ThreadContext::current();
        let mut wait = |enter: &dyn Fn()| {
            while !latch.is_set() {
                enter();
                match self.take_if_stalled(None, |work| work.is_for(waiter)) {
                    Some(own) => {
                        self.lock().caller_runs += 1;
                        self.run_on_outsider(own);
                    }
                    None if latch.register_only(&me) == Registered::Awaited => {
                        let _ = me.park_uninterruptibly(Deadline::Never);
                    }
                    None => {}
                }
            }
        };
        // A worker of another pool counts as blocked in that pool while it waits here.
        self.as_waiter(&me, || while_waiting_elsewhere(&mut wait));
    }
}
