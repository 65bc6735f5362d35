//! The `threadfin` crate.

use threadfin::{Task, ThreadPool};

use super::family::{Bounded, Cached, Peer, Pool, Returning, WhenFull};

pub(crate) struct Threadfin {
    pool: ThreadPool,
    when_full: WhenFull,
}

impl Peer for Threadfin {
    const NAME: &'static str = "threadfin";
}

impl Pool for Threadfin {
    fn with_workers(workers: usize) -> Self {
        Self {
            pool: ThreadPool::builder().size(workers).build(),
            when_full: WhenFull::Block,
        }
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        drop(self.pool.execute(body));
    }

    fn close(self) {
        self.pool.join();
    }
}

impl Returning for Threadfin {
    type Handle<T: Send + 'static> = Task<T>;

    #[inline]
    fn submit<T: Send + 'static>(&self, body: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        self.pool.execute(body)
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: Task<T>) -> T {
        handle.join()
    }
}

impl Bounded for Threadfin {
    fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self {
        let builder = ThreadPool::builder().size(workers).queue_limit(capacity);
        Self {
            pool: builder.build(),
            when_full,
        }
    }

    #[inline]
    fn execute_bounded(&self, body: impl FnOnce() + Send + 'static) {
        match self.when_full {
            WhenFull::Block => self.execute(body),
            WhenFull::CallerRuns => match self.pool.try_execute(body) {
                Ok(task) => drop(task),
                Err(full) => full.into_inner()(),
            },
        }
    }
}

impl Cached for Threadfin {
    fn cached() -> Self {
        Self {
            pool: ThreadPool::builder().size(0..10_000).build(),
            when_full: WhenFull::Block,
        }
    }
}
