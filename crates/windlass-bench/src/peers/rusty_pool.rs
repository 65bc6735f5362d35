//! The `rusty_pool` crate.

use std::time::Duration;

use rusty_pool::{JoinHandle, ThreadPool};

use super::family::{Cached, Peer, Pool, Returning};

const KEEP_ALIVE: Duration = Duration::from_secs(60);

pub(crate) struct RustyPool(ThreadPool);

impl Peer for RustyPool {
    const NAME: &'static str = "rusty_pool";
}

impl Pool for RustyPool {
    fn with_workers(workers: usize) -> Self {
        let pool = ThreadPool::new(workers, workers, KEEP_ALIVE);
        pool.start_core_threads();
        Self(pool)
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }

    fn close(self) {
        self.0.shutdown_join();
    }
}

impl Returning for RustyPool {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.evaluate(body)
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: JoinHandle<T>) -> T {
        handle.await_complete()
    }
}

impl Cached for RustyPool {
    fn cached() -> Self {
        Self(ThreadPool::new(0, 10_000, KEEP_ALIVE))
    }
}
