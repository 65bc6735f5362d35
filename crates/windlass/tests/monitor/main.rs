//! Watching and steering executors: the registry, the samples, alerts, changes, and the text for Prometheus.

#![expect(clippy::unwrap_used, reason = "tests")]

mod alerts;
mod exposition;
mod fork_join;
mod pause;
mod registry;
mod samples;
mod scripted;
mod tuning;

use std::time::Duration;

use windlass::ThreadPoolExecutor;
use windlass::clock::TestClock;
use windlass::monitor::{Monitor, Registry};
use windlass::queue::ResizableBlockingQueue;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A pool named `web` on a clock that a test drives, in a registry of its own, and a monitor that takes
/// samples when it is told to.
pub(crate) struct Watched {
    pub(crate) clock: TestClock,
    pub(crate) registry: Registry,
    pub(crate) pool: ThreadPoolExecutor,
    pub(crate) monitor: Monitor,
}

impl Watched {
    /// Creates a pool of two threads with a queue of ten places.
    pub(crate) fn new() -> Self {
        let (clock, registry) = (TestClock::new(), Registry::new());
        let (pool, monitor) = clock.enter(|| {
            let pool = ThreadPoolExecutor::builder()
                .name("web")
                .core_pool_size(2)
                .maximum_pool_size(2)
                .work_queue(ResizableBlockingQueue::with_capacity(10).unwrap())
                .build()
                .unwrap();
            let monitor = Monitor::builder().registry(&registry).manual(true);
            (pool, monitor.start().unwrap())
        });
        registry.register(&pool);
        monitor.sample();
        Self {
            clock,
            registry,
            pool,
            monitor,
        }
    }

    /// Takes a sample each second, this many times.
    pub(crate) fn seconds(&self, count: u64) {
        for _ in 0..count {
            self.clock.advance(SECOND);
            self.monitor.sample();
        }
    }

    /// Waits until this many runs were recorded: a worker does that after the handle has the value.
    pub(crate) fn await_runs(&self, count: u64) {
        windlass::testing::until("the runs to be recorded", || {
            self.pool.stats().run_times.count() == count
        });
    }

    pub(crate) fn view(&self) -> windlass::monitor::PoolView {
        self.monitor.pool("web").unwrap()
    }
}
