//! Which settings have no effect, and how are several changed at once?
//!
//! The builder warns where a setting can have no effect, and `build_strict` refuses it. `reconfigure`
//! changes several settings or none, and returns what reverts it. Here it does so under load: a flood of tasks
//! fills the queue, and the change starts workers for them at once.
//!
//! `cargo run --release -p windlass --example reconfigure`

use std::error::Error;
use std::time::Duration;

use windlass::pool::{CallerRunsPolicy, Patch};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass::testing::{Gate, until};

/// Prints the settings, and what the pool does by them. Returns core, maximum, workers and queued tasks.
fn show(what: &str, pool: &ThreadPoolExecutor) -> [usize; 4] {
    let (core, maximum) = (pool.core_pool_size(), pool.maximum_pool_size());
    let (workers, queued) = (pool.pool_size(), pool.queue().len());
    println!(
        "{what:<24} core {core:>2}, maximum {maximum:>2} | {workers:>2} workers, {queued:>3} tasks wait"
    );
    [core, maximum, workers, queued]
}

/// Submits tasks until one is rejected. Returns how many there were.
fn flood(pool: &ThreadPoolExecutor, gate: &Gate) -> usize {
    let task = || {
        let gate = gate.clone();
        move || {
            let _ = gate.pass();
        }
    };
    (0..).take_while(|_| pool.execute(task()).is_ok()).count()
}

/// Settings that look as if they had an effect.
fn warned() {
    let careless = ThreadPoolExecutor::builder()
        .core_pool_size(4)
        .maximum_pool_size(64)
        .keep_alive(Duration::from_secs(30))
        .rejection_handler(CallerRunsPolicy);
    println!("a builder with an unbounded queue:");
    let warnings = careless.warnings();
    for warning in &warnings {
        println!("  warning: {warning}");
    }
    assert!(!warnings.is_empty(), "the pool never grows beyond 4");
    println!(
        "  build_strict: {}",
        careless.build_strict().expect_err("it is warned of")
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    warned();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(4)
        .maximum_pool_size(4)
        .work_queue(ResizableBlockingQueue::with_capacity(100)?)
        .build_strict()?;
    println!("\na flood of tasks, and a change that makes room for it:");
    let gate = Gate::new();
    let first = flood(&pool, &gate);
    assert_eq!(first, 104, "4 run, 100 wait");
    assert_eq!(show("at first:", &pool), [4, 4, 4, 100]);
    let peak = Patch::new()
        .core_pool_size(16)
        .maximum_pool_size(32)
        .queue_capacity(1_000);
    let changed = pool.reconfigure(peak)?;
    // The waiting tasks have workers now.
    until("they run", || pool.active_count() == 16);
    assert_eq!(show("for the peak:", &pool), [16, 32, 16, 88]);
    let more = flood(&pool, &gate);
    assert_eq!(first + more, 1_032, "32 run, 1000 wait");
    assert_eq!(show("flooded again:", &pool), [16, 32, 32, 1_000]);
    let refused = pool.reconfigure(Patch::new().core_pool_size(2).maximum_pool_size(1));
    println!(
        "refused: {}",
        refused.expect_err("they contradict each other")
    );
    assert_eq!(show("after a refusal:", &pool), [16, 32, 32, 1_000]);
    pool.reconfigure(changed.former)?;
    // What was accepted stays, and the surplus workers end when they have nothing to do.
    assert_eq!(show("reverted:", &pool), [4, 4, 32, 1_000]);
    gate.open();
    pool.close();
    let done = pool.completed_task_count();
    println!("at the end, {done} of {} tasks are done", first + more);
    assert_eq!(done, (first + more) as u64, "no change has lost one");
    Ok(())
}
