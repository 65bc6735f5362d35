//! The options of `windlass size`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::load::{Arrivals, Service};
use super::model::OnSaturation;
use crate::duration::{parse, parse_positive};

/// More threads than any system runs; what has more cannot be simulated in memory.
pub(super) const MAX_THREADS: usize = 1_000_000;

/// More tasks would take minutes and gigabytes, and make the figures no better.
const MAX_TASKS: u64 = 50_000_000;

/// The options of `windlass size`.
#[derive(Debug, Clone, Args)]
pub struct SizeOptions {
    /// How long a task waits for something else: a disk, a database, another service
    #[arg(long, value_name = "TIME", value_parser = parse, requires = "compute", help_heading = "Formula")]
    pub wait: Option<Duration>,

    /// How long a task keeps a processor busy
    #[arg(long, value_name = "TIME", value_parser = parse_positive, help_heading = "Formula")]
    pub compute: Option<Duration>,

    /// Measure both by running this command
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["wait", "compute"], help_heading = "Formula")]
    pub measure: Option<String>,

    /// How often the command is measured
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        requires = "measure",
        help_heading = "Formula"
    )]
    pub runs: NonZeroUsize,

    /// Processors [default: those of this machine]
    #[arg(long, value_name = "N", help_heading = "Formula")]
    pub cores: Option<NonZeroUsize>,

    /// The share of the processors that the pool should use, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, help_heading = "Formula")]
    pub utilisation: f64,

    /// Simulate a pool with this many tasks a second
    #[arg(long, value_name = "PER_SECOND", value_parser = rate, help_heading = "Simulation")]
    pub rate: Option<f64>,

    /// How tasks arrive
    #[arg(
        long,
        value_name = "HOW",
        default_value = "poisson",
        help_heading = "Simulation"
    )]
    pub arrivals: Arrivals,

    /// How long a task takes on average [default: --wait and --compute, or what was measured]
    #[arg(long, value_name = "TIME", value_parser = parse_positive, help_heading = "Simulation")]
    pub service: Option<Duration>,

    /// How these times are distributed
    #[arg(
        long,
        value_name = "HOW",
        default_value = "exponential",
        help_heading = "Simulation"
    )]
    pub distribution: Service,

    /// Standard deviation of lognormal times, as a share of their mean
    #[arg(long, value_name = "SHARE", default_value_t = 1.5, value_parser = positive, help_heading = "Simulation")]
    pub variation: f64,

    /// Threads of the pool [default: what the formula says]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "Simulation")]
    pub threads: Option<NonZeroUsize>,

    /// Threads at most, if that is more than --threads; the pool grows when its queue is full
    #[arg(long, value_name = "N", value_parser = threads, help_heading = "Simulation")]
    pub max_threads: Option<NonZeroUsize>,

    /// How long a thread beyond --threads is idle before it ends
    #[arg(long, value_name = "TIME", value_parser = parse, default_value = "60s", help_heading = "Simulation")]
    pub keep_alive: Duration,

    /// Bound of the queue; 0 hands tasks over directly [default: no bound]
    #[arg(short = 'q', long, value_name = "N", help_heading = "Simulation")]
    pub queue: Option<usize>,

    /// What happens when the queue is full
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "abort",
        help_heading = "Simulation"
    )]
    pub when_full: OnSaturation,

    /// Find the fewest threads with which 99 of 100 tasks wait no longer than this
    #[arg(long, value_name = "TIME", value_parser = parse, conflicts_with_all = ["threads", "max_threads"], help_heading = "Simulation")]
    pub target: Option<Duration>,

    /// How many tasks are simulated
    #[arg(
        long,
        value_name = "N",
        default_value = "200000",
        value_parser = tasks,
        help_heading = "Simulation"
    )]
    pub tasks: NonZeroU64,

    /// Another seed gives other random numbers
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Simulation"
    )]
    pub seed: u64,

    /// Write a picture to this file
    #[arg(long, value_name = "FILE", requires = "rate", help_heading = "Output")]
    pub svg: Option<PathBuf>,

    /// Print the figures as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("must be a number above zero".to_owned()),
    }
}

/// A rate between one task in thirty years and one in a picosecond: beyond that, times have no meaning.
fn rate(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|rate| (1e-9..=1e12).contains(rate))
        .ok_or_else(|| "must be a number of tasks a second, from 1e-9 to 1e12".to_owned())
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .ok()
        .filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS)
        .ok_or_else(|| format!("must be a number from 1 to {MAX_THREADS}"))
}

fn tasks(text: &str) -> Result<NonZeroU64, String> {
    text.parse()
        .ok()
        .filter(|tasks: &NonZeroU64| tasks.get() <= MAX_TASKS)
        .ok_or_else(|| format!("must be a number from 1 to {MAX_TASKS}"))
}

fn share(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| "must be above 0, and 1 at most".to_owned())
}
