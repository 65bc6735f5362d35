//! The `blocking` crate: one pool for the whole process, sized by an environment variable, which
//! the harness sets for the process of the sample.

use blocking::Task;
use futures_lite::future::block_on;

use super::family::{Cached, Peer, Pool, Returning};

pub(crate) struct Blocking;

impl Peer for Blocking {
    const NAME: &'static str = "blocking";
}

impl Pool for Blocking {
    fn with_workers(_workers: usize) -> Self {
        Self
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        blocking::unblock(body).detach();
    }
}

impl Returning for Blocking {
    type Handle<T: Send + 'static> = Task<T>;

    #[inline]
    fn submit<T: Send + 'static>(&self, body: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        blocking::unblock(body)
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: Task<T>) -> T {
        block_on(handle)
    }
}

impl Cached for Blocking {
    fn cached() -> Self {
        Self
    }
}
