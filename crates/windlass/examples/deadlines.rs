//! Requests with a deadline on a pool that is too small: late ones are not computed, slow ones are
//! interrupted, and the rest is served in time. Then the same overload with shedding.
//!
//! `cargo run --release -p windlass --example deadlines`

#![expect(clippy::disallowed_methods, reason = "deadlines of a real program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use windlass::interrupt;
use windlass::pool::Codel;
use windlass::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    deadlines()?;
    shedding()
}

/// Two workers, forty requests of 20 ms each, and clients that wait for 100 ms.
fn deadlines() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("requests")
        .core_pool_size(2)
        .run_limit(60 * MS)
        .build()?;
    let start = Instant::now();
    let mut ends = BTreeMap::new();
    let requests: Vec<_> = (1..=40)
        .map(|number| {
            // Every seventh hangs.
            let time = if number % 7 == 0 {
                3_600_000 * MS
            } else {
                20 * MS
            };
            let task = pool.task().deadline(start + 100 * MS);
            task.submit(move || interrupt::sleep(time).map(|()| number))
        })
        .collect::<Result<_, _>>()?;
    for request in requests {
        let end = match request.join() {
            Ok(_) => String::from("served"),
            Err(error) => error.to_string(),
        };
        *ends.entry(end).or_insert(0) += 1;
    }
    println!(
        "deadline 100 ms, run limit 60 ms, after {:.0?}:",
        start.elapsed()
    );
    for (end, count) in &ends {
        println!("  {count:>3}  {end}");
    }
    assert_eq!(ends.values().sum::<u64>(), 40, "each request has one end");
    pool.close();
    let stats = pool.stats();
    let served = ends.get("served").copied().unwrap_or(0);
    assert_eq!(
        served + stats.expired_task_count + stats.timed_out_task_count,
        40,
        "the figures of the pool say the same"
    );
    println!(
        "  expired {}, timed out {}",
        stats.expired_task_count, stats.timed_out_task_count
    );
    Ok(())
}

/// One worker, a request of 2 ms every millisecond: twice what it can do.
fn shedding() -> Result<(), Box<dyn Error>> {
    for codel in [None, Some(Codel::new(5 * MS, 20 * MS))] {
        let builder = ThreadPoolExecutor::builder().core_pool_size(1);
        let pool = match codel {
            None => builder.build()?,
            Some(codel) => builder.shed(codel).build()?,
        };
        let mut waits = Vec::new();
        for _ in 0..800 {
            let submitted = Instant::now();
            waits.push(pool.submit(move || {
                let waited = submitted.elapsed();
                let _ = interrupt::sleep(2 * MS);
                waited
            })?);
            interrupt::sleep(MS)?;
        }
        let served: Vec<_> = waits
            .into_iter()
            .filter_map(|wait| wait.join().ok())
            .collect();
        pool.close();
        let shed = pool.stats().shed_task_count;
        assert_eq!(served.len() as u64 + shed, 800, "served or shed, not lost");
        assert!(codel.is_some() || shed == 0);
        let last = &served[served.len() - served.len().min(50)..];
        let mean = last.iter().sum::<Duration>() / u32::try_from(last.len())?;
        println!(
            "{}: served {}, shed {}, the last of them waited {mean:.0?}",
            if codel.is_some() {
                "with shedding"
            } else {
                "without shedding"
            },
            served.len(),
            shed,
        );
    }
    Ok(())
}
