//! What do queues and policies do when twice as much comes in as a pool can take? Nine pools, drawn from a run.
//!
//! For a quarter of a second a submitter offers a task every half millisecond, to two workers that need two milliseconds
//! for each. The table says what became of the tasks. With the name of a file as an argument, the length of the queues over time is
//! drawn there, as SVG.
//!
//! ```sh
//! cargo run --release -p windlass --example overload
//! cargo run --release -p windlass --example overload -- overload.svg
//! ```

use std::error::Error;
use std::fmt::Write as _;
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
    done: u64,
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
    while clock::now() - start < LASTS {
        offered += 1;
        match pool.submit(|| interrupt::sleep(TASK)) {
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
    Ok(Seen {
        title,
        queued,
        offered: offered as usize,
        done: offered as u64 - refused as u64 - lost as u64,
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
<path d="{path}" fill="#c8643c" fill-opacity="0.75"/>
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
    let (width, height) = (3.0 * WIDTH, 3.0 * (HEIGHT + 6.0) + 40.0);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif">
<title>Queued tasks over time, of nine pools under twice the load that they can take</title>
<style>.t{{font-size:13px;font-weight:bold;fill:#222}}.f{{font-size:11px;fill:#444}}</style>
<rect width="{width}" height="{height}" rx="6" fill="#fffdf8"/>
"##
    );
    for (number, seen) in all.iter().enumerate() {
        let (column, row) = ((number % 3) as f64, (number / 3) as f64);
        svg += &draw(seen, column * WIDTH, row * (HEIGHT + 6.0));
    }
    let _ = writeln!(
        svg,
        r##"<text x="12" y="{:.0}" class="f">Queued tasks over {LAST} ms, at most {MOST}; on the shaded ground tasks come in, twice as many as two workers can take. Drawn by examples/overload.rs from a run.</text>
</svg>"##,
        height - 14.0
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
        overload("No bound", pool())?,
        overload("No bound, shed by CoDel", pool().shed(Codel::default()))?,
        overload("Bound of 50, AbortPolicy", aborts)?,
        overload("Bound of 50, DiscardPolicy", discards)?,
        overload("Bound of 50, DiscardOldestPolicy", discards_oldest)?,
        overload("Bound of 50, CallerRunsPolicy", caller_runs)?,
        overload("Bound of 50, BlockPolicy", blocks)?,
        overload("Bound of 50, up to 8 threads", grows)?,
        overload("Hand-off, up to 16 threads", hands_off)?,
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
