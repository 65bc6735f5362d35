//! What do queues and policies do when tasks arrive at twice the rate that a pool can serve? Nine pools, drawn from a run.
//!
//! For a quarter of a second a submitter offers a task every half millisecond, to two workers that need two milliseconds
//! for each. The table says what became of the tasks. With the name of a file as an argument, the lengths of the queues
//! over time are drawn there, as SVG.
//!
//! ```sh
//! cargo run --release -p windlass --example overload
//! cargo run --release -p windlass --example overload -- overload.svg
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use windlass::pool::{
    AbortPolicy, BlockPolicy, Builder, CallerRunsPolicy, Codel, DiscardOldestPolicy, DiscardPolicy,
    Times,
};
use windlass::prelude::*;
use windlass::queue::{LinkedBlockingQueue, SynchronousQueue};
use windlass::{clock, interrupt};

const LASTS: Duration = Duration::from_millis(250);
const EVERY: Duration = Duration::from_micros(500);
const TASK: Duration = Duration::from_millis(2);
const BOUND: usize = 50;

/// What was seen of one pool.
struct Seen {
    title: &'static str,
    /// Milliseconds, and how many tasks were queued then.
    queued: Vec<(f64, usize)>,
    offered: usize,
    done: usize,
    refused: usize,
    lost: usize,
    threads: usize,
    longest_wait: Duration,
}

fn millis(since: Instant) -> f64 {
    (clock::now() - since).as_secs_f64() * 1e3
}

fn overload(title: &'static str, builder: Builder) -> Result<Seen, Box<dyn Error>> {
    let pool = builder.core_pool_size(2).times(Times::Every).build()?;
    let (mut handles, mut queued) = (Vec::new(), Vec::new());
    let (start, mut offered, mut refused) = (clock::now(), 0_u32, 0);
    let done = Arc::new(AtomicUsize::new(0));
    while clock::now() - start < LASTS {
        offered += 1;
        let done = Arc::clone(&done);
        let task = move || {
            let _ = interrupt::sleep(TASK);
            done.fetch_add(1, Ordering::SeqCst);
        };
        match pool.submit(task) {
            Ok(handle) => handles.push(handle),
            Err(_) => refused += 1,
        }
        queued.push((millis(start), pool.queue().len()));
        // The next is due at its own time, so that a submitter that was held up is behind, and catches up.
        let due = start + EVERY * offered;
        interrupt::sleep(due.saturating_duration_since(clock::now()))?;
    }
    while !pool.queue().is_empty() {
        queued.push((millis(start), pool.queue().len()));
        interrupt::sleep(EVERY * 4)?;
    }
    queued.push((millis(start), 0));
    pool.close();
    let stats = pool.stats();
    let lost = handles
        .into_iter()
        .filter(|handle| handle.is_cancelled())
        .count();
    let (done, offered) = (done.load(Ordering::SeqCst), offered as usize);
    assert_eq!(
        done + refused + lost,
        offered,
        "{title}: a task is done, refused or discarded"
    );
    Ok(Seen {
        title,
        queued,
        offered,
        done,
        refused,
        lost,
        threads: stats.largest_pool_size,
        longest_wait: stats.wait_times.max().unwrap_or_default(),
    })
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 150.0;
const LAST: f64 = 600.0;
const MOST: f64 = 320.0;

/// Draws lines at some lengths of a queue, to read off others.
fn scale(left: f64, y: impl Fn(usize) -> f64) -> String {
    let mut lines = String::new();
    for mark in [100, 200, 300] {
        let (from, to, at) = (left + 12.0, left + WIDTH - 12.0, y(mark));
        let _ = writeln!(
            lines,
            r##"<line x1="{from:.0}" y1="{at:.1}" x2="{to:.0}" y2="{at:.1}" stroke="#d8d2c4" stroke-width="0.7"/><text x="{to:.0}" y="{:.1}" class="g">{mark}</text>"##,
            at - 2.0
        );
    }
    lines
}

/// Draws one pool: an area over time, and its figures.
fn draw(seen: &Seen, left: f64, top: f64) -> String {
    let x = |time: f64| left + 12.0 + (time / LAST).min(1.0) * (WIDTH - 24.0);
    let base = top + HEIGHT - 34.0;
    let y = |count: usize| base - (count as f64 / MOST).min(1.0) * (HEIGHT - 62.0);
    let mut path = format!("M{:.1},{base:.1}", x(0.0));
    for &(time, count) in &seen.queued {
        let _ = write!(path, " L{:.1},{:.1}", x(time), y(count));
    }
    let end = seen.queued.last().map_or(0.0, |(time, _)| *time);
    let _ = write!(path, " L{:.1},{base:.1} Z", x(end));
    let lasts = x(LASTS.as_secs_f64() * 1e3);
    format!(
        r##"<text x="{0:.0}" y="{1:.0}" class="t">{title}</text>
<rect x="{0:.0}" y="{2:.1}" width="{3:.1}" height="{4:.1}" fill="#f3efe6"/>
{scale}<path d="{path}" fill="#c8643c" fill-opacity="0.75"/>
<line x1="{0:.0}" y1="{base:.1}" x2="{5:.1}" y2="{base:.1}" stroke="#444"/>
<text x="{0:.0}" y="{6:.0}" class="f">offered {offered}: done {done}, refused {refused}, discarded {lost}</text>
<text x="{0:.0}" y="{7:.0}" class="f">threads {threads}, longest wait {wait:.0} ms</text>
"##,
        left + 12.0,
        top + 18.0,
        top + 28.0,
        lasts - left - 12.0,
        HEIGHT - 62.0,
        left + WIDTH - 12.0,
        base + 14.0,
        base + 28.0,
        scale = scale(left, y),
        title = seen.title,
        offered = seen.offered,
        done = seen.done,
        refused = seen.refused,
        lost = seen.lost,
        threads = seen.threads,
        wait = seen.longest_wait.as_secs_f64() * 1e3,
    )
}

/// Draws all of them, three in a row.
fn picture(all: &[Seen]) -> String {
    let (width, height) = (3.0 * WIDTH, 3.0 * (HEIGHT + 6.0) + 50.0);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif">
<title>Queued tasks over time, in nine pools under twice the load that they can serve</title>
<style>.t{{font-size:13px;font-weight:bold;fill:#222}}.f{{font-size:11px;fill:#444}}.g{{font-size:9px;fill:#777;text-anchor:end}}</style>
<rect width="{width}" height="{height}" rx="6" fill="#fffdf8"/>
"##
    );
    for (number, seen) in all.iter().enumerate() {
        let (column, row) = ((number % 3) as f64, (number / 3) as f64);
        svg += &draw(seen, column * WIDTH, row * (HEIGHT + 6.0));
    }
    let _ = writeln!(
        svg,
        r##"<text x="12" y="{:.0}" class="f">Each area: the number of queued tasks over {LAST} ms. Shaded: while tasks arrive, at twice the rate that two workers can serve. Bounded queues hold {BOUND}.</text>
<text x="12" y="{:.0}" class="f">Drawn from a run: cargo run --release -p windlass --example overload -- overload.svg</text>
</svg>"##,
        height - 28.0,
        height - 12.0
    );
    svg
}

/// The pools of the picture.
fn all_pools() -> Result<[Seen; 9], Box<dyn Error>> {
    let pool = || ThreadPoolExecutor::builder().maximum_pool_size(2);
    let bounded = |builder: Builder| {
        let queue = LinkedBlockingQueue::with_capacity(BOUND);
        queue.map(|queue| builder.work_queue(queue))
    };
    let aborts = bounded(pool())?.rejection_handler(AbortPolicy);
    let discards = bounded(pool())?.rejection_handler(DiscardPolicy);
    let discards_oldest = bounded(pool())?.rejection_handler(DiscardOldestPolicy);
    let caller_runs = bounded(pool())?.rejection_handler(CallerRunsPolicy);
    let blocks = bounded(pool())?.rejection_handler(BlockPolicy::new());
    let grows = bounded(ThreadPoolExecutor::builder().maximum_pool_size(8))?;
    let hands_off = ThreadPoolExecutor::builder().maximum_pool_size(16);
    let hands_off = hands_off.work_queue(SynchronousQueue::new());
    Ok([
        overload("Unbounded queue", pool())?,
        overload(
            "Unbounded queue, CoDel shedding",
            pool().shed(Codel::default()),
        )?,
        overload("Bounded queue, AbortPolicy", aborts)?,
        overload("Bounded queue, DiscardPolicy", discards)?,
        overload("Bounded queue, DiscardOldestPolicy", discards_oldest)?,
        overload("Bounded queue, CallerRunsPolicy", caller_runs)?,
        overload("Bounded queue, BlockPolicy", blocks)?,
        overload("Bounded queue, up to 8 threads", grows)?,
        overload("SynchronousQueue, up to 16 threads", hands_off)?,
    ])
}

fn print(seen: &Seen) {
    let wait = format!("{:.0} ms", seen.longest_wait.as_secs_f64() * 1e3);
    println!(
        "{:<34} {:>7} {:>6} {:>8} {:>10} {:>8} {wait:>13}",
        seen.title, seen.offered, seen.done, seen.refused, seen.lost, seen.threads
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<34} {:>7} {:>6} {:>8} {:>10} {:>8} {:>13}",
        "", "offered", "done", "refused", "discarded", "threads", "longest wait"
    );
    let all = all_pools()?;
    all.iter().for_each(print);
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(&file, picture(&all))?;
        println!("drawn in {file}");
    }
    Ok(())
}
