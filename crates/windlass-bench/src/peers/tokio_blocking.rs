//! Tokio's pool for blocking work, beside one worker for the runtime itself.

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::family::{Cached, Peer, Pool, Returning, StopsAtOnce};
use super::tokio::{runtime, sum};

pub(crate) struct TokioBlocking(Runtime);

impl Peer for TokioBlocking {
    const NAME: &'static str = "tokio-blocking";
}

impl Pool for TokioBlocking {
    fn with_workers(workers: usize) -> Self {
        Self(runtime(1, Some(workers)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        drop(self.0.spawn_blocking(body));
    }
}

impl Returning for TokioBlocking {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn_blocking(body)
    }

    fn get<T: Send + 'static>(&self, handle: JoinHandle<T>) -> T {
        self.0.block_on(handle).expect("the task returns")
    }

    fn sum(&self, handles: Vec<JoinHandle<u64>>) -> u64 {
        sum(&self.0, handles)
    }
}

impl Cached for TokioBlocking {
    fn cached() -> Self {
        Self(runtime(1, None))
    }
}

impl StopsAtOnce for TokioBlocking {
    fn stop_at_once(self) -> u64 {
        self.0.shutdown_background();
        0
    }
}
