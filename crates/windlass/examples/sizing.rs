//! Does the sizing formula hold? It is compared with what pools of different sizes really do.
//!
//! Each task computes for C and waits for W. The formula `N · U · (1 + W/C)` says how many workers keep N processors busy:
//! fewer leave them idle, more only wait for them. The table shows the throughput that was measured.
//!
//! `cargo run --release -p windlass --example sizing`

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use windlass::executors::optimal_pool_size;
use windlass::prelude::*;
use windlass::{clock, interrupt};

const COMPUTES: Duration = Duration::from_millis(1);
const WAITS: Duration = Duration::from_millis(7);

fn spin(rounds: u64) -> u64 {
    (0..rounds).fold(1, |sum, n| black_box(sum ^ n).rotate_left(7))
}

/// Returns how many rounds take as long as a task computes.
fn calibrate() -> u64 {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = clock::now();
        black_box(spin(100_000));
        best = best.min(clock::now() - start);
    }
    let rounds = 100_000.0 * COMPUTES.as_secs_f64() / best.as_secs_f64().max(1e-9);
    rounds as u64
}

/// Returns how many tasks a second a pool of this size runs.
fn throughput(workers: usize, rounds: u64) -> Result<f64, Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(workers)?;
    // Twelve for each worker, and fewer where there are many of them; always enough to start all.
    let tasks = (12 * workers).min(480).max(3 * workers);
    let start = clock::now();
    let work = move || {
        black_box(spin(rounds));
        interrupt::sleep(WAITS)
    };
    for task in pool.invoke_all((0..tasks).map(|_| work))? {
        task.join()??;
    }
    let took = clock::now() - start;
    pool.close();
    let stats = pool.stats();
    assert_eq!(stats.completed_task_count, tasks as u64);
    assert_eq!(
        stats.largest_pool_size, workers,
        "the pool had the size that is measured"
    );
    Ok(tasks as f64 / took.as_secs_f64())
}

fn main() -> Result<(), Box<dyn Error>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let ratio = WAITS.as_secs_f64() / COMPUTES.as_secs_f64();
    let best = optimal_pool_size(processors, 1.0, ratio);
    assert_eq!(best, processors * 8, "one part computes, seven wait");
    println!("{processors} processors; tasks compute for {COMPUTES:?} and wait for {WAITS:?}");
    println!("the formula: {processors} · 1.0 · (1 + {ratio}) = {best} workers\n");

    let rounds = calibrate();
    let mut sizes: Vec<_> = [1, best / 8, best / 4, best / 2, best, best * 2, best * 4]
        .into_iter()
        .filter(|&size| size > 0)
        .collect();
    sizes.dedup();
    let limit = processors as f64 / COMPUTES.as_secs_f64();
    println!("{:>8} {:>12} {:>12}", "workers", "expected/s", "measured/s");
    for size in sizes {
        // Until the processors are busy, each worker adds one task per C + W.
        let expected = (size as f64 / (COMPUTES + WAITS).as_secs_f64()).min(limit);
        let measured = throughput(size, rounds)?;
        let bar = "█".repeat((40.0 * measured / limit).round().clamp(0.0, 48.0) as usize);
        let mark = if size == best { " ← the formula" } else { "" };
        println!("{size:>8} {expected:>12.0} {measured:>12.0}  {bar}{mark}");
    }
    println!(
        "\nOn a machine with other work the processors are busy earlier, and the bars end sooner."
    );
    Ok(())
}
