//! How does a service end within the time that it is given, and say what it has lost?
//!
//! With a plan. It ends the pools in the order in which work flows through them: each stops its intake,
//! drains, is interrupted, and is waited for. The report says what was finished, hands back what never
//! started, and names what still runs, and where.
//!
//! With the feature `signals`, `plan.on_signals()?.wait()` runs the plan at ctrl-c or SIGTERM, a second
//! signal interrupts the tasks at once, and a third ends the process.
//!
//! `cargo run --release -p windlass --example graceful_end`

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::Duration;

use windlass::TaskHandle;
use windlass::interrupt;
use windlass::prelude::*;
use windlass::shutdown::{PoolEnd, ShutdownPlan, ShutdownReport};

fn pool(name: &str, workers: usize) -> Result<ThreadPoolExecutor, Box<dyn Error>> {
    let builder = ThreadPoolExecutor::builder().core_pool_size(workers);
    Ok(builder.name(name).build()?)
}

/// Runs what never started elsewhere; its handles get their results.
fn rescue(report: ShutdownReport, waiting: Vec<TaskHandle<u32>>) -> Result<(), Box<dyn Error>> {
    let rescue = executors::single_thread_executor();
    for task in report.into_tasks() {
        rescue.execute_task(task)?;
    }
    for handle in waiting {
        println!("rescued: report {}", handle.join()?);
    }
    rescue.close();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (requests, storage, reports) = (
        pool("requests", 2)?,
        pool("storage", 1)?,
        pool("reports", 1)?,
    );

    // Requests store something on their way: the storage has to end after them.
    for n in 0..20 {
        let storage = storage.clone();
        requests.execute(move || {
            let stored = storage.submit(move || n);
            drop(stored.expect("the storage is open as long as there are requests"));
        })?;
    }

    // A report that takes an hour, but can be interrupted, and three that wait behind it.
    drop(
        reports
            .task()
            .name("yearly report")
            .submit(|| interrupt::sleep(Duration::from_secs(3600)))?,
    );
    let mut waiting = Vec::new();
    for n in 1..=3 {
        let name = format!("report {n}");
        waiting.push(reports.task().name(name).submit(move || n)?);
    }

    // And a task that ignores its interrupt, as a call into a foreign library does.
    let foreign = pool("foreign", 1)?;
    let (started, has_started) = channel();
    let (release, released) = channel::<()>();
    foreign.task().name("codec").execute(move || {
        started.send(()).expect("somebody listens");
        let _ = released.recv();
    })?;
    has_started.recv()?;

    let report = ShutdownPlan::new()
        .pool("requests", &requests)
        .pool("storage", &storage)
        .pool("reports", &reports)
        .pool("foreign", &foreign)
        .drain_for(Duration::from_millis(500))
        .wait_for(Duration::from_millis(50))
        .total(Duration::from_secs(5))
        .run();
    println!("{report}");

    let ends: Vec<_> = report.pools.iter().map(|pool| pool.end).collect();
    assert_eq!(
        ends,
        [
            PoolEnd::Drained,
            PoolEnd::Drained,
            PoolEnd::Interrupted,
            PoolEnd::StillRunning
        ]
    );
    let completed = [&requests, &storage].map(ThreadPoolExecutor::completed_task_count);
    assert_eq!(completed, [20, 20], "nothing of the requests is lost");

    rescue(report, waiting)?;
    drop(release);
    foreign.close();
    Ok(())
}
