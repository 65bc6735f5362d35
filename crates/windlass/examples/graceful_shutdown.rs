//! How does a program end without losing work, and without waiting forever?
//!
//! In two steps: `shutdown` rejects new tasks and lets accepted ones finish, until a time limit;
//! then `shutdown_now` interrupts what still runs and returns what never started, to be saved or
//! run elsewhere.
//!
//! `cargo run --release -p windlass --example graceful_shutdown`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;

/// Shuts the pool down, abruptly if it takes longer than `patience`. Returns the tasks that never
/// started.
fn stop(
    pool: &ThreadPoolExecutor,
    patience: Duration,
) -> Result<Vec<windlass::task::Task>, interrupt::Interrupted> {
    pool.shutdown();
    if pool.await_termination(patience)? {
        return Ok(Vec::new());
    }
    println!("   patience is over: shutdown_now");
    let left_over = pool.shutdown_now();
    pool.close();
    Ok(left_over)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("1. A pool with quick tasks ends in order.");
    let pool = executors::fixed_thread_pool(2)?;
    let mut handles = Vec::new();
    for n in 0..100_u64 {
        handles.push(pool.submit(move || (1..=n).sum::<u64>())?);
    }
    let left_over = stop(&pool, Duration::from_secs(5))?;
    assert!(left_over.is_empty());
    let done = handles.iter().filter(|handle| handle.is_done()).count();
    println!("   {done} of 100 tasks done; {pool:?}");

    println!("2. A pool with a stuck task is stopped; what waited behind it is saved.");
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .prepare_tasks(|task| task.name("letter"))
        .build()?;
    let stuck = pool.submit(|| interrupt::sleep(Duration::from_secs(3600)))?;
    let mut letters = Vec::new();
    for n in 0..3 {
        letters.push(pool.submit(move || println!("   letter {n} is sent"))?);
    }
    let left_over = stop(&pool, Duration::from_millis(50))?;
    println!(
        "   the stuck task: {}",
        stuck.join()?.expect_err("interrupted")
    );
    println!("   {} never started: {left_over:?}", left_over.len());

    println!("3. They are run by another pool, and their handles get their results.");
    let other = executors::single_thread_executor();
    for task in left_over {
        other.execute_task(task)?;
    }
    for letter in letters {
        letter.join()?;
    }
    other.close();
    println!("   nothing was lost");
    Ok(())
}
