//! What operators do with a server, and what becomes of it: replicas, full disks, wrong clocks, requirements, formats.
#![cfg(feature = "redis")]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "redis_operations/handover.rs"]
mod handover;
#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::server::{RedisServer, end};
use support::tasks::{Add, BOARD, Gated, Note};
use support::{LONG, eventually};
use windlass_remote::engine::{
    Delivery, Engine, EngineError, EnginePolicy, FetchRequest, NewTask, RedisEngine, Report,
    Reported, Verdict,
};
use windlass_remote::{
    Codec, QueueName, RejectedReason, RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError,
    TaskExecutorService,
};

fn worker(engine: &RedisEngine, threads: usize) -> RemoteWorker {
    RemoteWorker::builder(engine.clone())
        .pool(windlass::executors::fixed_thread_pool(threads).unwrap())
        .lease(Duration::from_secs(2))
        .heartbeat(Duration::from_millis(100), Duration::from_secs(1))
        .register::<Add>()
        .register::<Note>()
        .register::<Gated>()
        .start()
        .unwrap()
}

fn queue() -> QueueName {
    QueueName::default()
}

fn command(server: &RedisServer, words: &[&str]) -> redis::RedisResult<redis::Value> {
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
}

/// Returns how many scripts a server has run.
fn scripts_run(server: &RedisServer) -> u64 {
    let info = command(server, &["INFO", "commandstats"]).unwrap();
    let info: String = redis::from_redis_value(info).unwrap();
    let calls = |line: &str| {
        let calls = line.strip_prefix("cmdstat_evalsha:calls=")?;
        calls.split(',').next()?.parse().ok()
    };
    info.lines().find_map(calls).unwrap_or(0)
}

#[test]
fn what_is_unfinished_at_a_limit_is_cancelled_in_few_round_trips() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let executor = RemoteExecutor::new(server.engine());
    let tasks = (0..1_000).map(|n| Add(n, 1)).collect();
    let before = scripts_run(&server);
    let futures = executor
        .invoke_all_timeout(tasks, Duration::from_millis(1))
        .unwrap();
    assert!(futures.iter().all(|future| future.is_cancelled()));
    let calls = scripts_run(&server) - before;
    assert!(calls <= 12, "five to submit, five to cancel, but {calls}");
}

/// Starts a replica of a server, and waits until it has all its data.
fn replica_of(primary: &RedisServer) -> RedisServer {
    let port = primary.port.to_string();
    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &port]).unwrap();
    eventually("the replica is in step", || {
        let info = command(&replica, &["INFO", "replication"]);
        format!("{info:?}").contains("master_link_status:up")
    });
    replica
}

#[test]
fn a_replica_rejects_tasks_and_has_them_all_when_it_is_promoted() {
    let Some(primary) = RedisServer::start(&[]) else {
        return;
    };
    let replica = replica_of(&primary);
    let rejected = RemoteExecutor::new(replica.engine())
        .submit_task(Add(1, 2))
        .unwrap_err();
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::ReadOnly(_))
        ),
        "{rejected}"
    );
    assert_eq!(rejected.into_task(), Add(1, 2));

    let safe = RedisEngine::builder(&primary.url()).replicas(1, Duration::from_secs(2));
    let executor = RemoteExecutor::new(safe.build().unwrap());
    let tasks = (0..500).map(|n| Add(n, 1)).collect();
    let ids: Vec<_> = executor
        .submit_all(tasks)
        .unwrap()
        .iter()
        .map(|future| future.id().clone())
        .collect();
    drop(primary);
    command(&replica, &["REPLICAOF", "NO", "ONE"]).unwrap();
    let engine = replica.engine();
    let _worker = worker(&engine, 4);
    let executor = RemoteExecutor::new(engine);
    for (n, id) in (0..).zip(&ids) {
        let future = executor.attach::<Add>(id).unwrap();
        assert_eq!(future.get_timeout(LONG), Ok(n + 1), "task {n}");
    }
}

#[test]
fn what_runs_while_its_server_is_demoted_ends_after_its_promotion() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let worker = worker(&engine, 1);
    let executor = RemoteExecutor::new(engine);
    let future = executor.submit_task(Gated::new("demoted")).unwrap();
    eventually("it runs", || BOARD.starts("demoted").len() == 1);
    let nobody = support::server::free_port().to_string();
    command(&server, &["REPLICAOF", "127.0.0.1", &nobody]).unwrap();
    BOARD.open("demoted");
    eventually("the worker is refused", || {
        let error = worker.stats().last_engine_error;
        matches!(error, Some(EngineError::ReadOnly(_)))
    });
    command(&server, &["REPLICAOF", "NO", "ONE"]).unwrap();
    assert_eq!(future.get_timeout(LONG).as_deref(), Ok("demoted"));
}

#[test]
fn a_submission_that_too_few_replicas_have_is_rejected() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let executor = |wait, limit| {
        let engine = RedisEngine::builder(&server.url()).replicas(1, wait);
        let executor = RemoteExecutor::builder(engine.build().unwrap());
        executor.submit_timeout(limit).build().unwrap()
    };
    let impatient = executor(Duration::from_millis(20), Duration::from_millis(200));
    let rejected = impatient.submit_task(Add(1, 2)).unwrap_err();
    assert!(
        rejected.to_string().contains("0 of 1 replicas"),
        "{rejected}"
    );
    let _replica = replica_of(&server);
    let patient = executor(LONG, LONG);
    assert!(patient.submit_task(Add(1, 2)).is_ok());
}

#[test]
fn a_server_that_may_lose_tasks_is_refused_when_that_is_required() {
    let Some(safe) = RedisServer::start(&[]) else {
        return;
    };
    let connect =
        |server: &RedisServer, policy| RedisEngine::builder(&server.url()).policy(policy).connect();
    assert!(connect(&safe, EnginePolicy::Require).is_ok());
    let report = safe.engine().check().unwrap();
    assert_eq!(report.fsync.as_deref(), Some("everysec"));
    let evicts = RedisServer::start(&["--maxmemory-policy", "allkeys-lru"]).unwrap();
    let volatile = RedisServer::start(&["--appendonly", "no"]).unwrap();
    for (server, setting) in [(&evicts, "maxmemory-policy"), (&volatile, "appendonly")] {
        let error = connect(server, EnginePolicy::Require).unwrap_err();
        assert!(error.to_string().contains(setting), "{error}");
        assert!(connect(server, EnginePolicy::Warn).is_ok());
    }
}

/// A small file system of its own, if this process may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            support::say_skipped("a full disk", "the right to mount one");
        }
        mounted.then(|| Self(folder.into()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_rejects_tasks_and_loses_none_that_was_taken() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = disk.0.to_str().unwrap().to_owned();
    let Some(server) = RedisServer::start(&["--dir", &path, "--auto-aof-rewrite-percentage", "0"])
    else {
        return;
    };
    let executor = RemoteExecutor::builder(server.engine())
        .submit_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let ballast = disk.0.join("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let mut taken = Vec::new();
    let text = "x".repeat(20_000);
    let rejected = loop {
        match executor.submit_task(Note(text.clone())) {
            Ok(future) => taken.push(future),
            Err(rejected) => break rejected,
        }
        assert!(taken.len() < 1_000, "the disk is never full");
    };
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::ReadOnly(_))
        ),
        "{rejected}"
    );
    std::fs::remove_file(&ballast).unwrap();
    // The server tries the disk again once a second.
    eventually("it takes tasks again", || {
        executor.submit_task(Add(1, 2)).is_ok()
    });
    let _worker = worker(&server.engine(), 2);
    for future in &taken {
        assert_eq!(future.get_timeout(LONG), Ok(()));
    }
}

/// Not a test by itself: the body of a worker process whose clock is wrong.
#[test]
fn worker_process() {
    if let Ok(address) = std::env::var("WINDLASS_TEST_WORKER") {
        let right: u64 = std::env::var("WINDLASS_TEST_NOW").unwrap().parse().unwrap();
        assert!(unix_seconds().abs_diff(right) > 3_600, "the clock is right");
        let _worker = worker(&RedisEngine::builder(&address).build().unwrap(), 2);
        // It is killed; if its parent is killed first, it ends by itself.
        windlass::interrupt::sleep(2 * LONG).unwrap();
    }
}

fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Returns the library that shifts the clock of a process. The program `faketime` would start the process as a child of its own, which
/// would outlive it.
fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let library = |folder: PathBuf| folder.join("faketime/libfaketimeMT.so.1");
    folders
        .flatten()
        .map(|folder| library(folder.path()))
        .find(|library| library.exists())
}

/// A worker process that believes in another time; ended with this value.
struct WrongClock(Option<Child>);

impl WrongClock {
    fn start(library: &Path, address: &str, shift: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker_process"])
            .env("LD_PRELOAD", library)
            .env("FAKETIME", shift)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("WINDLASS_TEST_WORKER", address)
            .env("WINDLASS_TEST_NOW", unix_seconds().to_string())
            .stdout(Stdio::null())
            .spawn();
        Self(Some(child.unwrap()))
    }
}

impl Drop for WrongClock {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(end);
    }
}

#[test]
fn workers_whose_clocks_differ_by_hours_agree() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let Some(library) = clock_library() else {
        support::say_skipped("a clock that is wrong", "Debian's package libfaketime");
        return;
    };
    let _clocks = ["+2h", "-2h"].map(|shift| WrongClock::start(&library, &server.url(), shift));
    eventually("both workers are there", || {
        engine.workers(&queue()).unwrap().len() == 2
    });
    let executor = RemoteExecutor::new(engine.clone());
    let begun = std::time::Instant::now();
    let delayed = executor
        .schedule(Duration::from_millis(1_500), Add(1, 1))
        .unwrap();
    let many = executor
        .submit_all((0..200).map(|n| Add(n, 1)).collect())
        .unwrap();
    for (n, future) in (0..).zip(&many) {
        assert_eq!(future.get_timeout(LONG), Ok(n + 1));
    }
    assert_eq!(delayed.get_timeout(LONG), Ok(2));
    assert!(
        begun.elapsed() >= Duration::from_millis(1_490),
        "not two hours early"
    );
    // Longer than the silence after which a worker counts as vanished.
    let later = executor
        .schedule(Duration::from_millis(1_500), Add(2, 2))
        .unwrap();
    assert_eq!(later.get_timeout(LONG), Ok(4));
    let stats = engine.stats(&queue()).unwrap();
    assert_eq!((stats.redelivered, stats.stale), (0, 0));
    assert_eq!(engine.workers(&queue()).unwrap().len(), 2);
}

#[test]
fn every_format_goes_through_a_server() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let codecs = [
        Codec::Json,
        #[cfg(feature = "messagepack")]
        Codec::MessagePack,
        #[cfg(feature = "postcard")]
        Codec::Postcard,
    ];
    for (n, submitted) in (0..).zip(codecs) {
        for returned in codecs {
            let engine = server.engine();
            let name = format!("q{n}-{}", returned as u8);
            let _worker = RemoteWorker::builder(engine.clone())
                .queue(&name)
                .pool(windlass::executors::fixed_thread_pool(1).unwrap())
                .codec(returned)
                .register::<Add>()
                .start()
                .unwrap();
            let executor = RemoteExecutor::builder(engine)
                .queue(&name)
                .codec(submitted);
            let future = executor.build().unwrap().submit_task(Add(n, 1)).unwrap();
            assert_eq!(
                future.get_timeout(LONG),
                Ok(n + 1),
                "{submitted:?} {returned:?}"
            );
        }
    }
}

/// Keeps how far it came, and fails until it has come three steps.
#[derive(serde::Serialize, serde::Deserialize)]
struct Steps;

impl RemoteTask for Steps {
    const NAME: &'static str = "test.steps";
    type Output = u8;

    fn run(self, cx: &TaskCx) -> Result<u8, TaskError> {
        let step = cx.last_checkpoint()?.map_or(0, |kept| kept[0]) + 1;
        cx.checkpoint(&[step])?;
        if step < 3 {
            return Err(TaskError::new("again").retry_after(Duration::ZERO));
        }
        Ok(step)
    }

    fn options() -> windlass_remote::TaskOptions {
        windlass_remote::TaskOptions::default().max_attempts(3)
    }
}

#[test]
fn a_checkpoint_of_a_signed_task_is_signed() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let key = || windlass_remote::SigningKey::new(&[7; 32]);
    let start = |server: &RedisServer| {
        RemoteWorker::builder(server.engine())
            .pool(windlass::executors::fixed_thread_pool(1).unwrap())
            .signing_key(key())
            .register::<Steps>()
            .start()
            .unwrap()
    };
    let executor = RemoteExecutor::builder(server.engine()).signing_key(key());
    let executor = executor.build().unwrap();
    let future = executor.submit_task(Steps).unwrap();
    let beside = format!("wl:{{default}}:e:{}", future.id());
    command(&server, &["HSET", &beside, "c", "\u{1}\u{1}\0\u{2}"]).unwrap();
    let _worker = start(&server);
    let error = future.get_timeout(LONG).unwrap_err();
    assert!(error.to_string().contains("checkpoint"), "{error}");
    let future = executor.submit_task(Steps).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(3));
}

/// Submits tasks of these numbers, starts them, and returns their deliveries.
fn started(engine: &RedisEngine, numbers: std::ops::Range<u32>) -> Vec<Delivery> {
    let task = |n: u32| NewTask {
        id: format!("n{n}").parse().unwrap(),
        name: "test.add".into(),
        version: 1,
        payload: Vec::new(),
        options: windlass_remote::TaskOptions::default(),
        delay: Duration::ZERO,
        reply_to: None,
    };
    let count = numbers.len();
    let tasks: Vec<_> = numbers.map(task).collect();
    engine.submit(&queue(), &tasks).unwrap();
    fetched(engine, count)
}

fn fetched(engine: &RedisEngine, count: usize) -> Vec<Delivery> {
    let mut feed = engine.tasks(&queue(), "w").unwrap();
    let fetched = feed.fetch(&FetchRequest {
        count,
        wait: LONG,
        lease: LONG,
        first: windlass_remote::Priority::Normal,
    });
    let deliveries = fetched.unwrap().deliveries;
    assert_eq!(deliveries.len(), count);
    deliveries
}

fn report_done(engine: &RedisEngine, deliveries: &[Delivery]) {
    let report = |delivery: &Delivery| Report {
        lease: delivery.lease.clone(),
        verdict: Verdict::Done(vec![1]),
    };
    let reports: Vec<_> = deliveries.iter().map(report).collect();
    let answers = engine.report(&queue(), &reports).unwrap();
    assert!(answers.iter().all(|a| *a == Reported::Accepted));
}

#[test]
fn entries_of_ended_tasks_leave_their_stream_and_no_others() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let length = || command(&server, &["XLEN", "wl:{default}:r1"]).unwrap();
    let mut held = started(&engine, 0..200);
    let (first, last) = (held.remove(0), held.split_off(150));
    report_done(&engine, &held);
    // Those that are pending are still there for others.
    engine.leave(&queue(), "w").unwrap();
    let held = fetched(&engine, 1 + last.len());
    assert_eq!(held[0].lease.id, first.lease.id);
    let waiting = started(&engine, 200..400);
    report_done(&engine, &waiting[100..]);
    report_done(&engine, &held);
    report_done(&engine, &waiting[..100]);
    for n in 2..12 {
        report_done(&engine, &started(&engine, n * 200..(n + 1) * 200));
    }
    let left = length();
    assert!(matches!(left, redis::Value::Int(0..=300)), "{left:?}");
    let stats = engine.stats(&queue()).unwrap();
    assert_eq!((stats.done, stats.ready, stats.running), (2_400, 0, 0));
    assert_eq!(stats.stale, 0);
    // What stays of them is not delivered again.
    let one = started(&engine, 3_000..3_001);
    assert_eq!(one[0].lease.id.as_str(), "n3000");
}
