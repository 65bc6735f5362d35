//! How does a request's id reach what its tasks log? Context travels with them.
//!
//! The log of a server shows for each line which request it belongs to, although the lines are written
//! by the workers of three different pools. No task mentions the request.
//!
//! `cargo run --release -p windlass --example context`

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use windlass::context;
use windlass::prelude::*;

thread_local! {
    /// The request that the current thread works for; zero outside of requests.
    static REQUEST: Cell<u32> = const { Cell::new(0) };
}

/// How many lines were logged for each request.
#[expect(clippy::disallowed_types, reason = "a program has locks of its own")]
static LINES: std::sync::Mutex<BTreeMap<u32, usize>> = std::sync::Mutex::new(BTreeMap::new());

fn log(what: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    println!("request {:>2} | {what:<18} | {name}", REQUEST.get());
    if let Ok(mut lines) = LINES.lock() {
        *lines.entry(REQUEST.get()).or_default() += 1;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workers = ThreadPoolExecutor::builder()
        .name("workers")
        .core_pool_size(2)
        .propagate(context::copied(&REQUEST))
        .build()?;
    let timers = ScheduledThreadPoolExecutor::builder()
        .name("timers")
        .propagate(context::copied(&REQUEST))
        .build();
    let splitters = ForkJoinPool::builder()
        .name("splitters")
        .parallelism(2)
        .propagate(context::copied(&REQUEST))
        .build()?;

    let mut handles = Vec::new();
    let mut timeouts = Vec::new();
    for request in [17, 42] {
        // What a web framework does when a request comes in.
        REQUEST.set(request);
        log("accepted");
        handles.push(workers.submit(|| log("loaded"))?);
        timeouts.push(timers.schedule(Duration::from_millis(20), || log("timed out"))?);
        splitters.join(|| log("left half"), || log("right half"));
        splitters.scope(|scope| scope.spawn(|| log("index updated")));
    }
    REQUEST.set(0);
    log("all accepted");
    for handle in handles {
        handle.join()?;
    }
    for timeout in timeouts {
        timeout.join()?;
    }
    workers.close();
    timers.close();
    splitters.close();
    let lines = LINES.lock().map(|lines| lines.clone())?;
    assert_eq!(lines, BTreeMap::from([(0, 1), (17, 6), (42, 6)]));
    Ok(())
}
