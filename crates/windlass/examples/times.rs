//! How long do tasks wait, how long do they run, and what does each worker do right now?
//!
//! A pool times its tasks always: histograms of wait and run time, for the pool and for each task name.
//! When tasks come so fast that reading the clock would show, one in N is timed and stands for the others.
//!
//! `cargo run --release -p windlass --example times`

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::testing::until;

/// Prints a histogram in the text format of Prometheus, without the bounds that add nothing.
fn print_buckets(name: &str, times: &windlass::pool::Histogram) {
    let mut before = 0;
    for (bound, count) in times.buckets().filter(|(_, count)| *count > 0) {
        if count > before {
            println!("{name}_bucket{{le=\"{}\"}} {count}", bound.as_secs_f64());
        }
        before = count;
    }
    println!("{name}_bucket{{le=\"+Inf\"}} {}", times.count());
    println!("{name}_sum {}", times.sum().as_secs_f64());
    println!("{name}_count {}", times.count());
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(2)
        .build()?;
    let mut handles = Vec::new();
    for page in 0..40_u64 {
        let pause = Duration::from_millis(if page % 10 == 9 { 40 } else { 2 });
        let name = if page % 10 == 9 { "report" } else { "page" };
        handles.push(
            pool.task()
                .name(name)
                .submit(move || interrupt::sleep(pause))?,
        );
    }
    println!("right now:");
    let mut seen = 0;
    while seen == 0 {
        for task in pool.running_tasks() {
            println!("  {task}");
            seen += 1;
        }
    }
    for handle in handles {
        handle.join()??;
    }
    // A handle is done a moment before its task is counted.
    until("all are counted", || pool.completed_task_count() == 40);
    let stats = pool.stats();
    assert_eq!(stats.run_times.count(), 40);
    let of = |name: &str| {
        let mut all = stats.task_times.iter();
        all.find(|times| &*times.name == name)
            .map_or(0, |times| times.run_times.count())
    };
    assert_eq!((of("page"), of("report")), (36, 4), "each under its name");
    println!("\nall tasks waited {}", stats.wait_times);
    println!("all tasks ran    {}", stats.run_times);
    for times in &stats.task_times {
        println!("  {times}");
    }
    println!("\nfor Prometheus:");
    print_buckets("windlass_pool_task_run_seconds", &stats.run_times);

    for _ in 0..1_000_000 {
        pool.execute(|| ())?;
    }
    pool.close();
    let run_times = pool.stats().run_times;
    println!(
        "\na million empty tasks later, of which one in {} was timed:",
        run_times.sampled_every()
    );
    println!("all tasks ran    {run_times}");
    assert_eq!(pool.completed_task_count(), 1_000_040);
    Ok(())
}
