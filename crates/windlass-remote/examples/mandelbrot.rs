//! Draws the Mandelbrot set with a queue of rows.
//!
//! ```text
//! cargo run --release -p windlass-remote --example mandelbrot
//! cargo run --release -p windlass-remote --example mandelbrot -- redis://127.0.0.1/
//! cargo run --release -p windlass-remote --features postgres --example mandelbrot -- postgres://user@127.0.0.1/database
//! ```
//!
//! Without an address the queue is in memory and a worker in this process. With the address of a Redis, Valkey or PostgreSQL server,
//! four worker processes share the rows, and three of them are killed on the way. The picture is `mandelbrot.ppm`, and it is compared
//! with one that was computed here without any queue.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::time::Duration;
use windlass_remote::engine::{Engine, MemoryEngine};
use windlass_remote::{
    RemoteExecutor, RemoteTask, RemoteWorker, RemoteWorkerBuilder, TaskCx, TaskError,
};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
const LIMIT: u16 = 2_000;
const QUEUE: &str = "mandelbrot";

/// One row of the picture.
#[derive(Serialize, Deserialize)]
struct Row(u32);

impl RemoteTask for Row {
    const NAME: &'static str = "mandelbrot.row";
    type Output = Vec<u16>;

    fn run(self, cx: &TaskCx) -> Result<Vec<u16>, TaskError> {
        let pixel = |x| {
            if cx.is_cancelled() {
                Err(TaskError::new("cancelled"))
            } else {
                Ok(steps(x, self.0))
            }
        };
        (0..WIDTH).map(pixel).collect()
    }
}

/// Returns after how many steps a point leaves the circle of radius 2.
fn steps(x: u32, y: u32) -> u16 {
    let (re, im) = (
        f64::from(x) / f64::from(WIDTH) * 3.0 - 2.2,
        f64::from(y) / f64::from(HEIGHT) * 2.0 - 1.0,
    );
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..LIMIT {
        if a * a + b * b > 4.0 {
            return step;
        }
        (a, b) = (a * a - b * b + re, 2.0 * a * b + im);
    }
    LIMIT
}

fn worker(engine: impl Engine) -> Result<RemoteWorkerBuilder, Box<dyn Error>> {
    let threads = std::thread::available_parallelism()?.get();
    let pool = windlass::executors::fixed_thread_pool(threads)?;
    Ok(RemoteWorker::builder(engine)
        .queue(QUEUE)
        .pool(pool)
        .register::<Row>())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => in_memory(),
        ["--worker", address] => distributed::work(address),
        [address] => distributed::draw(address),
        _ => Err("usage: mandelbrot [redis://host/ | postgres://host/database]".into()),
    }
}

fn in_memory() -> Result<(), Box<dyn Error>> {
    let engine = MemoryEngine::new();
    let worker = worker(engine.clone())?.start()?;
    let executor = RemoteExecutor::builder(engine).queue(QUEUE).build()?;
    let futures = executor.submit_all((0..HEIGHT).map(Row).collect())?;
    let rows: Vec<Vec<u16>> = futures
        .iter()
        .map(|future| future.get())
        .collect::<Result<_, _>>()?;
    worker.shutdown(Duration::from_secs(5));
    finish(&rows)
}

/// Writes the picture, shows it small, and compares it with one that was computed here.
fn finish(rows: &[Vec<u16>]) -> Result<(), Box<dyn Error>> {
    let mut picture = format!("P6\n{WIDTH} {HEIGHT}\n255\n").into_bytes();
    for &steps in rows.iter().flatten() {
        let shade = if steps == LIMIT {
            0.0
        } else {
            (f64::from(steps) / 40.0).sqrt()
        };
        picture.extend([1.6, 0.9, 0.5].map(|part| (255.0 * (shade * part).min(1.0)) as u8));
    }
    std::fs::write("mandelbrot.ppm", picture)?;
    for row in rows.iter().step_by(HEIGHT as usize / 24) {
        let letter = |steps: &u16| match *steps {
            0..4 => ' ',
            4..8 => '.',
            8..16 => ':',
            16..LIMIT => '+',
            _ => '#',
        };
        println!(
            "{}",
            row.iter()
                .step_by(WIDTH as usize / 76)
                .map(letter)
                .collect::<String>()
        );
    }
    for (y, row) in (0..).zip(rows) {
        let right: Vec<u16> = (0..WIDTH).map(|x| steps(x, y)).collect();
        if *row != right {
            return Err(format!("row {y} is wrong").into());
        }
    }
    println!("mandelbrot.ppm: {WIDTH} x {HEIGHT}, every pixel as computed without a queue");
    Ok(())
}

#[cfg(any(feature = "redis", feature = "postgres"))]
mod distributed {
    use super::{Duration, Engine, Error, HEIGHT, QUEUE, RemoteExecutor, Row, finish, worker};
    use std::process::{Child, Command};

    pub(super) fn work(address: &str) -> Result<(), Box<dyn Error>> {
        #[cfg(feature = "redis")]
        if address.starts_with("redis") {
            return work_on(windlass_remote::engine::RedisEngine::builder(address).build()?);
        }
        #[cfg(feature = "postgres")]
        if address.starts_with("postgres") {
            return work_on(windlass_remote::engine::PostgresEngine::builder(address).build()?);
        }
        Err(unknown(address))
    }

    pub(super) fn draw(address: &str) -> Result<(), Box<dyn Error>> {
        #[cfg(feature = "redis")]
        if address.starts_with("redis") {
            let engine = windlass_remote::engine::RedisEngine::connect(address)?;
            return draw_on(&engine, address);
        }
        #[cfg(feature = "postgres")]
        if address.starts_with("postgres") {
            let engine = windlass_remote::engine::PostgresEngine::builder(address).build()?;
            engine.migrate()?;
            return draw_on(&engine, address);
        }
        Err(unknown(address))
    }

    /// Says which feature is missing. The address may have a password, so it is not shown.
    fn unknown(address: &str) -> Box<dyn Error> {
        for scheme in ["redis", "postgres"] {
            if address.starts_with(scheme) {
                return format!("built without the feature {scheme}: add --features {scheme}")
                    .into();
            }
        }
        "an address begins with redis:// or postgres://".into()
    }

    /// Works until it is killed, or until nobody has needed it for a minute.
    fn work_on(engine: impl Engine) -> Result<(), Box<dyn Error>> {
        let silence = (Duration::from_millis(200), Duration::from_secs(1));
        let worker = worker(engine)?.heartbeat(silence.0, silence.1).start()?;
        let (mut idle, mut started) = (0, 0);
        while idle < 60 {
            windlass::interrupt::sleep(Duration::from_secs(1))?;
            let stats = worker.stats();
            let is_idle = stats.started == started && stats.running == 0;
            idle = if is_idle { idle + 1 } else { 0 };
            started = stats.started;
        }
        worker.shutdown(Duration::from_secs(5));
        Ok(())
    }

    /// A worker process; killed when dropped.
    struct Process(Child);

    impl Process {
        fn start(address: &str) -> Result<Self, Box<dyn Error>> {
            let program = std::env::current_exe()?;
            Ok(Self(
                Command::new(program).args(["--worker", address]).spawn()?,
            ))
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn draw_on(engine: &(impl Engine + Clone), address: &str) -> Result<(), Box<dyn Error>> {
        let queue = QUEUE.parse()?;
        let before = engine.stats(&queue)?;
        let mut workers = Vec::new();
        for _ in 0..4 {
            workers.push(Process::start(address)?);
        }
        let executor = RemoteExecutor::builder(engine.clone())
            .queue(QUEUE)
            .build()?;
        let futures = executor.submit_all((0..HEIGHT).map(Row).collect())?;
        for part in 1..4u64 {
            while engine.stats(&queue)?.done - before.done < part * u64::from(HEIGHT) / 6 {
                windlass::interrupt::sleep(Duration::from_millis(5))?;
            }
            drop(workers.pop());
            println!("killed a worker, {} are left", workers.len());
        }
        let rows = futures
            .iter()
            .map(|future| future.get())
            .collect::<Result<Vec<_>, _>>()?;
        let again = engine.stats(&queue)?.redelivered - before.redelivered;
        println!("{again} rows were computed again by another worker");
        finish(&rows)
    }
}

#[cfg(not(any(feature = "redis", feature = "postgres")))]
mod distributed {
    use std::error::Error;

    pub(super) fn work(_: &str) -> Result<(), Box<dyn Error>> {
        Err(
            "built without an engine on a server: add --features redis or --features postgres"
                .into(),
        )
    }

    pub(super) use work as draw;
}
