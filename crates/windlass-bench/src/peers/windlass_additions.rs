//! Windlass with common additions, to measure their cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use windlass::pool::{Hooks, Times};
use windlass::thread_factory::DefaultThreadFactory;
use windlass::{Submit, ThreadPoolExecutor};

use super::family::{Peer, Pool};
use super::windlass::{fixed, start};

/// How often the watcher reads the statistics.
const WATCH_EVERY: Duration = Duration::from_millis(1);

/// With hooks that do nothing.
pub(crate) struct Hooked(ThreadPoolExecutor);

struct Idle;

impl Hooks for Idle {}

impl Peer for Hooked {
    const NAME: &'static str = "windlass+hooks";
}

impl Pool for Hooked {
    fn with_workers(workers: usize) -> Self {
        Self(start(fixed(workers).hooks(Idle)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool takes tasks");
    }
}

/// With a thread factory that names its threads.
pub(crate) struct Named(ThreadPoolExecutor);

impl Peer for Named {
    const NAME: &'static str = "windlass+names";
}

impl Pool for Named {
    fn with_workers(workers: usize) -> Self {
        let factory = DefaultThreadFactory::named("measured");
        Self(start(fixed(workers).thread_factory(factory)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool takes tasks");
    }
}

/// Without the times of its tasks: the plain pool has them.
pub(crate) struct Untimed(ThreadPoolExecutor);

impl Peer for Untimed {
    const NAME: &'static str = "windlass-times";
}

impl Pool for Untimed {
    fn with_workers(workers: usize) -> Self {
        Self(start(fixed(workers).times(Times::Off)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool takes tasks");
    }
}

/// With each task in a box of its own: what it would cost if closures did not lie in the queue's
/// slots, which is what the `unsafe` code of the erased task pays for.
pub(crate) struct Boxed(ThreadPoolExecutor);

impl Peer for Boxed {
    const NAME: &'static str = "windlass+box";
}

impl Pool for Boxed {
    fn with_workers(workers: usize) -> Self {
        Self(start(fixed(workers)))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        let body: Box<dyn FnOnce() + Send> = Box::new(body);
        self.0.execute(body).expect("the pool takes tasks");
    }
}

/// With a thread that reads the statistics a thousand times a second.
pub(crate) struct Watched {
    pool: ThreadPoolExecutor,
    is_over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Peer for Watched {
    const NAME: &'static str = "windlass+stats";
}

impl Pool for Watched {
    fn with_workers(workers: usize) -> Self {
        let pool = start(fixed(workers));
        let is_over = Arc::new(AtomicBool::new(false));
        let (watched, over) = (pool.clone(), Arc::clone(&is_over));
        let watcher = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                std::hint::black_box(watched.stats());
                std::thread::park_timeout(WATCH_EVERY);
            }
        });
        Self {
            pool,
            is_over,
            watcher: Some(watcher),
        }
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.pool.execute(body).expect("the pool takes tasks");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // Its panic would have been printed; the sample stands.
            let _ = watcher.join();
        }
    }
}
