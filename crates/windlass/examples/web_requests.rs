//! How does a service stay responsive when more requests come in than it can serve?
//!
//! With a bounded queue and `CallerRunsPolicy`: when the queue is full, the thread that accepts
//! requests serves one itself. Meanwhile it accepts nothing, so senders are slowed down. No request
//! is lost, and memory stays bounded.
//!
//! `cargo run --release -p windlass --example web_requests`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windlass::pool::CallerRunsPolicy;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;

const REQUESTS: usize = 500;
const WAITING: usize = 16;

/// Serves a request: counts the primes below a bound.
fn serve(request: usize) -> usize {
    let bound = 200 + request % 100;
    (2..bound)
        .filter(|n| (2..*n).all(|divisor| n % divisor != 0))
        .count()
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(2)
        .work_queue(ArrayBlockingQueue::new(WAITING)?)
        .rejection_handler(CallerRunsPolicy)
        .build()?;
    let acceptor = thread::current().id();
    let by_acceptor = Arc::new(AtomicUsize::new(0));
    let mut answers = Vec::new();
    let mut most_waiting = 0;
    for request in 0..REQUESTS {
        let by_acceptor = Arc::clone(&by_acceptor);
        answers.push(pool.submit(move || {
            if thread::current().id() == acceptor {
                by_acceptor.fetch_add(1, Ordering::Relaxed);
            }
            serve(request)
        })?);
        most_waiting = most_waiting.max(pool.queue().len());
    }
    for (request, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.join()?, serve(request));
    }
    pool.close();
    println!("{REQUESTS} requests, all answered");
    println!("never more than {most_waiting} waited (the bound is {WAITING})");
    println!(
        "{} were served by the accepting thread itself, the rest by {} workers",
        by_acceptor.load(Ordering::Relaxed),
        pool.largest_pool_size()
    );
    assert!(most_waiting <= WAITING);
    Ok(())
}
