//! How is a call repeated that fails now and then, without a worker that waits in between?
//!
//! Attempts are runs of their own on a scheduled pool. The handle shows how many there were and how the
//! last one failed, while the next is pending.
//!
//! `cargo run --release -p windlass --example retry`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::scheduled::Retry;

/// A service that is down for the first calls.
fn call(number: u32, down_for: u32) -> Result<String, String> {
    if number <= down_for {
        Err(format!("503 on call {number}"))
    } else {
        Ok(format!("200 on call {number}"))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let policy = Retry::exponential(Duration::from_millis(20))
        .attempts(6)
        .max_wait(Duration::from_millis(200))
        .retry_if(|failure| failure.to_string().starts_with("503"));

    let mut calls = 0;
    let recovers = pool
        .task()
        .name("recovers")
        .submit_retry(&policy, move || {
            calls += 1;
            call(calls, 4)
        })?;
    let mut shown = 0;
    while !recovers.is_done() {
        if recovers.attempts() > shown {
            shown = recovers.attempts();
            let failure = recovers.last_failure().map(|failure| failure.to_string());
            let failure = failure.unwrap_or_default();
            println!("{failure}; the next attempt in {:.0?}", recovers.delay());
        }
        // The only worker is free meanwhile.
        pool.submit(|| ())?.join()?;
        interrupt::sleep(Duration::from_millis(1))?;
    }
    let answer = recovers.join()?;
    println!("{answer}");
    assert_eq!(answer, "200 on call 5", "four failures were repeated");

    let stays_down = pool.submit_retry(&policy, || call(1, 1))?;
    let error = stays_down.join().expect_err("it is never up").to_string();
    println!("{error}");
    assert!(error.contains("after 6 attempts"), "all of them were made");
    let mut calls_refused = 0;
    let refuses = pool.submit_retry(&policy, move || {
        calls_refused += 1;
        assert_eq!(calls_refused, 1, "a 404 is not worth a second attempt");
        Err::<(), _>("404")
    })?;
    let error = refuses.join().expect_err("there is no such page");
    println!("{error}");
    assert!(error.to_string().contains("404"));
    pool.close();
    Ok(())
}
