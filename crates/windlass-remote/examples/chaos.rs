//! Kills workers and the server at random, for minutes: `cargo run --release -p windlass-remote --features redis --example chaos -- --minutes 2`.
//!
//! On PostgreSQL: `cargo run --release -p windlass-remote --features redis,postgres --example chaos -- --postgres --minutes 2`.
//!
//! Every task must have exactly one outcome, and have been begun at least once and no more often than it was delivered; where it was delivered
//! once, exactly once. Each run is noted by the worker that begins it, with one write, in a file of its own. A delivery that was lost with its
//! worker, or on the way to it, need not have been begun.
//!
//! `--fsync always` has Redis write each change to the disk before it answers. With its default, `everysec`, a killed server may forget
//! a delivery that it has answered already, and on a busy disk even a submission: then a task may have one run more than deliveries are
//! on record, or no record at all. These are counted and shown, and are an error only where they cannot be.
#![expect(clippy::unwrap_used, reason = "a tool may end by panicking")]

#[cfg(all(unix, feature = "postgres"))]
#[path = "servers/postgres.rs"]
mod postgres;

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use windlass_remote::engine::{Engine, MAX_BATCH, RedisEngine, TaskState};
use windlass_remote::{
    RemoteError, RemoteExecutor, RemoteFuture, RemoteTask, RemoteWorker, TaskCx, TaskError,
    TaskOptions,
};

#[derive(Serialize, Deserialize)]
struct Job(u64);

impl RemoteTask for Job {
    const NAME: &'static str = "chaos.job";
    type Output = u64;

    fn run(self, cx: &TaskCx) -> Result<u64, TaskError> {
        let log: &Mutex<File> = cx.state().ok_or_else(|| TaskError::new("no log"))?;
        log.lock()
            .unwrap()
            .write_all(format!("{}\n", self.0).as_bytes())?;
        windlass::interrupt::sleep(Duration::from_millis(5))?;
        Ok(self.0 * 2)
    }

    fn options() -> TaskOptions {
        // Bad luck is not poison here.
        TaskOptions::default()
            .max_worker_deaths(1_000)
            .retention(Duration::from_secs(3_600))
    }
}

fn spawn_server(port: u16, folder: &Path, fsync: &str) -> Child {
    let server = Command::new("redis-server")
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
        ])
        .args(["--appendonly", "yes", "--appendfsync", fsync, "--dir"])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is not installed (package redis-server)");
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        windlass::interrupt::sleep(Duration::from_millis(5)).unwrap();
    }
    server
}

fn spawn_worker(address: &str, log: PathBuf) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args(["--worker", address])
        .arg(log)
        .spawn()
        .unwrap()
}

/// The body of a worker process. It ends by itself if nobody kills it.
fn work(address: &str, log: &str) {
    #[cfg(feature = "postgres")]
    if address.starts_with("postgres") {
        use windlass_remote::engine::PostgresEngine;
        return work_on(PostgresEngine::builder(address).build().unwrap(), log);
    }
    work_on(RedisEngine::builder(address).build().unwrap(), log);
}

fn work_on(engine: impl Engine, log: &str) {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let worker = RemoteWorker::builder(engine)
        .pool(windlass::executors::fixed_thread_pool(16).unwrap())
        .lease(Duration::from_secs(3))
        .heartbeat(Duration::from_millis(200), Duration::from_secs(1))
        .state(Mutex::new(log))
        .register::<Job>()
        .start()
        .unwrap();
    windlass::interrupt::sleep(Duration::from_secs(1_800)).unwrap();
    drop(worker);
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

enum Server {
    Redis {
        port: u16,
        child: Option<Child>,
        fsync: String,
    },
    #[cfg(all(unix, feature = "postgres"))]
    Postgres(postgres::Postgres),
}

impl Server {
    fn start_redis(folder: &Path, fsync: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Some(spawn_server(port, folder, fsync));
        let fsync = fsync.into();
        Self::Redis { port, child, fsync }
    }

    fn address(&self) -> String {
        match self {
            Self::Redis { port, .. } => format!("redis://127.0.0.1:{port}/"),
            #[cfg(all(unix, feature = "postgres"))]
            Self::Postgres(server) => server.address(),
        }
    }

    /// Whether it may forget what it has answered when it is killed.
    fn may_forget(&self) -> bool {
        match self {
            Self::Redis { fsync, .. } => fsync != "always",
            #[cfg(all(unix, feature = "postgres"))]
            Self::Postgres(_) => false,
        }
    }

    /// Kills it and starts it again.
    fn restart(&mut self, folder: &Path) {
        match self {
            Self::Redis { port, child, fsync } => {
                child.take().into_iter().for_each(end);
                windlass::interrupt::sleep(Duration::from_millis(200)).unwrap();
                *child = Some(spawn_server(*port, folder, fsync));
            }
            #[cfg(all(unix, feature = "postgres"))]
            Self::Postgres(server) => server.restart(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self {
            Self::Redis { child, .. } => child.take().into_iter().for_each(end),
            #[cfg(all(unix, feature = "postgres"))]
            Self::Postgres(_) => {}
        }
    }
}

/// Everything that is killed, and how often it was.
struct Chaos {
    folder: tempfile::TempDir,
    server: Server,
    workers: Vec<Child>,
    started: usize,
    kills: (usize, usize),
}

impl Chaos {
    fn start(server: impl FnOnce(&Path) -> Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut chaos = Self {
            server: server(folder.path()),
            folder,
            workers: Vec::new(),
            started: 0,
            kills: (0, 0),
        };
        (0..4).for_each(|_| chaos.add_worker());
        chaos
    }

    fn add_worker(&mut self) {
        let log = self.folder.path().join(format!("run-{}", self.started));
        self.started += 1;
        self.workers.push(spawn_worker(&self.server.address(), log));
    }

    /// Kills one worker, or in every fifth round the server.
    fn strike(&mut self, round: usize) {
        if round % 5 == 4 {
            self.kills.1 += 1;
            self.server.restart(self.folder.path());
        } else {
            self.kills.0 += 1;
            let die = windlass_remote::TaskId::random()
                .as_str()
                .bytes()
                .map(usize::from)
                .sum::<usize>();
            end(self.workers.remove(die % self.workers.len()));
            self.add_worker();
        }
    }

    /// Returns how often each task was begun.
    fn runs(&self) -> HashMap<u64, u64> {
        let mut runs = HashMap::new();
        for number in 0..self.started {
            let log = self.folder.path().join(format!("run-{number}"));
            for line in std::fs::read_to_string(log).unwrap_or_default().lines() {
                *runs.entry(line.parse().unwrap()).or_default() += 1;
            }
        }
        runs
    }
}

impl Drop for Chaos {
    fn drop(&mut self) {
        self.workers.drain(..).for_each(end);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["--worker", address, log] => work(address, log),
        ["--minutes", time] => on_redis("everysec", minutes(time)),
        [
            "--fsync",
            fsync @ ("always" | "everysec" | "no"),
            "--minutes",
            time,
        ] => {
            on_redis(fsync, minutes(time));
        }
        #[cfg(all(unix, feature = "postgres"))]
        ["--postgres", "--minutes", time] => {
            let server = postgres::Postgres::start();
            let engine = server.engine();
            let chaos = Chaos::start(|_| Server::Postgres(server));
            run(chaos, &engine, minutes(time));
        }
        _ => println!("usage: chaos [--postgres | --fsync always|everysec|no] --minutes N"),
    }
}

fn on_redis(fsync: &str, time: Duration) {
    let chaos = Chaos::start(|folder| Server::start_redis(folder, fsync));
    let engine = RedisEngine::builder(&chaos.server.address());
    run(chaos, &engine.build().unwrap(), time);
}

fn minutes(text: &str) -> Duration {
    Duration::from_secs_f64(60.0 * text.parse::<f64>().unwrap())
}

fn run(mut chaos: Chaos, engine: &(impl Engine + Clone), time: Duration) {
    let executor = RemoteExecutor::builder(engine.clone())
        .submit_timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let until = Instant::now() + time;
    let (mut futures, mut next_strike, mut round) = (Vec::new(), Instant::now(), 0);
    while Instant::now() < until {
        let first = futures.len() as u64;
        futures.extend(
            executor
                .submit_all((first..first + 50).map(Job).collect())
                .unwrap(),
        );
        if Instant::now() > next_strike {
            chaos.strike(round);
            round += 1;
            next_strike = Instant::now() + Duration::from_millis(1_500);
        }
        windlass::interrupt::sleep(Duration::from_millis(40)).unwrap();
    }
    judge(&chaos, engine, &futures);
}

/// Expects the right outcome of each task; returns those that a server which may forget has forgotten.
fn lost_tasks(chaos: &Chaos, futures: &[RemoteFuture<u64>]) -> HashSet<u64> {
    let mut lost = HashSet::new();
    for (n, future) in (0..).zip(futures) {
        match future.get_timeout(Duration::from_secs(120)) {
            // Even the task itself, if the disk was so busy that its submission had not been written.
            Err(RemoteError::Gone) if chaos.server.may_forget() => {
                lost.insert(n);
            }
            outcome => assert_eq!(outcome, Ok(2 * n), "task {n}"),
        }
    }
    lost
}

fn judge(chaos: &Chaos, engine: &impl Engine, futures: &[RemoteFuture<u64>]) {
    let lost = lost_tasks(chaos, futures);
    let queue = "default".parse().unwrap();
    let stats = engine.stats(&queue).unwrap();
    let count = (futures.len() - lost.len()) as u64;
    assert_eq!(
        (stats.submitted, stats.done),
        (count, count),
        "one outcome each"
    );
    assert_eq!(
        (
            stats.ready,
            stats.running,
            stats.scheduled,
            stats.failed,
            stats.dead
        ),
        (0, 0, 0, 0, 0)
    );
    let mut runs = chaos.runs();
    runs.retain(|n, _| !lost.contains(n));
    assert_eq!(runs.len() as u64, count, "every task was begun");
    let begun: u64 = runs.values().sum();
    let ids: Vec<_> = futures.iter().map(|future| future.id().clone()).collect();
    let (mut deliveries, mut forgotten) = (0, 0);
    for (batch, ids) in ids.chunks(MAX_BATCH).enumerate() {
        let records = engine.look_up(&queue, ids, None).unwrap();
        for (n, record) in (batch * MAX_BATCH..).zip(records) {
            if lost.contains(&(n as u64)) {
                continue;
            }
            let record = record.unwrap_or_else(|| panic!("task {n} has no record"));
            assert_eq!(record.state, TaskState::Done, "task {n}");
            let runs = runs[&(n as u64)];
            deliveries += record.deliveries;
            if runs > record.deliveries {
                forgotten += 1;
                let both = format!("task {n}: {runs} runs, {} deliveries", record.deliveries);
                assert!(chaos.server.may_forget(), "{both}");
                println!("forgotten by the killed server: {both}");
            }
        }
    }
    if !chaos.server.may_forget() {
        // Fewer where the result of a worker that was only cut off came before the next delivery.
        assert!(deliveries <= count + stats.redelivered, "{deliveries}");
    }
    println!(
        "{count} tasks, {begun} runs, {deliveries} deliveries ({} again, {forgotten} forgotten), {} stale reports; killed {} workers \
         and the server {} times: every task has one outcome, and it is right; {} more were forgotten by the killed server",
        stats.redelivered,
        stats.stale,
        chaos.kills.0,
        chaos.kills.1,
        lost.len()
    );
}
