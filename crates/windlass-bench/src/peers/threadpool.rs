//! The `threadpool` crate.

use super::family::{Peer, Pool};

pub(crate) struct Threadpool(threadpool::ThreadPool);

impl Peer for Threadpool {
    const NAME: &'static str = "threadpool";
}

impl Pool for Threadpool {
    fn with_workers(workers: usize) -> Self {
        Self(threadpool::ThreadPool::new(workers))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body);
    }

    fn close(self) {
        self.0.join();
    }
}
