//! Can results be awaited instead of blocked on?
//!
//! Yes, with any runtime: a `TaskHandle` is a `Future`. This example uses no runtime, only a
//! `block_on` of a dozen lines, to show that nothing else is needed.
//!
//! `cargo run --release -p windlass --example await_handles`

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use windlass::prelude::*;
use windlass::task::{ExecutionError, TaskHandle};

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns the length of the Collatz sequence that begins with `start`.
fn steps(start: u64) -> u64 {
    let next = |n: &u64| match n {
        1 => None,
        n if n % 2 == 0 => Some(n / 2),
        n => Some(3 * n + 1),
    };
    std::iter::successors(Some(start), next).count() as u64
}

async fn longest(handles: Vec<TaskHandle<(u64, u64)>>) -> Result<(u64, u64), ExecutionError> {
    let mut longest = (0, 0);
    for handle in handles {
        longest = longest.max(handle.await?);
    }
    Ok(longest)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(2)?;
    let mut handles = Vec::new();
    for part in 0..10_u64 {
        let range = part * 1_000 + 1..=(part + 1) * 1_000;
        let body = move || range.map(|n| (steps(n), n)).max().unwrap_or_default();
        handles.push(pool.submit(body)?);
    }
    let (length, start) = block_on(longest(handles))?;
    println!("up to 10000, {start} has the longest Collatz sequence, of {length} numbers");
    assert_eq!((length, start), (262, 6171));

    let cancelled = pool.submit(windlass::interrupt::park)?;
    cancelled.cancel_now();
    println!(
        "a cancelled one: {}",
        block_on(cancelled).expect_err("no value")
    );

    // Several may wait for one value, on threads and in futures alike.
    let shared = pool.submit(|| steps(27))?.share();
    let blocking = shared.get()?;
    assert_eq!(block_on(shared)?, blocking);
    println!("27 takes {blocking}, awaited and blocked on");
    pool.close();
    Ok(())
}
