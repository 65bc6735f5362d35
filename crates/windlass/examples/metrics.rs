//! How is a pool watched and steered while it runs?
//!
//! It is registered in one line. A monitor takes a sample each second, raises alerts, changes settings, and
//! writes the figures as Prometheus reads them.
//!
//! `cargo run --release -p windlass --example metrics`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::monitor::{
    self, Change, ChangeOptions, Event, Exposition, Monitor, Registry, TuneLimits,
};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass::testing::until;

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("api")
        .core_pool_size(2)
        .maximum_pool_size(2)
        .work_queue(ResizableBlockingQueue::with_capacity(100)?)
        .build()?;
    monitor::register(&pool);
    Registry::global().limit("api", TuneLimits::new().core(1..=16).max(1..=16));

    let monitor = Monitor::start(Registry::global())?;
    monitor.on_event(|event| match event {
        Event::Alert(alert) if alert.active => println!("alert {}: {}", alert.id, alert.message),
        Event::Alert(alert) => println!("alert {} is over", alert.id),
        Event::Audit(entry) => {
            let changes: Vec<_> = entry.changes.iter().map(ToString::to_string).collect();
            let (action, by) = (&entry.action, entry.source.as_str());
            println!("audit: {action} by {by} [{}]", changes.join(", "));
        }
        _ => {}
    })?;

    for _ in 0..100 {
        pool.task().name("request").execute(|| {
            let _ = interrupt::sleep(Duration::from_millis(40));
        })?;
    }
    until("the first of them run", || pool.active_count() == 2);
    let view = monitor.pool("api").ok_or("the pool is registered")?;
    println!(
        "{} of {} threads are active, {} tasks wait",
        view.snapshot.threads.active, view.snapshot.threads.max, view.snapshot.queue.len
    );

    // The change is for the settings that were seen, and is undone after a minute unless it is confirmed.
    let change = Change::new().core(8).max(8);
    let options = ChangeOptions::new()
        .version(view.version)
        .revert_after(Duration::from_secs(60))
        .actor("example");
    let changed = monitor.change("api", &change, &options)?;
    println!("the settings have version {} now", changed.version);
    assert!(changed.version > view.version);
    assert_eq!((pool.core_pool_size(), pool.maximum_pool_size()), (8, 8));
    monitor.confirm("api", Some("example"))?;

    pool.shutdown();
    while !pool.await_termination(Duration::from_millis(500))? {
        if let Some(view) = monitor.pool("api") {
            println!(
                "{} tasks wait, {:.0}/s end",
                view.snapshot.queue.len, view.rates.completed
            );
        }
    }
    assert_eq!(pool.completed_task_count(), 100, "no change has lost one");
    // A pool that has ended is forgotten; another one is there to be shown.
    let other = executors::fixed_thread_pool(1)?;
    Registry::global().register_as("other", &other);
    other.submit(|| ())?.join()?;
    show_threads(&monitor);
    monitor.stop();
    Ok(())
}

fn show_threads(monitor: &Monitor) {
    println!("\nfor Prometheus, the lines about threads:");
    let text = monitor.prometheus(Exposition::Micrometer);
    let lines = text
        .lines()
        .filter(|line| line.contains("threads") && !line.starts_with('#'));
    let mut shown = 0;
    for line in lines {
        println!("{line}");
        assert!(line.contains("other"), "the pool that has ended is gone");
        shown += 1;
    }
    assert!(shown > 0, "a scrape finds the threads of the other");
}
