//! Quantiles in seconds.

use serde::Serialize;
use windlass::monitor;

#[derive(Serialize)]
pub(super) struct Quantiles {
    count: u64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
    mean: f64,
    sampled_every: u64,
}

impl From<monitor::Quantiles> for Quantiles {
    fn from(quantiles: monitor::Quantiles) -> Self {
        Self {
            count: quantiles.count,
            p50: quantiles.p50.as_secs_f64(),
            p90: quantiles.p90.as_secs_f64(),
            p99: quantiles.p99.as_secs_f64(),
            p999: quantiles.p999.as_secs_f64(),
            max: quantiles.max.as_secs_f64(),
            mean: quantiles.mean.as_secs_f64(),
            sampled_every: quantiles.sampled_every.max(1),
        }
    }
}
