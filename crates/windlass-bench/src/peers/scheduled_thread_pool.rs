//! The `scheduled-thread-pool` crate.

use std::time::Duration;

use scheduled_thread_pool::{JobHandle, OnPoolDropBehavior, ScheduledThreadPool};

use super::family::{Peer, Pool, StopsAtOnce, Timers};

pub(crate) struct ScheduledPool(ScheduledThreadPool);

impl Peer for ScheduledPool {
    const NAME: &'static str = "scheduled-thread-pool";
}

impl Pool for ScheduledPool {
    fn with_workers(workers: usize) -> Self {
        let builder = ScheduledThreadPool::builder()
            .num_threads(workers)
            .on_drop_behavior(OnPoolDropBehavior::DiscardPendingScheduled);
        Self(builder.build())
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }
}

/// Dropped, it discards what it has, but does not wait for its threads.
impl StopsAtOnce for ScheduledPool {
    fn stop_at_once(self) -> u64 {
        0
    }
}

impl Timers for ScheduledPool {
    type Token = JobHandle;
    const FREES: bool = false;

    fn start() -> Self {
        Self::with_workers(2)
    }

    #[inline]
    fn schedule(&self, delay: Duration, body: impl FnOnce() + Send + 'static) -> JobHandle {
        self.0.execute_after(delay, body)
    }

    #[inline]
    fn cancel(&self, token: JobHandle) {
        token.cancel();
    }
}
