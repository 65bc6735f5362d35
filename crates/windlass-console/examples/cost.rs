//! What a console costs the pool that it shows: empty tasks from two producers to two workers, without a
//! monitor, with one, and with a console whose events a client reads.
//!
//! ```sh
//! cargo run --release -p windlass-console --example cost -- 15
//! ```

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass::monitor::{Monitor, Registry};
use windlass::prelude::*;
use windlass_console::Console;

const TASKS: usize = 2_000_000;
const PRODUCERS: usize = 2;
const WORKERS: usize = 2;

#[derive(Clone, Copy)]
enum Watched {
    NotAtAll,
    ByMonitor,
    ByConsole,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(15), |rounds| rounds.parse())?;
    let ways = [
        ("no monitor", Watched::NotAtAll),
        ("monitor", Watched::ByMonitor),
        ("console and one client of events", Watched::ByConsole),
    ];
    let mut times = ways.map(|_| Vec::new());
    // In turn, so that what the machine does beside it hits all alike.
    for _ in 0..rounds {
        for ((_, watched), times) in ways.iter().zip(&mut times) {
            times.push(measure(*watched)?);
        }
    }
    for ((name, _), mut times) in ways.iter().zip(times) {
        times.sort();
        let nanoseconds = |at: usize| times[at].as_secs_f64() * 1e9 / TASKS as f64;
        let (low, median) = (nanoseconds(0), nanoseconds(times.len() / 2));
        println!("{name:>34}: median {median:6.1} ns a task, best {low:6.1}");
    }
    Ok(())
}

/// Times one round on a pool of its own.
fn measure(watched: Watched) -> Result<Duration, Box<dyn Error>> {
    let registry = Registry::new();
    let pool = ThreadPoolExecutor::builder()
        .name("measured")
        .core_pool_size(WORKERS)
        .maximum_pool_size(WORKERS)
        .build()?;
    pool.prestart_all_core_threads();
    let watcher = match watched {
        Watched::NotAtAll => None,
        Watched::ByMonitor | Watched::ByConsole => {
            registry.register(&pool);
            Some(Monitor::start(&registry)?)
        }
    };
    let console = match (watched, &watcher) {
        (Watched::ByConsole, Some(monitor)) => {
            let builder = Console::builder().bind("127.0.0.1:0").announce(false);
            let console = builder.monitor(monitor).start()?;
            let client = read_events(&console)?;
            Some((console, client))
        }
        _ => None,
    };
    run(&pool, TASKS / 10);
    let elapsed = run(&pool, TASKS);
    if let Some((console, client)) = console {
        console.shutdown();
        client.join().map_err(|_| "the client panicked")?;
    }
    pool.close();
    Ok(elapsed)
}

/// Reads events on another thread until they end.
fn read_events(console: &Console) -> Result<thread::JoinHandle<()>, Box<dyn Error>> {
    let address = console.local_addr();
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut lines = BufReader::new(stream).lines();
    // The first line of the answer: the client is there before the measurement begins.
    lines.next().transpose()?;
    Ok(thread::spawn(move || {
        lines.map_while(Result::ok).for_each(drop);
    }))
}

/// Runs empty tasks from several producers, and returns how long it took until all had run.
fn run(pool: &ThreadPoolExecutor, tasks: usize) -> Duration {
    let left = Arc::new(AtomicUsize::new(tasks));
    let waiter = thread::current();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..PRODUCERS {
            scope.spawn(|| {
                for _ in 0..tasks / PRODUCERS {
                    let (left, waiter) = (Arc::clone(&left), waiter.clone());
                    let task = move || {
                        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            waiter.unpark();
                        }
                    };
                    if pool.execute(task).is_err() {
                        return;
                    }
                }
            });
        }
    });
    while left.load(Ordering::Acquire) > 0 {
        thread::park();
    }
    start.elapsed()
}
