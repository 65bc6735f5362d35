//! What can be changed while a pool runs, and when does it take effect?
//!
//! Everything but the kind of queue. A larger core starts workers at once if tasks are queued. A
//! smaller core retires surplus workers after their keep-alive, or at once with `retire_idle`. A
//! lower maximum retires idle workers immediately.
//!
//! `cargo run --release -p windlass --example live_tuning`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::pool::{DiscardPolicy, PoolStats};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;

fn show(what: &str, pool: &ThreadPoolExecutor) {
    let PoolStats {
        pool_size,
        active_count,
        queue_len,
        queue_remaining_capacity: room,
        rejected_count,
        ..
    } = pool.stats();
    let room = room.map_or("any number".to_owned(), |room| room.to_string());
    println!(
        "{what:<46} workers {pool_size}, busy {active_count}, queued {queue_len}, \
         room for {room}, rejected {rejected_count}"
    );
}

/// Polls the statistics of the pool until they match `state`.
fn wait_for(pool: &ThreadPoolExecutor, state: impl Fn(&PoolStats) -> bool) {
    while !state(&pool.stats()) {
        let _ = interrupt::sleep(Duration::from_millis(1));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1)
        .keep_alive(Duration::from_secs(60))
        .work_queue(ResizableBlockingQueue::with_capacity(4)?)
        .build()?;
    // Tasks that run until they are cancelled.
    let mut controls = Vec::new();
    let mut submit = |pool: &ThreadPoolExecutor| {
        let handle = pool.submit(|| interrupt::sleep(Duration::from_secs(3600)).is_err());
        let taken = handle.is_ok();
        controls.extend(handle.map(|handle| handle.control()));
        taken
    };
    for _ in 0..5 {
        assert!(submit(&pool));
    }
    wait_for(&pool, |stats| stats.active_count == 1);
    show("one worker, and a full queue:", &pool);
    assert!(!submit(&pool), "there is no room");

    pool.set_queue_capacity(8)?;
    assert!(submit(&pool));
    show("room for 8; the rejected task fits now:", &pool);

    pool.set_maximum_pool_size(4)?;
    pool.set_core_pool_size(4)?;
    wait_for(&pool, |stats| stats.active_count == 4);
    show("4 core workers start for what is queued:", &pool);

    pool.set_rejection_handler(DiscardPolicy);
    while pool.stats().queue_remaining_capacity != Some(0) {
        submit(&pool);
    }
    submit(&pool);
    show("DiscardPolicy: what does not fit is lost:", &pool);

    for control in &controls {
        control.cancel_now();
    }
    pool.purge();
    wait_for(&pool, |stats| stats.active_count == 0);
    show("everything cancelled:", &pool);

    pool.set_core_pool_size(1)?;
    show("core 1: the surplus retires in a minute:", &pool);
    pool.retire_idle();
    wait_for(&pool, |stats| stats.pool_size == 1);
    show("retire_idle: the surplus retires now:", &pool);

    let refused = pool.set_maximum_pool_size(0);
    println!("a maximum of 0: {}", refused.expect_err("makes no sense"));
    pool.close();
    Ok(())
}
