//! Three pools under a load that rises and falls, and a console to look at them.
//!
//! ```sh
//! cargo run --release -p windlass-console --example live
//! cargo run --release -p windlass-console --example live -- 8080 --for 30s --token a-token-of-my-own
//! ```

use std::error::Error;
use std::f64::consts::TAU;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass::monitor::{self, Registry, TuneLimits};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass_console::Console;

const USAGE: &str = "usage: live [PORT] [--for SECONDS] [--token TOKEN]";

/// How often load is made.
const BEAT: Duration = Duration::from_millis(50);

/// How long the load takes to rise and fall, in beats.
const SWING: u32 = 600;

struct Arguments {
    port: u16,
    time: Option<Duration>,
    token: Option<String>,
}

fn main() -> ExitCode {
    let outcome = parse()
        .ok_or_else(|| USAGE.into())
        .and_then(|arguments| run(&arguments));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Option<Arguments> {
    let mut parsed = Arguments {
        port: 7171,
        time: None,
        token: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--for" => {
                let seconds = arguments.next()?;
                parsed.time = Some(Duration::from_secs(
                    seconds.trim_end_matches('s').parse().ok()?,
                ));
            }
            "--token" => parsed.token = Some(arguments.next()?),
            port => parsed.port = port.parse().ok()?,
        }
    }
    Some(parsed)
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let web = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(2)
        .maximum_pool_size(8)
        .keep_alive(Duration::from_secs(5))
        .work_queue(ResizableBlockingQueue::with_capacity(200)?)
        .build()?;
    let timer = ScheduledThreadPoolExecutor::builder()
        .name("timer")
        .core_pool_size(2)
        .build();
    let forks = ForkJoinPool::builder()
        .name("forks")
        .parallelism(2)
        .build()?;
    monitor::register(&web);
    monitor::register(&timer);
    monitor::register(&forks);
    Registry::global().limit(
        "web",
        TuneLimits::new()
            .core(0..=64)
            .max(1..=64)
            .capacity(1..=10_000),
    );

    let mut builder = Console::builder().bind(format!("127.0.0.1:{}", arguments.port));
    if let Some(token) = &arguments.token {
        builder = builder.token(token);
    }
    let console = builder.start()?;
    println!("{}", console.url());

    let (web, forks) = (Arc::new(web), Arc::new(forks));
    make_load(&timer, &web, &forks)?;
    wait(arguments.time);

    console.shutdown();
    timer.shutdown_now();
    web.shutdown_now();
    forks.shutdown_now();
    Ok(())
}

/// Lets the timer submit to the other pools, more and less in turn, and do some work of its own.
fn make_load(
    timer: &ScheduledThreadPoolExecutor,
    web: &Arc<ThreadPoolExecutor>,
    forks: &Arc<ForkJoinPool>,
) -> Result<(), Box<dyn Error>> {
    let beats = AtomicU64::new(0);
    let (pool, mut due) = (Arc::clone(web), 0.0);
    let requests = timer
        .task()
        .name("requests")
        .schedule_at_fixed_rate(BEAT, BEAT, move || {
            let beat = beats.fetch_add(1, Ordering::Relaxed);
            // From none to sixteen a beat: at the top, more than the threads can do.
            due += 8.0 - 8.0 * (TAU * beat as f64 / f64::from(SWING)).cos();
            while due >= 1.0 {
                due -= 1.0;
                request(&pool, beat);
            }
        })?;
    let pool = Arc::clone(forks);
    let sums = timer
        .task()
        .name("sums")
        .schedule_at_fixed_rate(BEAT, 4 * BEAT, move || {
            // A pool that has been shut down takes no more.
            let _ = pool.execute(|| {
                std::hint::black_box(sum(0..400_000));
            });
        })?;
    let second = Duration::from_secs(1);
    let cleanup =
        timer
            .task()
            .name("cleanup")
            .schedule_with_fixed_delay(second, 5 * second, || {
                pretend(Duration::from_millis(120));
            })?;
    // The handles are not needed: the tasks repeat until the pool is shut down.
    drop((requests, sums, cleanup));
    Ok(())
}

/// Submits one task, now and then one that is slow or fails. One that is rejected is rejected: the
/// console shows it.
fn request(pool: &ThreadPoolExecutor, beat: u64) {
    let submitted = match beat % 97 {
        13 => pool
            .task()
            .name("GET /report")
            .execute(|| pretend(Duration::from_millis(400))),
        29 => pool
            .task()
            .name("GET /broken")
            .execute(|| panic!("no such template")),
        _ => pool
            .task()
            .name("GET /")
            .execute(|| pretend(Duration::from_millis(20))),
    };
    drop(submitted);
}

/// Waits as a task waits for a database.
fn pretend(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

fn sum(range: std::ops::Range<u64>) -> u64 {
    let length = range.end - range.start;
    if length <= 1_000 {
        return range
            .map(|number| number.wrapping_mul(number) ^ number)
            .fold(0, u64::wrapping_add);
    }
    let middle = range.start + length / 2;
    let (low, high) =
        windlass::forkjoin::join(|| sum(range.start..middle), || sum(middle..range.end));
    low.wrapping_add(high)
}

/// Waits for a time, or until the process is ended.
fn wait(time: Option<Duration>) {
    match time {
        Some(time) => pretend(time),
        None => loop {
            thread::park();
        },
    }
}
