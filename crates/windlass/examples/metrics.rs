//! How is a pool watched and steered while it runs?
//!
//! It is registered in one line. A monitor takes a sample each second, raises alerts, changes settings, and
//! writes the figures as Prometheus reads them.

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::monitor::{
    self, Change, ChangeOptions, Event, Exposition, Monitor, Registry, TuneLimits,
};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;

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
    // Until the first of them run.
    interrupt::sleep(Duration::from_millis(20))?;
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
    // A pool that has ended is forgotten; another one is there to be shown.
    let other = executors::fixed_thread_pool(1)?;
    Registry::global().register_as("other", &other);
    other.submit(|| ())?.join()?;
    println!("\nfor Prometheus, the lines about threads:");
    for line in monitor.prometheus(Exposition::Micrometer).lines() {
        if line.contains("threads") && !line.starts_with('#') {
            println!("{line}");
        }
    }
    monitor.stop();
    Ok(())
}
