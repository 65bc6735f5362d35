//! Tokio's tasks on its multi-threaded runtime.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::family::{Bounded, Peer, Pool, Returning, StopsAtOnce, WhenFull};

/// A runtime with timers, so many workers, and so many threads for blocking work.
pub(super) fn runtime(workers: usize, blocking: Option<usize>) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_time();
    if let Some(blocking) = blocking {
        builder.max_blocking_threads(blocking);
    }
    builder.build().expect("threads can be started")
}

/// The sum of many results, within one entry to the runtime.
pub(super) fn sum(runtime: &Runtime, handles: Vec<JoinHandle<u64>>) -> u64 {
    runtime.block_on(async move {
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.expect("the task returns");
        }
        sum
    })
}

pub(crate) struct Tokio {
    runtime: Runtime,
    /// Bounds what is under way: tokio's usual answer to a bounded queue.
    room: Arc<Semaphore>,
    when_full: WhenFull,
}

impl Peer for Tokio {
    const NAME: &'static str = "tokio";
}

impl Pool for Tokio {
    fn with_workers(workers: usize) -> Self {
        Self::with_capacity(workers, Semaphore::MAX_PERMITS, WhenFull::Block)
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        drop(self.runtime.spawn(async move { body() }));
    }
}

impl Returning for Tokio {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(async move { body() })
    }

    fn get<T: Send + 'static>(&self, handle: JoinHandle<T>) -> T {
        self.runtime.block_on(handle).expect("the task returns")
    }

    fn sum(&self, handles: Vec<JoinHandle<u64>>) -> u64 {
        sum(&self.runtime, handles)
    }
}

impl Bounded for Tokio {
    fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self {
        Self {
            runtime: runtime(workers, None),
            room: Arc::new(Semaphore::new(capacity)),
            when_full,
        }
    }

    fn execute_bounded(&self, body: impl FnOnce() + Send + 'static) {
        let room = Arc::clone(&self.room);
        let permit = match (room.try_acquire_owned(), self.when_full) {
            (Ok(permit), _) => permit,
            (Err(_), WhenFull::CallerRuns) => return body(),
            (Err(_), WhenFull::Block) => {
                let room = Arc::clone(&self.room);
                let permit = self.runtime.block_on(room.acquire_owned());
                permit.expect("the semaphore is never closed")
            }
        };
        drop(self.runtime.spawn(async move {
            body();
            drop(permit);
        }));
    }
}

impl StopsAtOnce for Tokio {
    fn stop_at_once(self) -> u64 {
        self.runtime.shutdown_background();
        0
    }
}
