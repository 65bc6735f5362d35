//! Kills workers and the server at random, for minutes: `cargo run --release -p windlass-remote --features redis --example chaos -- --minutes 2`.
//!
//! On PostgreSQL: `cargo run --release -p windlass-remote --features redis,postgres --example chaos -- --postgres --minutes 2`.
//!
//! Every task must have exactly one outcome, and have run once and once more for each delivery again. Each run is noted by the worker that
//! begins it, with one write, in a file of its own.
#![expect(clippy::unwrap_used, reason = "a tool may end by panicking")]

#[cfg(all(unix, feature = "postgres"))]
#[path = "servers/postgres.rs"]
mod postgres;

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use windlass_remote::engine::{Engine, RedisEngine};
use windlass_remote::{
    RemoteExecutor, RemoteFuture, RemoteTask, RemoteWorker, TaskCx, TaskError, TaskOptions,
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
        TaskOptions::default().max_worker_deaths(1_000)
    }
}

fn spawn_server(port: u16, folder: &Path) -> Child {
    let server = Command::new("redis-server")
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
        ])
        .args(["--appendonly", "yes", "--dir"])
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
    },
    #[cfg(all(unix, feature = "postgres"))]
    Postgres(postgres::Postgres),
}

impl Server {
    fn start_redis(folder: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Some(spawn_server(port, folder));
        Self::Redis { port, child }
    }

    fn address(&self) -> String {
        match self {
            Self::Redis { port, .. } => format!("redis://127.0.0.1:{port}/"),
            #[cfg(all(unix, feature = "postgres"))]
            Self::Postgres(server) => server.address(),
        }
    }

    /// Kills it and starts it again.
    fn restart(&mut self, folder: &Path) {
        match self {
            Self::Redis { port, child } => {
                child.take().into_iter().for_each(end);
                windlass::interrupt::sleep(Duration::from_millis(200)).unwrap();
                *child = Some(spawn_server(*port, folder));
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
        ["--minutes", time] => {
            let chaos = Chaos::start(Server::start_redis);
            let engine = RedisEngine::builder(&chaos.server.address());
            run(chaos, &engine.build().unwrap(), minutes(time));
        }
        #[cfg(all(unix, feature = "postgres"))]
        ["--postgres", "--minutes", time] => {
            let server = postgres::Postgres::start();
            let engine = server.engine();
            let chaos = Chaos::start(|_| Server::Postgres(server));
            run(chaos, &engine, minutes(time));
        }
        _ => println!("usage: chaos [--postgres] --minutes N"),
    }
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

fn judge(chaos: &Chaos, engine: &impl Engine, futures: &[RemoteFuture<u64>]) {
    for (n, future) in (0..).zip(futures) {
        assert_eq!(
            future.get_timeout(Duration::from_secs(120)),
            Ok(2 * n),
            "task {n}"
        );
    }
    let stats = engine.stats(&"default".parse().unwrap()).unwrap();
    let count = futures.len() as u64;
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
    let runs = chaos.runs();
    assert_eq!(runs.len() as u64, count, "every task was begun");
    let begun: u64 = runs.values().sum();
    // A delivery that was lost with its worker may not have been begun; none was begun without a delivery.
    assert!(
        begun <= count + stats.redelivered,
        "{begun} runs of {count} tasks, {} deliveries again",
        stats.redelivered
    );
    println!(
        "{count} tasks, {begun} runs, {} deliveries again, {} stale reports; killed {} workers and the server {} times: \
         every task has one outcome, and it is right",
        stats.redelivered, stats.stale, chaos.kills.0, chaos.kills.1
    );
}
