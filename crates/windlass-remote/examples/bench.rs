//! Throughput and round trip on Redis: `cargo run --release -p windlass-remote --features redis --example bench`, and on PostgreSQL:
//! `cargo run --release -p windlass-remote --features redis,postgres --example bench -- --postgres`.
//!
//! Starts a server of its own unless an address is given: Redis with an append-only file and fsync every second, PostgreSQL
//! as `initdb` makes it (every commit on disk).
//!
//! Beside the times it prints
//! the processor time that a task takes in the server, in the threads of the worker and in those of the client; these figures
//! hardly depend on what else the machine does.
#![expect(clippy::unwrap_used, reason = "a tool may end by panicking")]

#[cfg(all(unix, feature = "postgres"))]
#[path = "servers/postgres.rs"]
mod postgres;

use lexopt::ValueExt;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use windlass_remote::engine::{Engine, MemoryEngine, RedisEngine};
use windlass_remote::{
    RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError, TaskExecutorService,
};

#[derive(Serialize, Deserialize)]
struct Add(u64, u64);

impl RemoteTask for Add {
    const NAME: &'static str = "bench.add";
    type Output = u64;

    fn run(self, _: &TaskCx) -> Result<u64, TaskError> {
        Ok(self.0 + self.1)
    }
}

/// A server that ends with the program.
struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is not installed (package redis-server)");
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            windlass::interrupt::sleep(Duration::from_millis(5)).unwrap();
        }
        Self {
            child,
            port,
            _folder: folder,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Settings {
    tasks: u64,
    window: usize,
    batch: usize,
    slots: usize,
    address: Option<String>,
    memory: bool,
    postgres: bool,
}

fn settings() -> Result<Settings, lexopt::Error> {
    let mut settings = Settings {
        tasks: 60_000,
        window: 1_000,
        batch: 100,
        slots: 64,
        address: None,
        memory: false,
        postgres: false,
    };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            lexopt::Arg::Long("tasks") => {
                settings.tasks = arguments.value()?.string()?.parse().unwrap();
            }
            lexopt::Arg::Long("window") => {
                settings.window = arguments.value()?.string()?.parse().unwrap();
            }
            lexopt::Arg::Long("batch") => {
                settings.batch = arguments.value()?.string()?.parse().unwrap();
            }
            lexopt::Arg::Long("slots") => {
                settings.slots = arguments.value()?.string()?.parse().unwrap();
            }
            lexopt::Arg::Long("memory") => settings.memory = true,
            lexopt::Arg::Long("postgres") => settings.postgres = true,
            lexopt::Arg::Value(address) => settings.address = Some(address.string()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok(settings)
}

fn main() {
    let settings = settings().unwrap();
    if settings.memory {
        return measure(&MemoryEngine::new(), &settings, None);
    }
    let address = settings.address.as_deref().unwrap_or_default();
    if settings.postgres || address.starts_with("postgres") {
        return on_postgres(&settings);
    }
    let server = settings.address.is_none().then(Server::start);
    let own = server
        .as_ref()
        .map(|server| format!("redis://127.0.0.1:{}/", server.port));
    let address = settings.address.clone().or(own).unwrap();
    let engine = RedisEngine::connect(&address).unwrap();
    measure(&engine, &settings, server.as_ref());
    if let Some(server) = &server {
        record_size(server.port);
    }
}

#[cfg(all(unix, feature = "postgres"))]
fn on_postgres(settings: &Settings) {
    use windlass_remote::engine::PostgresEngine;
    let Some(address) = &settings.address else {
        let server = postgres::Postgres::start();
        return measure(&server.engine(), settings, None);
    };
    let engine = PostgresEngine::builder(address).build().unwrap();
    engine.migrate().unwrap();
    measure(&engine, settings, None);
}

#[cfg(not(all(unix, feature = "postgres")))]
fn on_postgres(_: &Settings) {
    println!("built without the feature postgres");
}

/// Processor time so far, in nanoseconds, of the threads that a filter chooses by name.
fn processor_time(process: &str, chosen: impl Fn(&str) -> bool) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return 0;
    };
    let time = |folder: std::path::PathBuf| {
        let name = std::fs::read_to_string(folder.join("comm")).ok()?;
        let spent = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        let spent = spent.split(' ').next()?.parse::<u64>().ok()?;
        chosen(name.trim()).then_some(spent)
    };
    threads
        .flatten()
        .filter_map(|thread| time(thread.path()))
        .sum()
}

/// Processor time of the server, the worker and the client; empty threads of the pool count as the worker's.
fn processor_times(server: Option<&Server>) -> [u64; 3] {
    let is_client = |name: &str| name == "bench" || name == "windlass-reply";
    let engine = server.map_or(0, |server| {
        processor_time(&server.child.id().to_string(), |_| true)
    });
    [
        engine,
        processor_time("self", |name| !is_client(name)),
        processor_time("self", is_client),
    ]
}

/// Microseconds of processor time for each of `count` tasks.
fn each(before: [u64; 3], after: [u64; 3], count: u64) -> [f64; 3] {
    [0, 1, 2].map(|of| (after[of] - before[of]) as f64 / 1000.0 / count.max(1) as f64)
}

/// How many round trips are measured.
const TRIPS: u64 = 3_000;

fn measure<E: Engine + Clone>(engine: &E, settings: &Settings, server: Option<&Server>) {
    let pool = windlass::executors::fixed_thread_pool(settings.slots).unwrap();
    let worker = RemoteWorker::builder(engine.clone())
        .pool(pool)
        .register::<Add>()
        .start()
        .unwrap();
    let executor = RemoteExecutor::new(engine.clone());
    for n in 0..200 {
        assert_eq!(
            executor.submit_task(Add(n, 1)).unwrap().get().unwrap(),
            n + 1
        );
    }
    let before = processor_times(server);
    let mut times: Vec<Duration> = (0..TRIPS)
        .map(|n| {
            let begun = Instant::now();
            executor.submit_task(Add(n, 1)).unwrap().get().unwrap();
            begun.elapsed()
        })
        .collect();
    let spent = each(before, processor_times(server), TRIPS);
    times.sort();
    let part = |hundredth: usize| times[times.len() * hundredth / 100];
    println!(
        "round trip: median {:?}, p10 {:?}, p99 {:?}; processor time: server {:.1} us, worker {:.1} us, client {:.1} us",
        part(50),
        part(10),
        part(99),
        spent[0],
        spent[1],
        spent[2]
    );
    for _ in 0..3 {
        let (begun, before) = (Instant::now(), processor_times(server));
        let (mut waiting, mut sent) = (VecDeque::new(), 0);
        while sent < settings.tasks || !waiting.is_empty() {
            if sent < settings.tasks && waiting.len() + settings.batch <= settings.window {
                let tasks = (sent..sent + settings.batch as u64)
                    .map(|n| Add(n, 1))
                    .collect();
                waiting.extend(executor.submit_all(tasks).unwrap());
                sent += settings.batch as u64;
            } else if let Some(future) = waiting.pop_front() {
                future.get().unwrap();
            }
        }
        let (took, after) = (begun.elapsed(), processor_times(server));
        let [engine, worker, client] = each(before, after, sent);
        println!(
            "throughput: {:.0} tasks a second; processor time of a task: server {engine:.1} us, worker {worker:.1} us, client {client:.1} us",
            sent as f64 / took.as_secs_f64()
        );
    }
    worker.shutdown(Duration::from_secs(5));
}

/// Measures what a finished record takes.
fn record_size(port: u16) {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).unwrap();
    let mut connection = client.get_connection().unwrap();
    let (_, keys): (String, Vec<String>) = redis::cmd("SCAN")
        .arg(0)
        .arg("MATCH")
        .arg("wl:{default}:t:*")
        .arg("COUNT")
        .arg(2_000)
        .query(&mut connection)
        .unwrap();
    let sizes: Vec<u64> = keys
        .iter()
        .map(|key| {
            redis::cmd("MEMORY")
                .arg("USAGE")
                .arg(key)
                .query(&mut connection)
                .unwrap()
        })
        .collect();
    println!(
        "finished record: {} bytes",
        sizes.iter().sum::<u64>() / sizes.len().max(1) as u64
    );
}
