//! `windlass pools`: the pools of a program as a table.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use anstyle::Reset;
use clap::Args;
use serde_json::Value;

use super::address::ConsoleOptions;
use super::assignment::name_of;
use super::client::{Client, encode};
use super::view::{Overview, Pool, Quantiles};
use crate::duration::Short;
use crate::exit::Failure;
use crate::style;

/// The options of `windlass pools`.
#[derive(Debug, Clone, Args)]
pub struct PoolsOptions {
    /// Show everything about this pool
    #[arg(value_name = "POOL")]
    pub pool: Option<String>,

    /// Print what the console says, as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    console: ConsoleOptions,
}

/// Prints the pools.
///
/// # Errors
///
/// When the console does not answer, or the output cannot be written.
pub fn pools(options: &PoolsOptions) -> Result<(), Failure> {
    let client = Client::new(&options.console)?;
    let path = match &options.pool {
        Some(name) => format!("/api/v1/pools/{}", encode(name)),
        None => "/api/v1/pools".to_owned(),
    };
    let text = if options.json {
        let value: Value = client.get(&path)?;
        format!("{value}\n")
    } else if options.pool.is_some() {
        describe(&client.get(&path)?)
    } else {
        table(&client.get(&path)?)
    };
    let mut stdout = anstream::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::new(format!("cannot write the answer: {error}")))
}

fn table(overview: &Overview) -> String {
    let (title, warn, dim, reset) = (style::TITLE, style::WARN, style::DIM, Reset);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{title}{:<16} {:<11} {:>9} {:>7} {:>13} {:>9} {:>9} {:>9} {:>9}{reset}",
        "POOL", "KIND", "THREADS", "MAX", "QUEUE", "A SECOND", "WAIT P99", "RUN P99", "REJECTED"
    );
    for pool in &overview.pools {
        let queue = match pool.queue.capacity {
            Some(capacity) => format!("{}/{capacity}", pool.queue.len),
            None => pool.queue.len.to_string(),
        };
        let _ = write!(
            text,
            "{:<16} {:<11} {:>9} {:>7} {queue:>13} {:>9.1} {:>9} {:>9} {:>9}",
            pool.name,
            pool.kind,
            format!("{}/{}", pool.threads.active, pool.threads.size),
            pool.threads.shown_max(),
            pool.rates.completed,
            p99(pool.wait),
            p99(pool.run),
            pool.tasks.rejected,
        );
        if !pool.alerts.is_empty() {
            let _ = write!(text, "  {warn}{}{reset}", pool.alerts.join(", "));
        }
        text.push('\n');
    }
    if overview.pools.is_empty() {
        let _ = writeln!(
            text,
            "{dim}no pools: monitor::register(&pool) makes one known{reset}"
        );
    }
    text
}

fn p99(quantiles: Option<Quantiles>) -> String {
    quantiles.map_or_else(|| "-".to_owned(), |quantiles| time(quantiles.p99))
}

fn time(seconds: f64) -> String {
    Short(Duration::try_from_secs_f64(seconds).unwrap_or_default()).to_string()
}

fn describe(pool: &Pool) -> String {
    let (title, warn, reset) = (style::TITLE, style::WARN, Reset);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{title}{}{reset}   {}, {}",
        pool.name, pool.kind, pool.state
    );
    let threads = &pool.threads;
    let _ = writeln!(
        text,
        "threads   {} active of {}, core {}, max {}",
        threads.active,
        threads.size,
        threads.core,
        threads.shown_max()
    );
    let capacity = pool
        .queue
        .capacity
        .map_or("no bound".to_owned(), |bound| format!("bound {bound}"));
    let oldest = pool
        .queue
        .oldest_seconds
        .map_or(String::new(), |age| format!(", oldest {}", time(age)));
    let _ = writeln!(
        text,
        "queue     {} waiting, {capacity}{oldest}",
        pool.queue.len
    );
    let _ = writeln!(
        text,
        "tasks     {} completed, {} failed, {} rejected; {:.1} a second",
        pool.tasks.completed, pool.tasks.failed, pool.tasks.rejected, pool.rates.completed
    );
    for (name, quantiles) in [("wait", pool.wait), ("run", pool.run)] {
        if let Some(q) = quantiles {
            let [p50, p90, p99, max] = [q.p50, q.p90, q.p99, q.max].map(time);
            let _ = writeln!(
                text,
                "{name:<9} p50 {p50}   p90 {p90}   p99 {p99}   max {max}"
            );
        }
    }
    describe_settings(pool, &mut text);
    if !pool.alerts.is_empty() {
        let _ = writeln!(text, "{warn}alerts    {}{reset}", pool.alerts.join(", "));
    }
    text
}

fn describe_settings(pool: &Pool, text: &mut String) {
    if let Some(policy) = &pool.config.policy {
        let _ = write!(text, "policy    {policy}");
        if !pool.config.policies.is_empty() {
            let _ = write!(text, "; there are {}", pool.config.policies.join(", "));
        }
        text.push('\n');
    }
    if let Some(keep_alive) = pool.config.keep_alive_seconds {
        let _ = writeln!(text, "idle      threads end after {}", time(keep_alive));
    }
    let names: Vec<String> = pool.tunable.iter().map(|field| name_of(field)).collect();
    let _ = writeln!(
        text,
        "settings  version {}; can be set: {}",
        pool.version,
        names.join(", ")
    );
}
