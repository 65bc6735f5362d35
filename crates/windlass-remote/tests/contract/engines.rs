//! The engines under contract, and what the tests build on one.

use crate::support::tasks::{Add, Gated, Note};
use crate::tasks::{Flaky, Text};
use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use windlass_remote::engine::{
    Engine, FetchRequest, Fetched, MeasuredEngine, MemoryEngine, NewTask,
};
use windlass_remote::{
    Priority, QueueAdmin, QueueName, RemoteExecutor, RemoteExecutorBuilder, RemoteTask,
    RemoteWorker, RemoteWorkerBuilder, SigningKey, TaskId, TaskOptions, envelope,
};

/// An engine, and what has to live as long as it (a server, say).
pub(crate) struct UnderTest {
    make: Box<dyn Fn(&UnderTest) -> RemoteExecutorBuilder + Send + Sync>,
    worker: Box<dyn Fn(&UnderTest) -> RemoteWorkerBuilder + Send + Sync>,
    admin: Box<dyn Fn(&UnderTest) -> QueueAdmin + Send + Sync>,
    engine: Arc<dyn Engine>,
    /// Lives as long as the engine.
    _server: Option<Box<dyn Any + Send + Sync>>,
    pub(crate) queue: QueueName,
}

impl UnderTest {
    /// Every engine can be cloned: a clone is the same engine.
    pub(crate) fn new(engine: impl Engine + Clone) -> Self {
        let (a, b, c) = (engine.clone(), engine.clone(), engine.clone());
        let queue: QueueName = format!("q{}", TaskId::random()).parse().unwrap();
        Self {
            make: Box::new(move |t| RemoteExecutor::builder(a.clone()).queue(t.queue.as_str())),
            worker: Box::new(move |t| RemoteWorker::builder(b.clone()).queue(t.queue.as_str())),
            admin: Box::new(move |t| QueueAdmin::new(c.clone(), t.queue.clone())),
            engine: Arc::new(engine),
            _server: None,
            queue,
        }
    }

    pub(crate) fn executor(&self) -> RemoteExecutor {
        (self.make)(self).build().unwrap()
    }

    /// An executor that waits for its engine without end.
    pub(crate) fn patient_executor(&self) -> RemoteExecutor {
        let builder = (self.make)(self).submit_timeout(Duration::MAX);
        builder.build().unwrap()
    }

    pub(crate) fn signing_executor(&self, key: SigningKey) -> RemoteExecutor {
        (self.make)(self).signing_key(key).build().unwrap()
    }

    pub(crate) fn admin(&self) -> QueueAdmin {
        (self.admin)(self)
    }

    /// A worker that knows nothing yet, with short times.
    pub(crate) fn bare_worker(&self, threads: usize) -> RemoteWorkerBuilder {
        (self.worker)(self)
            .pool(windlass::executors::fixed_thread_pool(threads).unwrap())
            .lease(Duration::from_secs(2))
            .heartbeat(Duration::from_millis(50), Duration::from_millis(1_000))
    }

    pub(crate) fn worker(&self, threads: usize) -> RemoteWorker {
        let worker = self.bare_worker(threads);
        let worker = worker
            .register::<Add>()
            .register::<Gated>()
            .register::<Flaky>();
        worker
            .register::<Text>()
            .register::<Note>()
            .start()
            .unwrap()
    }

    /// Whether no task waits or runs.
    pub(crate) fn is_empty(&self) -> bool {
        let stats = self.stats(&self.queue).unwrap();
        (stats.ready, stats.running, stats.scheduled) == (0, 0, 0)
    }

    /// A key for the board that no other test uses.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.queue)
    }

    /// A task as a client would submit it.
    pub(crate) fn new_task<T: RemoteTask>(
        &self,
        id: &str,
        task: &T,
        options: TaskOptions,
    ) -> NewTask {
        let subject = envelope::Subject {
            role: "task",
            id,
            name: T::NAME,
            version: T::VERSION,
        };
        let body = windlass_remote::Codec::Json.encode(task).unwrap();
        NewTask {
            id: id.parse().unwrap(),
            name: T::NAME.into(),
            version: T::VERSION,
            payload: envelope::seal(windlass_remote::Codec::Json, &body, subject, None),
            options,
            delay: Duration::ZERO,
            reply_to: None,
        }
    }

    /// Fetches as a worker of this id would, without being one.
    pub(crate) fn fetch(&self, worker: &str, count: usize) -> Fetched {
        let mut feed = self.tasks(&self.queue, worker).unwrap();
        let (wait, lease) = (Duration::from_millis(200), Duration::from_secs(2));
        feed.fetch(&FetchRequest {
            count,
            wait,
            lease,
            first: Priority::High,
        })
        .unwrap()
    }
}

impl Deref for UnderTest {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        &*self.engine
    }
}

pub(crate) fn memory() -> Option<UnderTest> {
    Some(UnderTest::new(MemoryEngine::new()))
}

/// The memory engine, measured: that must not change what it does.
pub(crate) fn measured() -> Option<UnderTest> {
    Some(UnderTest::new(MeasuredEngine::new(MemoryEngine::new())))
}

/// A server for each test, so that none sees the load of another.
#[cfg(feature = "redis")]
pub(crate) fn redis() -> Option<UnderTest> {
    let server = crate::support::server::RedisServer::start(&[])?;
    let mut test = UnderTest::new(server.engine());
    test._server = Some(Box::new(server));
    Some(test)
}

/// One server for all tests, and a queue for each: starting a server takes longer than a test. If `poll` is set, without
/// notices.
#[cfg(all(unix, feature = "postgres"))]
pub(crate) fn postgres(poll: Option<Duration>) -> Option<UnderTest> {
    use crate::postgres_server::PostgresServer;
    use std::sync::OnceLock;

    static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
    let server = SERVER.get_or_init(|| PostgresServer::start(&[])).as_ref()?;
    let builder = server.builder();
    let builder = match poll {
        Some(interval) => builder.poll_only(interval),
        None => builder,
    };
    Some(UnderTest::new(builder.build().unwrap()))
}
