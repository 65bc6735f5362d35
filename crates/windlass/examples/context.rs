//! How does a request's id reach what its tasks log? Context travels with them.
//!
//! The log of a server shows for each line which request it belongs to, although the lines are written
//! by the workers of three different pools. No task mentions the request.

use std::cell::Cell;
use std::time::Duration;

use windlass::context;
use windlass::prelude::*;

thread_local! {
    /// The request that the current thread works for; zero outside of requests.
    static REQUEST: Cell<u32> = const { Cell::new(0) };
}

fn log(what: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    println!("request {:>2} | {what:<18} | {name}", REQUEST.get());
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
    Ok(())
}
