//! No pool at all: the caller runs each task itself, which shows what a sample costs without one.

use super::family::{Peer, Pool};

pub(crate) struct NoPool;

impl Peer for NoPool {
    const NAME: &'static str = "no-pool";
}

impl Pool for NoPool {
    fn with_workers(_workers: usize) -> Self {
        Self
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        body();
    }
}
