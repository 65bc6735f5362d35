//! Where does the time go: in the queue or in the tasks?
//!
//! Hooks receive how long each task waited and ran, so a few lines measure a pool. The figures are
//! grouped by the name of the task, which is set at submission.
//!
//! `cargo run --release -p windlass --example timing_pool`

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use windlass::pool::{Hooks, Outcome, TaskInfo};
use windlass::prelude::*;

/// The figures of a task that has ended.
struct Measured {
    name: String,
    queued: Duration,
    ran: Duration,
    failed: bool,
}

/// Reports every task that has ended.
struct Timing(Sender<Measured>);

impl Hooks for Timing {
    fn wants_times(&self) -> bool {
        true
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        let measured = Measured {
            name: task.name().unwrap_or("unnamed").to_owned(),
            queued: task.queued_for().unwrap_or_default(),
            ran: task.ran_for().unwrap_or_default(),
            failed: outcome.failure().is_some(),
        };
        // Fails only if the receiver is gone, and then nobody needs the figure.
        let _ = self.0.send(measured);
    }

    fn terminated(&self) {
        println!("(the pool has ended)");
    }
}

#[derive(Default)]
struct Sums {
    tasks: u32,
    failed: u32,
    queued: Duration,
    ran: Duration,
}

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        u64::from(n)
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (report, reports) = channel();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(2)
        .hooks(Timing(report))
        .build()?;
    let mut handles = Vec::new();
    for n in 0..60 {
        let (name, size) = [("small", 10), ("medium", 16), ("large", 22)][n % 3];
        let body = move || std::hint::black_box(fibonacci(size));
        handles.push(pool.task().name(name).submit(body)?);
    }
    let broken = || "a number".parse::<u64>();
    handles.push(pool.task().name("broken").submit_fallible(broken)?);
    pool.close();
    // Drops the hooks and with them the sender, which ends the loop below.
    drop(pool);

    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for measured in reports {
        let sums = sums.entry(measured.name).or_default();
        sums.tasks += 1;
        sums.failed += u32::from(measured.failed);
        sums.queued += measured.queued;
        sums.ran += measured.ran;
    }
    println!(
        "{:<8} {:>6} {:>7} {:>14} {:>14}",
        "task", "count", "failed", "mean queued", "mean run"
    );
    for (name, sums) in &sums {
        let (queued, ran) = (sums.queued / sums.tasks, sums.ran / sums.tasks);
        println!(
            "{name:<8} {:>6} {:>7} {queued:>14.1?} {ran:>14.1?}",
            sums.tasks, sums.failed
        );
    }
    assert_eq!(sums.values().map(|sums| sums.tasks).sum::<u32>(), 61);
    assert_eq!(sums["broken"].failed, 1);
    Ok(())
}
