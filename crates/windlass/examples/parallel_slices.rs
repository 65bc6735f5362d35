//! Data-parallel work without another library: loops and sorts over slices on a fork-join pool, wider joins,
//! a periodic report by the same pool, and what hooks and statistics tell of it.
//!
//! ```sh
//! cargo run --release -p windlass --example parallel_slices
//! ```
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example program"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use windlass::forkjoin::{ForkJoinPool, join_all, join3, slice};
use windlass::pool::{Hooks, Outcome, TaskInfo};
use windlass::prelude::*;

/// Fewer without optimisation, where sorting is many times slower.
const NUMBERS: usize = if cfg!(debug_assertions) {
    400_000
} else {
    4_000_000
};

/// Counts the tasks of the pool, and prints the first of them. Loops and joins are no tasks.
#[derive(Default)]
struct Log {
    seen: AtomicU32,
}

impl Hooks for Log {
    fn wants_times(&self) -> bool {
        true
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        let name = task.name().unwrap_or("a task");
        let ran = task.ran_for().unwrap_or_default();
        match self.seen.fetch_add(1, Ordering::Relaxed) {
            0..3 => println!("    [hook] {name}: {outcome:?} after {ran:.1?}"),
            3 => println!("    [hook] and so on, every 100 ms"),
            _ => {}
        }
    }
}

fn main() {
    let pool = ForkJoinPool::builder()
        .name("slices")
        .hooks(Log::default())
        .build()
        .unwrap();
    println!("a pool of {} workers", pool.parallelism());

    // A delayed and a periodic task run on the same workers.
    let beat = pool.task().name("beat").schedule_at_fixed_rate(
        Duration::ZERO,
        Duration::from_millis(100),
        || (),
    );
    let beat = beat.unwrap();

    let numbers = random(NUMBERS);
    let sorted = loops(&pool, &numbers);
    joins(&pool, &sorted);

    // A task over its limit ends with what the action returns.
    let slow = || {
        (0..)
            .find(|n| is_prime(1_000_000_007 * (n + 2)))
            .unwrap_or(0)
    };
    let limited = pool.submit_with_timeout_or(Duration::from_millis(50), slow, || Err("no time"));
    println!(
        "a search without an end: {}",
        limited.unwrap().join().unwrap_err()
    );

    beat.cancel();
    print_stats(&pool);
    // The search goes on: nobody waits for it.
    pool.shutdown_now();
}

/// Sorts and counts on one thread and on the pool; returns the sorted numbers.
fn loops(pool: &ForkJoinPool, numbers: &[u64]) -> Vec<u64> {
    let mut sorted = numbers.to_vec();
    let time = Instant::now();
    sorted.sort_unstable();
    println!("sort_unstable, one thread: {:.1?}", time.elapsed());
    let mut sorted = numbers.to_vec();
    let time = Instant::now();
    pool.install(|| slice::sort_unstable(&mut sorted));
    println!("sort_unstable, the pool:   {:.1?}", time.elapsed());
    assert!(sorted.is_sorted());

    let time = Instant::now();
    let primes = pool.install(|| {
        let is_prime = |n: &u64| u64::from(is_prime(n % 100_000));
        slice::map_reduce(&numbers[..200_000], is_prime, |a, b| a + b)
    });
    println!(
        "map_reduce: {} primes in {:.1?}",
        primes.unwrap(),
        time.elapsed()
    );
    sorted
}

/// Joins more than two closures.
fn joins(pool: &ForkJoinPool, sorted: &[u64]) {
    let (least, greatest, odd) = pool.install(|| {
        join3(
            || sorted.first(),
            || sorted.last(),
            || slice::map_reduce(sorted, |n| n % 2, |a, b| a + b),
        )
    });
    println!(
        "join3: from {} to {}, {} odd ones",
        least.unwrap(),
        greatest.unwrap(),
        odd.unwrap()
    );
    let parts = sorted.chunks(NUMBERS / 4);
    let medians = pool.install(|| join_all(parts.map(|part| || part[part.len() / 2])));
    println!(
        "join_all: the medians of {} parts: {medians:?}",
        medians.len()
    );
    assert!(medians.is_sorted());
}

fn print_stats(pool: &ForkJoinPool) {
    let stats = pool.stats();
    println!(
        "{} tasks completed, {} failed, {} steals",
        stats.completed_task_count, stats.failed_task_count, stats.steal_count
    );
    for worker in &stats.workers {
        println!(
            "    worker {}: {} tasks, {} steals",
            worker.index, worker.completed_task_count, worker.steal_count
        );
    }
}

fn random(count: usize) -> Vec<u64> {
    let mut seed = 1_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    (0..count).map(|_| next()).collect()
}

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
}
