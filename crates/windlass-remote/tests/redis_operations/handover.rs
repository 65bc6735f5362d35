//! How tasks reach workers that wait on Redis, and outcomes the clients that listen.

use crate::support::server::RedisServer;
use crate::support::tasks::Add;
use crate::support::{LONG, eventually};
use std::time::Duration;
use windlass_remote::engine::{
    Beat, Delivery, Engine, FetchRequest, NewTask, Outcome, QueuePatch, RedisEngine, Report,
    TaskFeed, Verdict, WorkerRecord,
};
use windlass_remote::{
    Priority, QueueName, RemoteExecutor, RemoteWorker, TaskExecutorService, TaskOptions,
};

const SHORT: Duration = Duration::from_millis(1);

fn queue() -> QueueName {
    QueueName::default()
}

fn task(id: &str) -> NewTask {
    NewTask {
        id: id.parse().unwrap(),
        name: "test.add".into(),
        version: 1,
        payload: format!("payload of {id}").into_bytes(),
        options: TaskOptions::default(),
        delay: Duration::ZERO,
        reply_to: Some("client".into()),
    }
}

fn submit(engine: &RedisEngine, ids: &[&str]) {
    let tasks: Vec<NewTask> = ids.iter().map(|id| task(id)).collect();
    engine.submit(&queue(), &tasks).unwrap();
}

fn fetch(feed: &mut dyn TaskFeed, count: usize, wait: Duration) -> Vec<Delivery> {
    let request = FetchRequest {
        count,
        wait,
        lease: LONG,
        first: Priority::Normal,
    };
    feed.fetch(&request).unwrap().deliveries
}

fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries
        .iter()
        .map(|delivery| delivery.lease.id.as_str())
        .collect()
}

/// Returns how many tasks are ready, and how many run.
fn ready_and_running(engine: &RedisEngine) -> (u64, u64) {
    let stats = engine.stats(&queue()).unwrap();
    (stats.ready, stats.running)
}

/// Opens a feed that has found nothing and waits for so many tasks.
fn waiting(engine: &RedisEngine, worker: &str, count: usize) -> Box<dyn TaskFeed> {
    let mut feed = engine.tasks(&queue(), worker).unwrap();
    assert!(fetch(&mut *feed, count, SHORT).is_empty());
    feed
}

#[test]
fn a_task_starts_with_its_submission_if_a_worker_waits() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let mut feed = waiting(&engine, "w", 2);
    submit(&engine, &["a", "b", "c"]);
    assert_eq!(
        ready_and_running(&engine),
        (1, 2),
        "as many as it has room for"
    );
    let given = fetch(&mut *feed, 2, LONG);
    assert_eq!(ids(&given), ["a", "b"]);
    assert_eq!((given[0].lease.fence, &*given[0].name), (1, "test.add"));
    assert_eq!(given[1].payload, b"payload of b");
    let reports: Vec<Report> = given
        .into_iter()
        .map(|delivery| Report {
            lease: delivery.lease,
            verdict: Verdict::Done(b"1".to_vec()),
        })
        .collect();
    engine.report(&queue(), &reports).unwrap();
    assert_eq!(ids(&fetch(&mut *feed, 2, LONG)), ["c"]);
    let stats = engine.stats(&queue()).unwrap();
    assert_eq!((stats.done, stats.ready, stats.running), (2, 0, 1));
    assert_eq!(stats.stale, 0);
}

#[test]
fn a_round_trip_is_two_scripts() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    // Beats and looks of an idle worker are scripts too; they are rare here.
    let _worker = RemoteWorker::builder(engine.clone())
        .pool(windlass::executors::fixed_thread_pool(64).unwrap())
        .heartbeat(Duration::from_secs(5), Duration::from_secs(60))
        .register::<Add>()
        .start()
        .unwrap();
    let executor = RemoteExecutor::new(engine);
    let trips = |count: i64| {
        for n in 0..count {
            assert_eq!(executor.submit_task(Add(n, 1)).unwrap().get(), Ok(n + 1));
        }
    };
    trips(20);
    let calls = || {
        let mut connection = redis::Client::open(server.url())
            .unwrap()
            .get_connection()
            .unwrap();
        let info: String = redis::cmd("INFO")
            .arg("commandstats")
            .query(&mut connection)
            .unwrap();
        let calls = |line: &str| -> Option<u64> {
            let calls = line.strip_prefix("cmdstat_evalsha:calls=")?;
            calls.split(',').next()?.parse().ok()
        };
        info.lines().find_map(calls).unwrap_or(0)
    };
    let before = calls();
    trips(300);
    let calls = calls() - before;
    assert!(calls < 750, "two scripts for each of 300, but {calls}");
}

#[test]
fn a_worker_that_is_gone_is_given_nothing() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    drop(waiting(&engine, "gone", 9));
    let mut feed = waiting(&engine, "there", 1);
    let mut connection = redis::Client::open(server.url())
        .unwrap()
        .get_connection()
        .unwrap();
    eventually("its connection is closed", || {
        let channels: Vec<String> = redis::cmd("PUBSUB")
            .arg("CHANNELS")
            .query(&mut connection)
            .unwrap();
        channels.len() == 1
    });
    submit(&engine, &["a"]);
    assert_eq!(ids(&fetch(&mut *feed, 1, LONG)), ["a"]);
}

#[test]
fn a_worker_that_ends_gives_back_what_is_on_its_way() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let mut feed = waiting(&engine, "w", 3);
    submit(&engine, &["a", "b"]);
    assert_eq!(ids(&feed.close().unwrap()), ["a", "b"]);
    submit(&engine, &["c"]);
    assert_eq!(ready_and_running(&engine), (1, 2));
}

#[test]
fn a_silent_worker_is_given_nothing_more() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let _feed = waiting(&engine, "w", 9);
    let mut worker = WorkerRecord::default();
    worker.id = "w".into();
    let beat = Beat {
        worker: &worker,
        leases: &[],
        lease: LONG,
    };
    engine.beat(&queue(), beat).unwrap();
    submit(&engine, &["a"]);
    assert_eq!(ready_and_running(&engine), (0, 1));
    eventually("it is taken to have vanished", || {
        engine.tick(&queue(), LONG, SHORT).unwrap();
        ready_and_running(&engine) == (1, 0)
    });
    submit(&engine, &["b"]);
    assert_eq!(ready_and_running(&engine), (2, 0));
}

#[test]
fn what_became_ready_earlier_is_not_overtaken() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let later = NewTask {
        delay: SHORT,
        ..task("first")
    };
    engine.submit(&queue(), &[later]).unwrap();
    let mut feed = waiting(&engine, "w", 2);
    eventually("it is ready", || {
        engine.tick(&queue(), LONG, LONG).unwrap();
        ready_and_running(&engine) == (1, 0)
    });
    submit(&engine, &["second"]);
    let mut order = Vec::new();
    while order.len() < 2 {
        let given = fetch(&mut *feed, 2 - order.len(), LONG);
        order.extend(ids(&given).into_iter().map(String::from));
    }
    assert_eq!(order, ["first", "second"]);
    assert_eq!(ready_and_running(&engine), (0, 2));
}

#[test]
fn a_pause_holds_for_a_worker_that_waits_and_its_end_wakes_it() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let set_paused = |paused| {
        let patch = QueuePatch {
            paused: Some(paused),
            ..QueuePatch::default()
        };
        engine.configure(&queue(), &patch).unwrap();
    };
    let mut feed = waiting(&engine, "w", 2);
    set_paused(true);
    submit(&engine, &["a"]);
    assert_eq!(ready_and_running(&engine), (1, 0));
    set_paused(false);
    assert_eq!(ids(&fetch(&mut *feed, 2, LONG)), ["a"]);
}

#[test]
fn a_large_payload_is_handed_over_too() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let mut feed = waiting(&engine, "w", 1);
    let large = NewTask {
        payload: vec![7; 70_000],
        ..task("large")
    };
    engine.submit(&queue(), &[large]).unwrap();
    let given = fetch(&mut *feed, 1, LONG);
    assert_eq!(given[0].payload, vec![7; 70_000]);
}

#[test]
fn outcomes_wait_for_a_client_that_does_not_listen() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let mut tasks = engine.tasks(&queue(), "w").unwrap();
    let mut run = |id: &str| {
        submit(&engine, &[id]);
        let given = fetch(&mut *tasks, 1, LONG);
        let report = Report {
            lease: given[0].lease.clone(),
            verdict: Verdict::Done(id.as_bytes().to_vec()),
        };
        engine.report(&queue(), &[report]).unwrap();
    };
    let mut replies = engine.replies(&queue(), "client").unwrap();
    let mut next = |id: &str| loop {
        if let Some(reply) = replies.next(LONG).unwrap().pop() {
            assert_eq!(reply.id.as_str(), id);
            assert_eq!(reply.outcome, Some(Outcome::Done(id.as_bytes().to_vec())));
            return;
        }
    };
    run("before");
    next("before");
    // Until it waits for messages it may still be reading what was kept; both ways are right.
    run("while");
    next("while");
    run("after");
    next("after");
}
