//! The quantiles of a histogram, as a console shows them.

use std::time::Duration;

use crate::times::Histogram;

/// The quantiles of the durations in a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quantiles {
    /// How many tasks they are of.
    pub count: u64,
    /// The median.
    pub p50: Duration,
    /// What nine of ten do not exceed.
    pub p90: Duration,
    /// What 99 of 100 do not exceed.
    pub p99: Duration,
    /// What 999 of 1000 do not exceed.
    pub p999: Duration,
    /// The longest.
    pub max: Duration,
    /// The mean.
    pub mean: Duration,
    /// How many tasks one measurement stands for, on average.
    pub sampled_every: u64,
}

impl Quantiles {
    /// Returns the quantiles of a histogram; `None` if it has no samples.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            p50: histogram.quantile(0.5)?,
            p90: histogram.quantile(0.9)?,
            p99: histogram.quantile(0.99)?,
            p999: histogram.quantile(0.999)?,
            max: histogram.max()?,
            mean: histogram.mean()?,
            sampled_every: histogram.sampled_every(),
        })
    }
}
