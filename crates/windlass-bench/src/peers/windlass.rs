//! Windlass's thread pool.

use windlass::ExecutorService;
use windlass::pool::{BlockPolicy, Builder, CallerRunsPolicy};
use windlass::queue::{ArrayBlockingQueue, Fairness, LinkedBlockingQueue};
use windlass::{Submit, ThreadPoolExecutor, executors};

use super::family::{Bounded, Cached, Peer, Pool, StopsAtOnce, WhenFull};

/// [`ThreadPoolExecutor`] with the linked queue, which is its default.
pub(crate) struct Windlass(ThreadPoolExecutor);

/// A builder for a pool of fixed size.
pub(super) fn fixed(workers: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(workers)
        .maximum_pool_size(workers)
}

/// Builds the pool and starts its threads.
pub(super) fn start(builder: Builder) -> ThreadPoolExecutor {
    let pool = builder.build().expect("the figures are valid");
    pool.prestart_all_core_threads();
    pool
}

fn with_policy(builder: Builder, when_full: WhenFull) -> Builder {
    match when_full {
        WhenFull::Block => builder.rejection_handler(BlockPolicy::new()),
        WhenFull::CallerRuns => builder.rejection_handler(CallerRunsPolicy),
    }
}

impl Peer for Windlass {
    const NAME: &'static str = "windlass";
}

impl Pool for Windlass {
    fn with_workers(workers: usize) -> Self {
        Self(start(fixed(workers)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool takes tasks");
    }

    fn close(self) {
        self.0.close();
    }
}

/// How every pool of Windlass's returns results: by the handles of its tasks.
macro_rules! return_by_handles {
    ($pool:ty) => {
        impl $crate::peers::family::Returning for $pool {
            type Handle<T: Send + 'static> = windlass::TaskHandle<T>;

            #[inline]
            fn submit<T: Send + 'static>(
                &self,
                body: impl FnOnce() -> T + Send + 'static,
            ) -> Self::Handle<T> {
                windlass::Submit::submit(&self.0, body).expect("the pool takes tasks")
            }

            #[inline]
            fn get<T: Send + 'static>(&self, mut handle: Self::Handle<T>) -> T {
                handle.get().expect("the task returns")
            }
        }
    };
}
pub(super) use return_by_handles;

return_by_handles!(Windlass);

impl Bounded for Windlass {
    fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self {
        let queue = LinkedBlockingQueue::with_capacity(capacity).expect("a capacity");
        Self(start(
            with_policy(fixed(workers), when_full).work_queue(queue),
        ))
    }
}

impl Cached for Windlass {
    fn cached() -> Self {
        Self(executors::cached_thread_pool())
    }
}

impl StopsAtOnce for Windlass {
    fn stop_at_once(self) -> u64 {
        self.0.shutdown_now().len() as u64
    }
}

/// Implements the pools over an array queue, which differ in its fairness.
macro_rules! array_pool {
    ($pool:ident, $name:literal, $fairness:expr) => {
        impl Peer for $pool {
            const NAME: &'static str = $name;
        }

        impl Pool for $pool {
            fn with_workers(workers: usize) -> Self {
                Self::with_capacity(workers, 1 << 20, WhenFull::Block)
            }

            #[inline]
            fn execute(&self, body: impl FnOnce() + Send + 'static) {
                self.0.execute(body).expect("the pool takes tasks");
            }
        }

        impl Bounded for $pool {
            fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self {
                let queue = ArrayBlockingQueue::with_fairness(capacity, $fairness);
                let builder = with_policy(fixed(workers), when_full);
                Self(start(builder.work_queue(queue.expect("a capacity"))))
            }
        }
    };
}

/// [`ThreadPoolExecutor`] with the array queue.
pub(crate) struct WindlassArray(ThreadPoolExecutor);

array_pool!(WindlassArray, "windlass-array", Fairness::Unfair);

/// [`ThreadPoolExecutor`] with the array queue that serves those who wait in their order.
pub(crate) struct WindlassFairArray(ThreadPoolExecutor);

array_pool!(WindlassFairArray, "windlass-array-fair", Fairness::Fair);
