//! Windlass's scheduled pool: timers, and tasks that are due at once.

use std::time::Duration;

use windlass::ExecutorService;
use windlass::scheduled::ScheduledHandle;
use windlass::{Schedule, ScheduledThreadPoolExecutor, Submit, executors};

use super::family::{Peer, Pool, StopsAtOnce, Timers};

pub(crate) struct WindlassScheduled(ScheduledThreadPoolExecutor);

impl Peer for WindlassScheduled {
    const NAME: &'static str = "windlass-scheduled";
}

impl Pool for WindlassScheduled {
    fn with_workers(workers: usize) -> Self {
        let pool = executors::scheduled_thread_pool(workers);
        pool.prestart_all_core_threads();
        Self(pool)
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool takes tasks");
    }

    fn close(self) {
        self.0.close();
    }
}

impl StopsAtOnce for WindlassScheduled {
    fn stop_at_once(self) -> u64 {
        self.0.shutdown_now().len() as u64
    }
}

impl Timers for WindlassScheduled {
    type Token = ScheduledHandle<()>;
    const FREES: bool = true;

    fn start() -> Self {
        let this = Self::with_workers(2);
        this.0.set_remove_on_cancel(true);
        this
    }

    #[inline]
    fn schedule(&self, delay: Duration, body: impl FnOnce() + Send + 'static) -> Self::Token {
        self.0.schedule(delay, body).expect("the pool takes tasks")
    }

    #[inline]
    fn cancel(&self, token: Self::Token) {
        token.cancel();
    }
}
