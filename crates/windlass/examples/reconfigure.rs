//! Which settings have no effect, and how are several changed at once?
//!
//! The builder warns where a setting can have no effect, and `build_strict` refuses it. `reconfigure`
//! changes several settings or none, and returns what reverts it.

use std::error::Error;
use std::time::Duration;

use windlass::pool::{CallerRunsPolicy, Patch};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;

fn show(what: &str, pool: &ThreadPoolExecutor) {
    let (core, maximum) = (pool.core_pool_size(), pool.maximum_pool_size());
    let room = pool.stats().queue_remaining_capacity.unwrap_or(usize::MAX);
    println!("{what:<24} core {core}, maximum {maximum}, room for {room}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let careless = ThreadPoolExecutor::builder()
        .core_pool_size(4)
        .maximum_pool_size(64)
        .keep_alive(Duration::from_secs(30))
        .rejection_handler(CallerRunsPolicy);
    println!("a builder with an unbounded queue:");
    for warning in careless.warnings() {
        println!("  warning: {warning}");
    }
    println!(
        "  build_strict: {}",
        careless.build_strict().expect_err("it is warned of")
    );

    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(4)
        .maximum_pool_size(4)
        .work_queue(ResizableBlockingQueue::with_capacity(100)?)
        .build_strict()?;
    println!();
    show("at first:", &pool);
    let peak = Patch::new()
        .core_pool_size(16)
        .maximum_pool_size(32)
        .queue_capacity(1_000);
    let changed = pool.reconfigure(peak)?;
    show("for the peak:", &pool);
    let refused = pool.reconfigure(Patch::new().core_pool_size(2).maximum_pool_size(1));
    println!(
        "refused: {}",
        refused.expect_err("they contradict each other")
    );
    show("after a refusal:", &pool);
    pool.reconfigure(changed.former)?;
    show("reverted:", &pool);
    pool.close();
    Ok(())
}
