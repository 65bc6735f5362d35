//! What goes wrong with servers, networks and workers.

use crate::proxy::Proxy;
use crate::support::postgres::PostgresServer;
use crate::support::tasks::{Add, BOARD, Gated};
use crate::support::{LONG, eventually, say_skipped};
use crate::world::{Slow, client, executor, expect_all, new_queue, runtime, shared, worker};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use windlass_remote::engine::{Engine, EngineError, PostgresEngine, QueuePatch};
use windlass_remote::{QueueName, RejectedReason, RemoteExecutor, TaskExecutorService};

/// Not a test by itself: the body of a worker process, started by [`WorkerProcess`].
#[test]
fn worker_process() {
    if let Ok(address) = std::env::var("WINDLASS_TEST_WORKER") {
        if let Ok(right) = std::env::var("WINDLASS_TEST_NOW") {
            let wrong_by = unix_seconds().abs_diff(right.parse().unwrap());
            assert!(wrong_by > 3_600, "the clock is right");
        }
        let engine = PostgresEngine::builder(&address).build().unwrap();
        let queue = std::env::var("WINDLASS_TEST_QUEUE").unwrap();
        let _worker = worker(&engine, &queue.parse().unwrap(), 8);
        // It is killed; if its parent is killed first, it ends by itself.
        windlass::interrupt::sleep(2 * LONG).unwrap();
    }
}

fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

struct WorkerProcess(Child);

impl WorkerProcess {
    fn start(address: &str, queue: &QueueName) -> Self {
        Self(Self::command(address, queue).spawn().unwrap())
    }

    /// Starts one whose clock is wrong, by a library that is loaded into it.
    fn start_with_clock(address: &str, queue: &QueueName, library: &Path, shift: &str) -> Self {
        let mut command = Self::command(address, queue);
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME", shift)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("WINDLASS_TEST_NOW", unix_seconds().to_string());
        Self(command.spawn().unwrap())
    }

    fn command(address: &str, queue: &QueueName) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "faults::worker_process"])
            .env("WINDLASS_TEST_WORKER", address)
            .env("WINDLASS_TEST_QUEUE", queue.as_str())
            .stdout(Stdio::null());
        command
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn workers_that_are_killed_lose_no_task() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let start = |_| WorkerProcess::start(&server.url(), &queue);
    let mut processes: Vec<_> = (0..3).map(start).collect();
    eventually("all workers are there", || {
        engine.workers(&queue).unwrap().len() == 3
    });
    let executor = executor(&engine, &queue);
    expect_all(&executor, &engine, 600, || {
        for _ in 0..2 {
            let done = engine.stats(&queue).unwrap().done;
            eventually("some are done", || {
                engine.stats(&queue).unwrap().done > done + 50
            });
            drop(processes.pop());
        }
    });
    let stats = engine.stats(&queue).unwrap();
    assert!(stats.redelivered > 0, "the killed workers had tasks");
    eventually("the dead are forgotten", || {
        engine.workers(&queue).unwrap().len() == 1
    });
}

/// Returns the library that shifts the clock of a process.
fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let library = |folder: PathBuf| folder.join("faketime/libfaketimeMT.so.1");
    folders
        .flatten()
        .map(|folder| library(folder.path()))
        .find(|library| library.exists())
}

#[test]
fn workers_whose_clocks_differ_by_hours_agree() {
    let Some(server) = shared() else { return };
    let Some(library) = clock_library() else {
        say_skipped("a clock that is wrong", "Debian's package libfaketime");
        return;
    };
    let (engine, queue) = (server.engine(), new_queue());
    let _workers = ["+2h", "-2h"]
        .map(|shift| WorkerProcess::start_with_clock(&server.url(), &queue, &library, shift));
    eventually("both workers are there", || {
        engine.workers(&queue).unwrap().len() == 2
    });
    let executor = executor(&engine, &queue);
    let delay = Duration::from_millis(1_500);
    let (begun, delayed) = (Instant::now(), executor.schedule(delay, Add(1, 1)).unwrap());
    let many = executor
        .submit_all((0..200).map(|n| Add(n, 1)).collect())
        .unwrap();
    for (n, future) in (0..).zip(&many) {
        assert_eq!(future.get_timeout(LONG), Ok(n + 1));
    }
    assert_eq!(delayed.get_timeout(LONG), Ok(2));
    assert!(
        begun.elapsed() >= delay - Duration::from_millis(10),
        "not two hours early"
    );
    // Longer than the silence after which a worker counts as vanished.
    let later = executor.schedule(delay, Add(2, 2)).unwrap();
    assert_eq!(later.get_timeout(LONG), Ok(4));
    let stats = engine.stats(&queue).unwrap();
    assert_eq!((stats.redelivered, stats.stale), (0, 0));
    assert_eq!(engine.workers(&queue).unwrap().len(), 2);
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_no_task() {
    let Some(mut server) = PostgresServer::start(&[]) else {
        return;
    };
    let (engine, queue) = (server.engine(), new_queue());
    let worker = worker(&engine, &queue, 8);
    let executor = executor(&engine, &queue);
    expect_all(&executor, &engine, 600, || {
        for n in 1..=2 {
            eventually("some are done", || {
                engine.stats(&queue).is_ok_and(|s| s.done > n * 50)
            });
            server.kill();
            server.launch();
        }
    });
    assert!(worker.stats().engine_errors > 0 && !worker.is_terminated());
}

#[test]
fn a_submission_waits_for_a_server_that_comes_back() {
    let Some(mut server) = PostgresServer::start(&[]) else {
        return;
    };
    let (engine, queue) = (server.engine(), new_queue());
    let _worker = worker(&engine, &queue, 1);
    let executor = executor(&engine, &queue);
    server.kill();
    std::thread::scope(|scope| {
        let submitted = scope.spawn(|| executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG));
        server.launch();
        assert_eq!(submitted.join().unwrap(), Ok(3));
    });
    server.kill();
    let refused = PostgresEngine::connect(&server.url()).unwrap_err();
    assert!(
        matches!(&refused, EngineError::Unavailable(message) if message.contains("refused")),
        "at the start too: {refused}"
    );
    let hasty = RemoteExecutor::builder(engine).submit_timeout(Duration::from_millis(100));
    let rejected = hasty.build().unwrap().submit_task(Add(1, 2)).unwrap_err();
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::Unavailable(_))
        ),
        "{rejected}"
    );
    assert_eq!(rejected.into_task(), Add(1, 2));
}

fn through(proxy: &Proxy) -> String {
    let place = proxy.url();
    let place = place.trim_start_matches("redis://").trim_end_matches('/');
    format!("postgres://windlass@{place}/postgres")
}

#[test]
fn a_cut_network_loses_no_task_and_hangs_nobody() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port);
    let queue = new_queue();
    let cut = PostgresEngine::builder(&through(&proxy))
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let _worker = worker(&cut, &queue, 8);
    let executor = executor(&cut, &queue);
    let direct = server.engine();
    expect_all(&executor, &direct, 400, || {
        for n in 1..=3 {
            eventually("some are done", || {
                direct.stats(&queue).unwrap().done > n * 50
            });
            proxy.cut();
        }
    });
    assert!(proxy.cuts() > 3, "connections were cut");
}

#[test]
fn a_silent_network_loses_no_task_and_hangs_nobody() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port);
    let queue = new_queue();
    let silent = PostgresEngine::builder(&through(&proxy))
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let worker = worker(&silent, &queue, 8);
    let executor = executor(&silent, &queue);
    let direct = server.engine();
    expect_all(&executor, &direct, 400, || {
        for n in 1..=2 {
            eventually("some are done", || {
                direct.stats(&queue).unwrap().done > n * 50
            });
            let before = worker.stats().engine_errors;
            proxy.freeze();
            let stats = silent.stats(&queue);
            assert!(
                matches!(stats, Err(EngineError::Unavailable(_))),
                "{stats:?}"
            );
            eventually("the worker notices", || {
                worker.stats().engine_errors > before
            });
            proxy.thaw();
        }
    });
    assert!(!worker.is_terminated());
}

/// The proxy takes connections and says nothing on them.
#[test]
fn a_server_that_takes_connections_and_says_nothing_hangs_nobody() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port);
    proxy.freeze();
    let (name, queue) = (
        format!("w{}", windlass_remote::TaskId::random()),
        new_queue(),
    );
    let address = format!("{}?application_name={name}", through(&proxy));
    let silent = PostgresEngine::builder(&address)
        .connect_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let executor = executor(&silent, &queue);
    runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = silent.in_transaction(&transaction, &executor);
        let submitted = tokio::time::timeout(LONG, tasks.submit(Add(1, 2))).await;
        assert!(submitted.expect("it does not hang").is_err());
    });
    // Notices are listened to from here on, on a connection that is made again until the server answers.
    let _feed = silent.control(&queue).unwrap();
    let tried = Instant::now();
    eventually("an attempt was under way", || {
        tried.elapsed() > Duration::from_millis(200)
    });
    proxy.thaw();
    let connections = format!("SELECT FROM pg_stat_activity WHERE application_name = '{name}'");
    runtime().block_on(async {
        let client = client(server).await;
        let until = Instant::now() + LONG;
        while client.query(&connections, &[]).await.unwrap().is_empty() {
            assert!(Instant::now() < until, "nobody listens to notices");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

/// A call that is too long is undone, and the next one would have still more to do.
#[test]
fn a_tick_adds_up_a_part_of_the_counts() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let tick = || engine.tick(&queue, LONG, LONG).unwrap();
    engine.configure(&queue, &QueuePatch::default()).unwrap();
    let rows = |from: &str| {
        format!(
            "SELECT count(*) FROM {from} WHERE qid = (SELECT qid FROM windlass.queue WHERE name = '{queue}')"
        )
    };
    let fill = format!(
        "INSERT INTO windlass.tally (qid, done) SELECT qid, 1 FROM windlass.queue, generate_series(1, 25000) WHERE name = '{queue}'"
    );
    server.administer("postgres", &[&fill]).unwrap();
    let left = || -> i64 {
        runtime().block_on(async {
            let client = client(server).await;
            let row = client.query_one(&rows("windlass.tally"), &[]).await;
            row.unwrap().get(0)
        })
    };
    tick();
    assert_eq!(left(), 15_001);
    eventually("all are added up", || {
        tick();
        left() == 1
    });
    assert_eq!(engine.stats(&queue).unwrap().done, 25_000);
}

#[test]
fn a_slow_link_delays_and_loses_nothing() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::start(server.port);
    proxy.delay(Duration::from_millis(30));
    let (slow, queue) = (
        PostgresEngine::builder(&through(&proxy)).build().unwrap(),
        new_queue(),
    );
    let _worker = worker(&slow, &queue, 8);
    expect_all(&executor(&slow, &queue), &server.engine(), 100, || {});
}

#[test]
fn a_server_that_stands_still_for_a_while_loses_no_task() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let queue = new_queue();
    let impatient = server.builder().call_timeout(Duration::from_millis(500));
    let engine = impatient.build().unwrap();
    let worker = worker(&engine, &queue, 4);
    expect_all(&executor(&engine, &queue), &engine, 300, || {
        eventually("some are done", || engine.stats(&queue).unwrap().done > 50);
        server.signal("-STOP");
        let still = engine.stats(&queue);
        assert!(
            matches!(still, Err(EngineError::Unavailable(_))),
            "{still:?}"
        );
        eventually("the worker notices", || worker.stats().engine_errors > 0);
        server.signal("-CONT");
        eventually("it answers again", || engine.stats(&queue).is_ok());
    });
}

#[test]
fn a_read_only_server_rejects_and_workers_go_on_afterwards() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
    let gate = format!("{queue}/read-only");
    let running = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    let set = |to: &str| {
        let set = format!("ALTER SYSTEM SET default_transaction_read_only = {to}");
        server
            .administer("postgres", &[&set, "SELECT pg_reload_conf()"])
            .unwrap();
    };
    set("on");
    eventually("the setting is read", || {
        engine.leave(&queue, "nobody").is_err()
    });
    let rejected = executor.submit_task(Add(1, 2)).unwrap_err();
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::ReadOnly(_))
        ),
        "{rejected}"
    );
    BOARD.open(&gate);
    set("off");
    assert_eq!(running.get_timeout(LONG), Ok(gate), "what ran ends");
    eventually("writes are taken again", || {
        executor
            .submit_task(Add(1, 2))
            .is_ok_and(|f| f.get_timeout(LONG) == Ok(3))
    });
    assert!(!worker.is_terminated());
}

/// A small file system of its own; gone with the test.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(folder: &std::path::Path) -> Option<Self> {
        let place = folder.join("small");
        std::fs::create_dir(&place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m,mode=0777", "tmpfs"])
            .arg(&place)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            let owner = std::fs::metadata(folder).unwrap();
            chown(&place, Some(owner.uid()), Some(owner.gid())).unwrap();
            return Some(Self(place));
        }
        crate::support::say_skipped("a full disk", "the right to mount one");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still have files open there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_rejects_and_loses_nothing() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let Some(disk) = SmallDisk::mount(&server.folder) else {
        return;
    };
    // The tables are on the small disk; the log of the server is not, since a server that cannot write it stops.
    let place = format!("CREATE TABLESPACE small LOCATION '{}'", disk.0.display());
    server.administer("postgres", &[&place]).unwrap();
    server
        .administer("postgres", &["CREATE DATABASE small TABLESPACE small"])
        .unwrap();
    let address = server.url().replace("/postgres", "/small");
    let engine = PostgresEngine::builder(&address).build().unwrap();
    engine.migrate().unwrap();
    let queue = new_queue();
    let executor = executor(&engine, &queue);
    let filler = disk.0.join("filler");
    let _ = std::fs::write(&filler, vec![0; 64 << 20]);
    let mut taken = Vec::new();
    let rejected = loop {
        match executor.submit_all((0..200).map(Slow).collect()) {
            Ok(futures) => taken.extend(futures),
            Err(rejected) => break rejected,
        }
    };
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::Full(_))
        ),
        "{rejected}"
    );
    assert_eq!(
        rejected.into_task().len(),
        200,
        "all of the batch come back"
    );
    std::fs::remove_file(&filler).unwrap();
    let _worker = worker(&engine, &queue, 8);
    assert_eq!(
        executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG),
        Ok(3)
    );
    for future in &taken {
        assert!(future.get_timeout(LONG).is_ok(), "what was taken is there");
    }
    let stats = engine.stats(&queue).unwrap();
    assert_eq!(
        (stats.submitted, stats.done),
        (stats.done, taken.len() as u64 + 1)
    );
}

#[test]
fn a_backlog_is_worked_off_by_one_worker() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let executor = executor(&engine, &queue);
    let count = std::env::var("WINDLASS_BACKLOG").map_or(5_000, |count| count.parse().unwrap());
    let futures = executor
        .submit_all((0..count).map(|n| Add(n, 1)).collect())
        .unwrap();
    assert_eq!(engine.stats(&queue).unwrap().ready, count as u64);
    let _worker = worker(&engine, &queue, 8);
    for (n, future) in (0..).zip(&futures) {
        assert_eq!(future.get_timeout(10 * LONG), Ok(n + 1));
    }
    assert_eq!(engine.stats(&queue).unwrap().done, count as u64);
}

/// How long a worker has nothing to do: the seconds of `WINDLASS_IDLE`, or 1.2.
fn idle_time() -> Duration {
    let seconds = std::env::var("WINDLASS_IDLE").map(|seconds| seconds.parse().unwrap());
    Duration::from_secs_f64(seconds.unwrap_or(1.2))
}

#[test]
fn an_idle_worker_takes_what_comes() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    for n in 0..2 {
        // Longer than a fetch waits, and than a reply is waited for; `WINDLASS_IDLE=600` is ten minutes.
        windlass::interrupt::sleep(idle_time()).unwrap();
        assert_eq!(
            executor.submit_task(Add(n, 1)).unwrap().get_timeout(LONG),
            Ok(n + 1)
        );
    }
    assert_eq!(worker.stats().engine_errors, 0);
}
