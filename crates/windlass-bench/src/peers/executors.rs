//! The `executors` crate: its pool over a channel, and the one that steals.

use executors::Executor;
use executors::crossbeam_channel_pool::ThreadPool as Channel;
use executors::crossbeam_workstealing_pool::{self, ThreadPool as Stealing};
use executors::futures_executor::{FuturesExecutor, JoinHandle};
use executors::parker::{DynamicThreadData, StaticParker};
use futures_lite::future::block_on;

use super::family::{Peer, Pool, Returning, StopsAtOnce};

pub(crate) struct ExecutorsChannel(Channel);

pub(crate) struct ExecutorsStealing(Stealing<StaticParker<DynamicThreadData>>);

impl Peer for ExecutorsChannel {
    const NAME: &'static str = "executors-channel";
}

impl Pool for ExecutorsChannel {
    fn with_workers(workers: usize) -> Self {
        Self(Channel::new(workers))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }

    fn close(self) {
        self.0.shutdown().expect("the pool ends in time");
    }
}

impl Returning for ExecutorsChannel {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn(async move { body() })
    }

    fn get<T: Send + 'static>(&self, handle: JoinHandle<T>) -> T {
        block_on(handle)
    }
}

impl Peer for ExecutorsStealing {
    const NAME: &'static str = "executors-stealing";
}

impl Pool for ExecutorsStealing {
    fn with_workers(workers: usize) -> Self {
        Self(crossbeam_workstealing_pool::dyn_pool(workers))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }

    fn close(self) {
        self.0.shutdown().expect("the pool ends in time");
    }
}

impl Returning for ExecutorsStealing {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn(async move { body() })
    }

    fn get<T: Send + 'static>(&self, handle: JoinHandle<T>) -> T {
        block_on(handle)
    }
}

/// Its only shutdown drops what is queued.
impl StopsAtOnce for ExecutorsStealing {
    fn stop_at_once(self) -> u64 {
        self.0.shutdown_async();
        0
    }
}
