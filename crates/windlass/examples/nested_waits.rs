//! Tasks that wait for tasks of their own pool: what hangs with other pools ends here, or says why not.
//!
//! cargo run --release -p windlass --example nested_waits

#![expect(
    clippy::disallowed_methods,
    reason = "the program reports how long it took"
)]

use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use windlass::CompletionService;
use windlass::executors::SerialExecutor;
use windlass::prelude::*;
use windlass::task::SharedHandle;

fn fibonacci(pool: &ThreadPoolExecutor, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let inner = pool.clone();
    let first = pool.submit(move || fibonacci(&inner, n - 1));
    let inner = pool.clone();
    let second = pool.submit(move || fibonacci(&inner, n - 2));
    let value = |submitted: Result<windlass::TaskHandle<u64>, _>| {
        submitted.map_or(0, |handle| handle.join().unwrap_or(0))
    };
    value(first) + value(second)
}

/// One worker, and every task waits for two others.
fn one_worker() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(1)?;
    let inner = pool.clone();
    let began = Instant::now();
    let value = pool.submit(move || fibonacci(&inner, 16))?.join()?;
    pool.close();
    let stats = pool.stats();
    println!(
        "fibonacci(16) = {value}, on {} worker, in {:.0?}",
        stats.largest_pool_size,
        began.elapsed()
    );
    println!(
        "  {} tasks, {} of them run in place by the task that waited",
        stats.completed_task_count, stats.in_place_task_count
    );
    assert_eq!((value, stats.largest_pool_size), (987, 1));
    assert!(stats.in_place_task_count > 0, "one worker alone would hang");
    Ok(())
}

/// The same for results in order of completion, for a serial executor and for a timer.
fn other_executors() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(1)?;
    let inner = pool.clone();
    let sum = pool.submit_fallible(move || {
        let service = CompletionService::new(inner);
        for n in 1..=10 {
            service
                .submit(move || n)
                .map_err(|error| error.to_string())?;
        }
        Ok::<i32, String>(
            service
                .completions()
                .filter_map(|done| done.join().ok())
                .sum(),
        )
    })?;
    let sum = sum.join()?;
    println!("completion service inside its pool: {sum}");
    assert_eq!(sum, 55);

    let serial = std::sync::Arc::new(SerialExecutor::new(pool.clone()));
    let inner = std::sync::Arc::clone(&serial);
    let nested = serial.submit_fallible(move || {
        inner
            .submit(|| "later")?
            .join()
            .map_err(Box::<dyn Error + Send + Sync>::from)
    })?;
    let nested = nested.join()?;
    println!("serial task that waits for a later one: {nested}");
    assert_eq!(nested, "later");
    pool.close();

    let timers = executors::scheduled_thread_pool(1);
    let inner = timers.clone();
    let began = Instant::now();
    let delayed = timers.submit_fallible(move || {
        let due = inner.schedule(Duration::from_millis(50), || "due");
        due.map_err(|error| error.to_string())?
            .join()
            .map_err(|error| error.to_string())
    })?;
    let said = delayed.join()?;
    assert_eq!(said, "due");
    println!(
        "timer of the only worker that waits for it: {said} after {:.0?}",
        began.elapsed()
    );
    timers.close();
    Ok(())
}

/// Two tasks that wait for each other.
fn circle() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(2)?;
    let (sender, receiver) = mpsc::channel::<SharedHandle<String>>();
    let load = pool
        .task()
        .name("load")
        .submit(move || match receiver.recv() {
            Ok(parse) => parse.join().unwrap_or_else(|error| error.to_string()),
            Err(error) => error.to_string(),
        })?;
    let load = load.share();
    let waits = load.clone();
    let parse = pool
        .task()
        .name("parse")
        .submit(move || waits.join().unwrap_or_else(|error| error.to_string()))?;
    sender.send(parse.share())?;
    let answer = load.join()?;
    println!("a circle: {answer}");
    assert!(
        answer.contains("load") && answer.contains("parse"),
        "both tasks are named"
    );
    pool.close();
    Ok(())
}

/// A worker that waits for something that runs elsewhere, and tasks behind it.
fn spares() -> Result<(), Box<dyn Error>> {
    let elsewhere = executors::fixed_thread_pool(1)?;
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1)
        .spare_workers(1)
        .build()?;
    let (release, released) = mpsc::channel::<()>();
    let slow = elsewhere.submit(move || released.recv().is_ok())?;
    let waits = pool.submit(move || slow.join())?;
    let queued = pool.submit(|| "done")?;
    println!(
        "behind a worker that waits: {} ({} workers, maximum {})",
        queued.join()?,
        pool.pool_size(),
        pool.maximum_pool_size()
    );
    assert!(!waits.is_done(), "the spare has run it");
    release.send(())?;
    assert!(waits.join()??);
    pool.close();
    elsewhere.close();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    one_worker()?;
    other_executors()?;
    circle()?;
    spares()
}
