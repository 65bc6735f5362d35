//! What the tests of this program build on a server.

use crate::support::LONG;
use crate::support::postgres::PostgresServer;
use crate::support::tasks::{Add, Gated, Note};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::Duration;
use windlass_remote::engine::{Engine, PostgresEngine, tokio_postgres};
use windlass_remote::{
    QueueName, RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError, TaskId,
};

/// Takes a while, so that many are under way when something ends.
#[derive(Serialize, Deserialize)]
pub(crate) struct Slow(pub(crate) u32);

impl RemoteTask for Slow {
    const NAME: &'static str = "test.slow";
    type Output = u32;

    fn run(self, _: &TaskCx) -> Result<u32, TaskError> {
        windlass::interrupt::sleep(Duration::from_millis(10))?;
        Ok(self.0)
    }
}

/// One server for the tests that leave it alone, each with a queue of its own.
pub(crate) fn shared() -> Option<&'static PostgresServer> {
    static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
    SHARED.get_or_init(|| PostgresServer::start(&[])).as_ref()
}

pub(crate) fn new_queue() -> QueueName {
    format!("q{}", TaskId::random()).parse().unwrap()
}

pub(crate) fn worker(engine: &PostgresEngine, queue: &QueueName, threads: usize) -> RemoteWorker {
    RemoteWorker::builder(engine.clone())
        .queue(queue.as_str())
        .pool(windlass::executors::fixed_thread_pool(threads).unwrap())
        .lease(Duration::from_secs(2))
        .heartbeat(Duration::from_millis(100), Duration::from_secs(1))
        .register::<Slow>()
        .register::<Add>()
        .register::<Note>()
        .register::<Gated>()
        .start()
        .unwrap()
}

pub(crate) fn executor(engine: &PostgresEngine, queue: &QueueName) -> RemoteExecutor {
    RemoteExecutor::builder(engine.clone())
        .queue(queue.as_str())
        .submit_timeout(LONG)
        .build()
        .unwrap()
}

/// Submits tasks and expects every result, once and right.
pub(crate) fn expect_all(
    executor: &RemoteExecutor,
    engine: &PostgresEngine,
    count: u32,
    meanwhile: impl FnOnce(),
) {
    let futures = executor.submit_all((0..count).map(Slow).collect()).unwrap();
    meanwhile();
    for (n, future) in futures.iter().enumerate() {
        let outcome = future.get_timeout(2 * LONG);
        let state = || {
            let record = executor.record(future.id()).map(|r| r.map(|r| r.state));
            (record, engine.stats(executor.queue()))
        };
        assert_eq!(outcome, Ok(n as u32), "task {n}: {:?}", state());
    }
    let stats = engine.stats(executor.queue()).unwrap();
    assert_eq!(
        (stats.submitted, stats.done),
        (u64::from(count), u64::from(count))
    );
    assert_eq!(
        (stats.ready, stats.scheduled, stats.failed, stats.dead),
        (0, 0, 0, 0)
    );
}

/// A runtime as the program of a user has it.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Connects as the program of a user does.
pub(crate) async fn client(server: &PostgresServer) -> tokio_postgres::Client {
    let connected = tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(connection);
    client
}
