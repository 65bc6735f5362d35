//! A console with pools of its own, which are sampled when the test wants it.

use windlass::ThreadPoolExecutor;
use windlass::monitor::{Monitor, Registry};
use windlass::queue::ResizableBlockingQueue;
use windlass_console::{Builder, Console};

use super::http::{Events, Request, Response};

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) registry: Registry,
    pub(crate) monitor: Monitor,
    pub(crate) console: Console,
}

impl Stage {
    /// Starts a console without pools.
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// Starts a console that is set up in another way. A test makes more requests than a user does.
    pub(crate) fn with(set_up: impl FnOnce(Builder) -> Builder) -> Self {
        let registry = Registry::new();
        let monitor = Monitor::builder()
            .registry(&registry)
            .manual(true)
            .start()
            .unwrap();
        let builder = Console::builder()
            .bind("127.0.0.1:0")
            .announce(false)
            .requests_per_second(100_000)
            .monitor(&monitor);
        let console = set_up(builder).start().unwrap();
        Self {
            registry,
            monitor,
            console,
        }
    }

    /// Adds a pool of two to four threads with a queue of ten that can be resized.
    pub(crate) fn pool(&self, name: &str) -> ThreadPoolExecutor {
        let pool = ThreadPoolExecutor::builder()
            .name(name)
            .core_pool_size(2)
            .maximum_pool_size(4)
            .work_queue(ResizableBlockingQueue::with_capacity(10).unwrap())
            .build()
            .unwrap();
        self.registry.register(&pool);
        self.monitor.sample();
        pool
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.console.local_addr(), method, path)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path).send()
    }

    /// Sends a write with the token.
    #[track_caller]
    pub(crate) fn write(&self, method: &str, path: &str, body: &str) -> Response {
        self.request(method, path)
            .bearer(self.console.token())
            .json(body)
            .send()
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.write("POST", path, body)
    }

    /// Returns a write with the token as it goes over the network.
    pub(crate) fn post_bytes(&self, path: &str, body: &[u8]) -> Vec<u8> {
        self.request("POST", path)
            .bearer(self.console.token())
            .header("Content-Type", "application/json")
            .body(body)
            .bytes()
    }

    /// Changes the settings of a pool that has this version.
    #[track_caller]
    pub(crate) fn patch(&self, pool: &str, version: u64, body: &str) -> Response {
        self.request("PATCH", &format!("/api/v1/pools/{pool}/config"))
            .bearer(self.console.token())
            .header("If-Match", &format!("\"{version}\""))
            .json(body)
            .send()
    }

    /// Returns the version of the settings of a pool.
    #[track_caller]
    pub(crate) fn version(&self, pool: &str) -> u64 {
        self.get(&format!("/api/v1/pools/{pool}"))
            .expect(200)
            .json()["version"]
            .as_u64()
            .unwrap()
    }

    #[track_caller]
    pub(crate) fn events(&self, last: Option<u64>) -> Events {
        Events::open(self.console.local_addr(), last).expect("a stream of events")
    }
}
