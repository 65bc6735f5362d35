//! `async-executor` on threads of its own, as its documentation sets it up.

use std::sync::Arc;
use std::thread::JoinHandle;

use async_channel::Sender;
use async_executor::{Executor, Task};
use futures_lite::future::block_on;

use super::family::{Peer, Pool, Returning, StopsAtOnce};

pub(crate) struct AsyncExecutor {
    executor: Arc<Executor<'static>>,
    /// The threads end when it is dropped.
    alive: Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

impl Peer for AsyncExecutor {
    const NAME: &'static str = "async-executor";
}

impl Pool for AsyncExecutor {
    fn with_workers(workers: usize) -> Self {
        let executor = Arc::new(Executor::new());
        let (alive, over) = async_channel::unbounded::<()>();
        let start = |_| {
            let (executor, over) = (Arc::clone(&executor), over.clone());
            std::thread::spawn(move || {
                // An error means that the sender is gone.
                let _ = block_on(executor.run(over.recv()));
            })
        };
        let threads = (0..workers).map(start).collect();
        Self {
            executor,
            alive,
            threads,
        }
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.executor.spawn(async move { body() }).detach();
    }

    fn close(self) {
        drop(self.alive);
        for thread in self.threads {
            thread.join().expect("workers do not panic");
        }
    }
}

impl Returning for AsyncExecutor {
    type Handle<T: Send + 'static> = Task<T>;

    #[inline]
    fn submit<T: Send + 'static>(&self, body: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        self.executor.spawn(async move { body() })
    }

    #[inline]
    fn get<T: Send + 'static>(&self, handle: Task<T>) -> T {
        block_on(handle)
    }
}

/// Tasks that have not run go with the executor.
impl StopsAtOnce for AsyncExecutor {
    fn stop_at_once(self) -> u64 {
        drop(self.alive);
        0
    }
}
