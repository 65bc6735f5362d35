//! What a limit of queue time costs: nanoseconds for each empty task, with and without one.
//!
//! `cargo run --release -p windlass --example limit_cost [PRODUCERS [WORKERS]]`
#![expect(clippy::unwrap_used, reason = "an example")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures on the machine's clock"
)]

use std::time::{Duration, Instant};

use windlass::prelude::*;

const TASKS: u32 = 300_000;
const ROUNDS: usize = 5;

/// One submission.
type Submission = fn(&ThreadPoolExecutor);

/// Submits tasks from several threads, and returns the nanoseconds until all have run, for each.
fn measure(producers: u32, workers: usize, submit: Submission) -> u128 {
    let pool = executors::fixed_thread_pool(workers).unwrap();
    let start = Instant::now();
    std::thread::scope(|s| {
        for _ in 0..producers {
            s.spawn(|| (0..TASKS / producers).for_each(|_| submit(&pool)));
        }
    });
    pool.close();
    let took = start.elapsed();
    let stats = pool.stats();
    assert_eq!(
        stats.completed_task_count,
        u64::from(TASKS / producers * producers)
    );
    let limited = stats.expired_task_count + stats.timed_out_task_count;
    assert_eq!(
        limited, 0,
        "no limit was reached, so nothing else is measured"
    );
    took.as_nanos() / u128::from(TASKS)
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|number| number.parse::<u32>().unwrap());
    let producers = arguments.next().unwrap_or(1);
    let workers = arguments.next().unwrap_or(2) as usize;
    let variants: [(&str, Submission); 4] = [
        ("execute", |pool| {
            let _ = pool.execute(|| ()).unwrap();
        }),
        ("submit", |pool| drop(pool.submit(|| ()).unwrap())),
        ("execute with a queue limit", |pool| {
            let task = pool.task().queue_limit(Duration::from_secs(10));
            let _ = task.execute(|| ()).unwrap();
        }),
        ("execute with a run limit", |pool| {
            let task = pool.task().run_limit(Duration::from_secs(10));
            let _ = task.execute(|| ()).unwrap();
        }),
    ];
    for (name, submit) in variants {
        let mut times: Vec<_> = (0..ROUNDS)
            .map(|_| measure(producers, workers, submit))
            .collect();
        times.sort_unstable();
        println!(
            "{name}: {} ns ({} to {})",
            times[ROUNDS / 2],
            times[0],
            times[ROUNDS - 1]
        );
    }
}
