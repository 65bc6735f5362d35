//! What is the difference between a fixed and a cached pool?
//!
//! The same burst of tasks is submitted to both. The fixed pool queues what its threads cannot run
//! yet. The cached pool starts a thread for each task that finds no idle one, which suits a few
//! short tasks and exhausts the machine with many long ones.
//!
//! `cargo run --release -p windlass --example fixed_vs_cached`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;

const TASKS: usize = 40;

/// A task that mostly waits, as one that asks a database does.
fn ask_the_database() {
    // An interrupt ends the wait early; there is nothing to clean up.
    let _ = interrupt::sleep(Duration::from_millis(5));
}

fn burst(name: &str, pool: &ThreadPoolExecutor) -> Result<(), Box<dyn Error>> {
    let mut handles = Vec::new();
    for _ in 0..TASKS {
        handles.push(pool.submit(ask_the_database)?);
    }
    let queued = pool.queue().len();
    for handle in handles {
        handle.join()?;
    }
    println!("{name}:");
    println!("  threads at most         {}", pool.largest_pool_size());
    println!("  queued after the burst  {queued}");
    let (core, maximum) = (pool.core_pool_size(), pool.maximum_pool_size());
    if core == maximum {
        println!("  core and maximum        {core}; idle threads stay");
    } else {
        println!("  core and maximum        {core}, and as many as are needed");
        println!("  idle threads end after  {:?}", pool.keep_alive());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{TASKS} tasks at once, each waiting for 5 ms.\n");
    let fixed = executors::fixed_thread_pool(4)?;
    burst("a fixed pool of 4", &fixed)?;
    assert_eq!(fixed.largest_pool_size(), 4);
    fixed.close();

    let cached = executors::cached_thread_pool();
    burst("a cached pool", &cached)?;
    assert_eq!(cached.queue().len(), 0);
    cached.close();

    println!(
        "\nFor tasks that wait nine tenths of their time on 4 cores, a fixed pool should have"
    );
    println!("{} threads: cores x utilisation x (1 + wait / compute).", {
        executors::optimal_pool_size(4, 1.0, 9.0)
    });
    Ok(())
}
