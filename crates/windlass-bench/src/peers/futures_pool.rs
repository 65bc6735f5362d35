//! The `ThreadPool` of `futures`.

use futures_executor::ThreadPool;
use futures_lite::future::block_on;
use futures_util::future::RemoteHandle;
use futures_util::task::SpawnExt;

use super::family::{Peer, Pool, Returning};

pub(crate) struct FuturesPool(ThreadPool);

impl Peer for FuturesPool {
    const NAME: &'static str = "futures";
}

impl Pool for FuturesPool {
    fn with_workers(workers: usize) -> Self {
        let pool = ThreadPool::builder().pool_size(workers).create();
        Self(pool.expect("threads can be started"))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn_ok(async move { body() });
    }
}

impl Returning for FuturesPool {
    type Handle<T: Send + 'static> = RemoteHandle<T>;

    #[inline]
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> RemoteHandle<T> {
        let handle = self.0.spawn_with_handle(async move { body() });
        handle.expect("the pool takes tasks")
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: RemoteHandle<T>) -> T {
        block_on(handle)
    }
}
