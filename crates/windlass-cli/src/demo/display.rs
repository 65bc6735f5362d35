//! The figures of the pools in the terminal.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Reset;
use windlass::monitor::{Monitor, PoolView};

use crate::duration::Short;
use crate::style;

/// Returns a table of the pools, one line for each and one for the titles.
pub(super) fn table(monitor: &Monitor) -> String {
    let (title, reset) = (style::TITLE, Reset);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{title}{:<14} {:>9} {:>11} {:>9} {:>10} {:>10} {:>9}{reset}",
        "pool", "threads", "queue", "a second", "wait p99", "run p99", "rejected"
    );
    for view in monitor.pools() {
        line(&mut text, &view);
    }
    text
}

fn line(text: &mut String, view: &PoolView) {
    let (warn, reset) = (style::WARN, Reset);
    let threads = &view.snapshot.threads;
    let queue = &view.snapshot.queue;
    let bound = queue
        .capacity
        .map_or_else(String::new, |capacity| format!("/{capacity}"));
    let p99 = |quantiles: Option<Duration>| {
        quantiles.map_or_else(|| "-".to_owned(), |time| Short(time).to_string())
    };
    let rejected = view.snapshot.tasks.rejected.total();
    let (mark, end) = if view.rates.rejected > 0.0 {
        (warn.to_string(), reset.to_string())
    } else {
        (String::new(), String::new())
    };
    let _ = writeln!(
        text,
        "{:<14} {:>9} {:>11} {:>9.0} {:>10} {:>10} {mark}{rejected:>9}{end}",
        view.name,
        format!("{}/{}", threads.active, threads.size),
        format!("{}{bound}", queue.len),
        view.rates.completed,
        p99(view.wait.as_ref().map(|wait| wait.p99)),
        p99(view.run.as_ref().map(|run| run.p99)),
    );
}
