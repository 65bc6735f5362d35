//! Why does a pool with a queue not grow when it is busy, and how is that changed?
//!
//! By the rules of the JDK a task is queued before a worker beyond core is started, so a pool with a long queue stays at its
//! core size under load. Tomcat's pool starts the workers first. `grow_eagerly` does the same.
//!
//! `cargo run --release -p windlass --example eager_growth`

use std::error::Error;
use std::time::Duration;

use windlass::prelude::*;
use windlass::queue::LinkedBlockingQueue;
use windlass::testing::Gate;
use windlass::{clock, interrupt};

const REQUESTS: usize = 40;
const REQUEST: Duration = Duration::from_millis(10);

struct Burst {
    workers: usize,
    queued: usize,
    took: Duration,
    waited: Duration,
}

fn burst(eagerly: bool) -> Result<Burst, Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(2)
        .maximum_pool_size(10)
        .work_queue(LinkedBlockingQueue::with_capacity(100)?)
        .grow_eagerly(eagerly)
        .build()?;
    // No request ends before all of them have been submitted.
    let gate = Gate::new();
    let requests: Vec<_> = (0..REQUESTS)
        .map(|_| {
            let gate = gate.clone();
            pool.submit(move || {
                gate.pass()?;
                interrupt::sleep(REQUEST)
            })
        })
        .collect::<Result<_, _>>()?;
    let (workers, queued) = (pool.pool_size(), pool.queue().len());
    let start = clock::now();
    gate.open();
    for request in requests {
        request.join()??;
    }
    let took = clock::now() - start;
    let waited = pool.stats().wait_times.mean().unwrap_or_default();
    pool.close();
    Ok(Burst {
        workers,
        queued,
        took,
        waited,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{REQUESTS} requests of {REQUEST:?} at once; core 2, maximum 10, room for 100\n");
    println!(
        "{:<16} {:>8} {:>8} {:>12} {:>14}",
        "", "workers", "queued", "all done", "mean wait"
    );
    let (jdk, tomcat) = (burst(false)?, burst(true)?);
    for (name, burst) in [("queue first", &jdk), ("workers first", &tomcat)] {
        let Burst {
            workers,
            queued,
            took,
            waited,
        } = burst;
        println!("{name:<16} {workers:>8} {queued:>8} {took:>12.0?} {waited:>14.1?}");
    }
    println!(
        "\nEagerly is right for requests that wait; for tasks that compute, more workers than processors gain nothing."
    );
    assert_eq!((jdk.workers, jdk.queued), (2, REQUESTS - 2));
    assert_eq!((tomcat.workers, tomcat.queued), (10, REQUESTS - 10));
    Ok(())
}
