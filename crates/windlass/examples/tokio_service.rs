//! Why must an async service not compute on its runtime, and what does a pool beside it change?
//!
//! A service on tokio answers pings, and now and then has to compute for 20 ms. On the threads of the runtime that computing
//! makes all pings wait. On a bounded pool of Windlass it does not, and when there is too much of it, the submitting
//! task awaits room: back-pressure, without blocking a thread.
//!
//! `cargo run --release -p windlass --example tokio_service`

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use tokio::runtime::Runtime;
use windlass::clock;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;

const COMPUTE: Duration = Duration::from_millis(20);
const JOBS: usize = 16;

/// Computes for a while: a checksum, an image, a password hash.
fn compute() -> u64 {
    let start = clock::now();
    let mut sum = 0_u64;
    while clock::now() - start < COMPUTE {
        sum = (0..1_000).fold(sum, |sum, n| black_box(sum ^ n).rotate_left(5));
    }
    sum
}

/// Where the jobs compute.
#[derive(Clone)]
enum Where {
    OnTheRuntime,
    Beside(ThreadPoolExecutor),
}

async fn run_job(place: Where) -> Result<u64, Box<dyn Error + Send + Sync>> {
    match place {
        Where::OnTheRuntime => Ok(compute()),
        // Awaits room in the queue, then the result.
        Where::Beside(pool) => Ok(pool.submit_async(compute).await?.await?),
    }
}

/// Pings every two milliseconds while jobs come in. Returns by how much the answers were late, sorted.
async fn ping_during_jobs(place: Where) -> Result<Vec<Duration>, Box<dyn Error + Send + Sync>> {
    let pings = tokio::spawn(async move {
        let (mut late, pause) = (Vec::new(), Duration::from_millis(2));
        while late.len() < 100 {
            let start = clock::now();
            tokio::time::sleep(pause).await;
            late.push((clock::now() - start).saturating_sub(pause));
        }
        late
    });
    let jobs = tokio::spawn(async move {
        let mut jobs = Vec::new();
        for _ in 0..JOBS {
            jobs.push(tokio::spawn(run_job(place.clone())));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        jobs
    });
    for job in jobs.await? {
        job.await??;
    }
    let mut late = pings.await?;
    late.sort();
    Ok(late)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    // One thread: the service has little to do but wait.
    let runtime: Runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let pool = ThreadPoolExecutor::builder()
        .name("cpu")
        .core_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(2)?)
        .build()?;
    println!("{JOBS} jobs of {COMPUTE:?} beside 100 pings; the answers were late by:");
    println!(
        "{:<18} {:>10} {:>10} {:>10}",
        "", "median", "95th", "longest"
    );
    for (name, place) in [
        ("on the runtime", Where::OnTheRuntime),
        ("on a pool beside", Where::Beside(pool.clone())),
    ] {
        let late = runtime.block_on(ping_during_jobs(place))?;
        let [median, high, most] = [50, 95, 99].map(|at| late[at]);
        println!("{name:<18} {median:>10.1?} {high:>10.1?} {most:>10.1?}");
    }
    pool.close();
    let stats = pool.stats();
    println!(
        "the pool ran {} jobs and rejected {}",
        stats.completed_task_count, stats.rejected_count
    );
    assert_eq!(
        (stats.completed_task_count, stats.rejected_count),
        (JOBS as u64, 0)
    );
    Ok(())
}
