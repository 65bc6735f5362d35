//! The summary of a run, for people and for programs.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Reset;
use serde::Serialize;
use windlass::pool::{Histogram, PoolStats};

use super::tally::Counts;
use crate::count::counted;
use crate::duration::Short;
use crate::style;

/// What a run has done, and how well its pool was used.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// Inputs that were read.
    inputs: u64,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    jobs_per_second: f64,
    threads: usize,
    queue: usize,
    /// The share of the threads' time in which they ran jobs.
    utilisation: f64,
    /// How long jobs ran, in seconds.
    run: Option<Times>,
    /// How long inputs waited for a thread, in seconds.
    wait: Option<Times>,
    /// Why the run ended before its input did.
    ended_by: Option<String>,
    exit_code: u8,
}

/// Percentiles of a time, in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
struct Times {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
    mean: f64,
}

impl Times {
    fn of(histogram: &Histogram) -> Option<Self> {
        let at = |q| histogram.quantile(q).map(|time| time.as_secs_f64());
        Some(Self {
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: histogram.max()?.as_secs_f64(),
            mean: histogram.mean()?.as_secs_f64(),
        })
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |seconds| Short(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let [p50, p90, p99, max] = [self.p50, self.p90, self.p99, self.max].map(short);
        write!(f, "p50 {p50}   p90 {p90}   p99 {p99}   max {max}")
    }
}

/// How a run has ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) elapsed: Duration,
    pub(super) ended_by: Option<String>,
    pub(super) exit_code: u8,
    pub(super) queue: usize,
}

impl Summary {
    pub(super) fn new(counts: Counts, stats: &PoolStats, end: End) -> Self {
        let seconds = end.elapsed.as_secs_f64();
        let ended = counts.succeeded + counts.failed;
        let threads = stats.maximum_pool_size;
        let available = seconds * threads as f64;
        let share = stats.run_times.sum().as_secs_f64() / available;
        Self {
            inputs: ended
                + counts.resumed
                + counts.failed_before
                + counts.not_run
                + counts.rejected,
            counts,
            seconds,
            jobs_per_second: if seconds > 0.0 {
                ended as f64 / seconds
            } else {
                0.0
            },
            threads,
            queue: end.queue,
            utilisation: if available > 0.0 { share.min(1.0) } else { 0.0 },
            run: Times::of(&stats.run_times),
            wait: Times::of(&stats.wait_times),
            ended_by: end.ended_by,
            exit_code: end.exit_code,
        }
    }

    /// Returns the summary as one line of JSON.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Returns the summary as text with colours.
    pub(super) fn text(&self) -> String {
        let (title, good, error, reset) = (style::TITLE, style::GOOD, style::ERROR, Reset);
        let counts = &self.counts;
        let mut text = String::new();
        let mark = if self.exit_code == 0 {
            format!("{good}done{reset}")
        } else {
            format!("{error}not all done{reset}")
        };
        let mut parts = vec![format!("{} succeeded", counts.succeeded)];
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        add(counts.failed, "failed");
        add(counts.timed_out, "of them took too long");
        add(counts.retries, "retries");
        add(counts.resumed, "done before");
        add(
            counts.failed_before,
            "failed before (--resume-failed runs them again)",
        );
        add(counts.not_run, "not run");
        add(counts.rejected, "rejected");
        let elapsed = Short(Duration::try_from_secs_f64(self.seconds).unwrap_or_default());
        let _ = writeln!(
            text,
            "{mark}  {} in {elapsed}, {:.1} a second, {} used {:.0} %",
            parts.join(", "),
            self.jobs_per_second,
            counted(self.threads, "thread"),
            self.utilisation * 100.0,
        );
        if let Some(why) = &self.ended_by {
            let _ = writeln!(text, "{title}ended{reset}: {why}");
        }
        for (name, times) in [("run", &self.run), ("wait", &self.wait)] {
            if let Some(times) = times {
                let _ = writeln!(text, "{title}{name:<5}{reset} {times}");
            }
        }
        self.list_failures(&mut text);
        text
    }

    fn list_failures(&self, text: &mut String) {
        let (error, dim, reset) = (style::ERROR, style::DIM, Reset);
        for job in &self.counts.failures {
            let attempts = match job.attempts {
                1 => String::new(),
                n => format!(", {n} attempts"),
            };
            let (seq, input) = (job.seq, job.input.escape_debug());
            let _ = writeln!(
                text,
                "{error}{seq}{reset} {input}: {}{attempts}",
                job.reason
            );
        }
        let listed = self.counts.failures.len() as u64;
        if self.counts.failed > listed {
            let more = self.counts.failed - listed;
            let _ = writeln!(
                text,
                "{dim}and {more} more; --journal records all of them{reset}"
            );
        }
    }
}
