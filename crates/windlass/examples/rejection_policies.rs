//! What becomes of tasks that a pool has no room for? Five policies side by side, under the same overload.
//!
//! One worker, room for four tasks, and twenty tasks at once. The table shows who ran them, what was lost, whether the
//! submitter was told, and how long it was held up.
//!
//! `cargo run --release -p windlass --example rejection_policies`

use std::error::Error;
use std::thread;
use std::time::Duration;

use windlass::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    RejectedExecutionHandler,
};
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::{clock, interrupt};

const TASKS: usize = 20;
const ROOM: usize = 4;
const TASK: Duration = Duration::from_millis(3);

/// What became of the tasks.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    by_worker: Vec<usize>,
    by_submitter: Vec<usize>,
    lost: Vec<usize>,
    refused: Vec<usize>,
    held_up: Duration,
}

fn overload(policy: impl RejectedExecutionHandler + 'static) -> Result<Fates, Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(ROOM)?)
        .rejection_handler(policy)
        .build()?;
    let submitter = thread::current().id();
    let (mut fates, mut handles) = (Fates::default(), Vec::new());
    let start = clock::now();
    for number in 1..=TASKS {
        let body = move || {
            // Ends early if the pool is interrupted, which it is not here.
            let _ = interrupt::sleep(TASK);
            thread::current().id() == submitter
        };
        match pool.submit(body) {
            Ok(handle) => handles.push((number, handle)),
            Err(_) => fates.refused.push(number),
        }
    }
    fates.held_up = clock::now() - start;
    for (number, handle) in handles {
        match handle.join() {
            Ok(true) => fates.by_submitter.push(number),
            Ok(false) => fates.by_worker.push(number),
            Err(_) => fates.lost.push(number),
        }
    }
    pool.close();
    Ok(fates)
}

/// Writes numbers as ranges: `1–5, 8`; only the first of many.
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let parts = parts.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}–{last}"),
    });
    let mut parts: Vec<_> = parts.collect();
    if parts.len() > 3 {
        parts.truncate(3);
        parts.push(format!("… ({})", numbers.len()));
    }
    if parts.is_empty() {
        String::from("–")
    } else {
        parts.join(", ")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{TASKS} tasks of {TASK:?} at once, 1 worker, room for {ROOM}\n");
    let table = [
        ("AbortPolicy", overload(AbortPolicy)?),
        ("CallerRunsPolicy", overload(CallerRunsPolicy)?),
        ("DiscardPolicy", overload(DiscardPolicy)?),
        ("DiscardOldestPolicy", overload(DiscardOldestPolicy)?),
        ("BlockPolicy", overload(BlockPolicy::new())?),
    ];
    let row = |policy: &str, cells: [&str; 5]| {
        let [worker, submitter, lost, refused, held_up] = cells;
        println!("{policy:<20} {worker:<24} {submitter:<24} {lost:<10} {refused:<10} {held_up:>9}");
    };
    row(
        "policy",
        [
            "by the worker",
            "by the submitter",
            "discarded",
            "refused",
            "held up",
        ],
    );
    for (policy, fates) in &table {
        let held_up = format!("{:.1} ms", fates.held_up.as_secs_f64() * 1e3);
        let cells = [
            &fates.by_worker,
            &fates.by_submitter,
            &fates.lost,
            &fates.refused,
        ];
        let [worker, submitter, lost, refused] = cells.map(|numbers| ranges(numbers));
        row(policy, [&worker, &submitter, &lost, &refused, &held_up]);
        let cells = [
            &fates.by_worker,
            &fates.by_submitter,
            &fates.lost,
            &fates.refused,
        ];
        assert_eq!(
            cells.map(Vec::len).iter().sum::<usize>(),
            TASKS,
            "none is forgotten"
        );
    }
    println!(
        "\nA refused task comes back to its submitter; the handle of a discarded one says so."
    );
    let [abort, caller, discard, oldest, block] = table.map(|(_, fates)| fates);
    assert!(!abort.refused.is_empty() && !caller.by_submitter.is_empty());
    assert!(discard.by_worker.contains(&1) && discard.lost.contains(&TASKS));
    assert!(oldest.by_worker.contains(&TASKS), "the newest is kept");
    assert_eq!(block.by_worker.len(), TASKS);
    Ok(())
}
