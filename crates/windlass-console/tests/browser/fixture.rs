//! Pools, their monitor and a console, all in this process.

use std::net::SocketAddr;
use std::time::Duration;

use windlass::interrupt;
use windlass::monitor::{Monitor, Registry};
use windlass::prelude::*;
use windlass_console::{Builder, Console};

pub(crate) const TOKEN: &str = "a-token-for-these-tests";

/// A monitor with a registry of its own, and a console for it.
pub(crate) struct Fixture {
    pub(crate) registry: Registry,
    pub(crate) monitor: Monitor,
    console: Option<Console>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// A console with more than its defaults.
    pub(crate) fn with(more: impl FnOnce(Builder) -> Builder) -> Self {
        let registry = Registry::new();
        let monitor = Monitor::start(&registry).unwrap();
        let console = Some(more(builder(&monitor, "127.0.0.1:0")).start().unwrap());
        Self {
            registry,
            monitor,
            console,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.console.as_ref().unwrap().local_addr()
    }

    /// Returns the address of a view of the page.
    pub(crate) fn url(&self, view: &str) -> String {
        format!("{}#/{view}", self.console.as_ref().unwrap().url())
    }

    /// Stops the console, and returns where it was.
    pub(crate) fn stop(&mut self) -> SocketAddr {
        let address = self.address();
        self.console.take().unwrap().shutdown();
        address
    }

    /// Starts a console where one was before.
    pub(crate) fn start_again(&mut self, address: SocketAddr) {
        let builder = builder(&self.monitor, &address.to_string());
        self.console = Some(builder.start().unwrap());
    }

    /// Creates a registered pool with a core size, and twice that as its maximum.
    pub(crate) fn pool(&self, name: &str, core: usize) -> ThreadPoolExecutor {
        let pool = ThreadPoolExecutor::builder()
            .name(name)
            .core_pool_size(core)
            .maximum_pool_size(core * 2)
            .build()
            .unwrap();
        self.registry.register(&pool);
        pool
    }
}

fn builder(monitor: &Monitor, address: &str) -> Builder {
    Console::builder()
        .monitor(monitor)
        .bind(address)
        .token(TOKEN)
        .announce(false)
}

/// Submits tasks ten times a second, until it is dropped.
pub(crate) struct Load {
    driver: ScheduledThreadPoolExecutor,
}

impl Load {
    /// Submits short tasks to each pool.
    pub(crate) fn on(pools: &[ThreadPoolExecutor], tasks: usize) -> Self {
        let pools = pools.to_vec();
        Self::of(move || {
            for pool in &pools {
                for _ in 0..tasks {
                    // A pool that a test has ended refuses; the others go on.
                    let _ = pool.execute(|| {
                        let _ = interrupt::sleep(Duration::from_millis(20));
                    });
                }
            }
        })
    }

    /// Keeps this many workers of a pool busy, each with a task of its own name for a second.
    pub(crate) fn that_keeps_busy(pool: &ThreadPoolExecutor, workers: usize) -> Self {
        let (pool, mut number) = (pool.clone(), 0_u64);
        Self::of(move || {
            for _ in 0..workers / 10 {
                number += 1;
                let _ = pool.task().name(format!("request {number}")).execute(|| {
                    let _ = interrupt::sleep(Duration::from_secs(1));
                });
            }
        })
    }

    fn of(submit: impl FnMut() + Send + 'static) -> Self {
        let driver = ScheduledThreadPoolExecutor::new(1);
        let periodic = driver
            .schedule_at_fixed_rate(Duration::ZERO, Duration::from_millis(100), submit)
            .unwrap();
        // Without its handle, the task ends with its executor.
        drop(periodic);
        Self { driver }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.driver.shutdown_now();
    }
}
