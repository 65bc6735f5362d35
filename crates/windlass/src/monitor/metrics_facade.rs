//! The figures for the `metrics` crate: absolute counters and gauges, each second.

use std::io;
use std::sync::Arc;

use metrics::{counter, gauge};

use super::metric_table::{Metric, Read, WINDLASS};
use super::service::Monitor;
use super::sinks::Event;
use super::view::PoolView;

impl Monitor {
    /// Publishes the figures through the recorder of the [`metrics`] crate after each sample, on a thread of
    /// its own.
    ///
    /// The names are those of [`expose`](super::expose), with the label `pool`. Of times, which the crate
    /// cannot be told as a whole, the quantiles of the last ten seconds are published as gauges with the
    /// label `quantile`.
    ///
    /// The crate has no way to take a metric back: the gauges of a pool that has ended keep their last values.
    /// Most exporters can leave out what was not set for some time.
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn publish_metrics(&self) -> io::Result<()> {
        let monitor = self.downgrade();
        self.on_event(move |event| {
            if matches!(event, Event::Sampled) {
                if let Some(monitor) = monitor.upgrade() {
                    monitor.pools().iter().for_each(publish);
                }
            }
        })
    }
}

fn publish(pool: &PoolView) {
    for metric in WINDLASS {
        publish_metric(metric, pool);
    }
    let times = [
        ("windlass_pool_task_wait_seconds", pool.wait),
        ("windlass_pool_task_run_seconds", pool.run),
    ];
    for (name, quantiles) in times {
        let Some(times) = quantiles else { continue };
        let quantiles = [
            ("0.5", times.p50),
            ("0.9", times.p90),
            ("0.99", times.p99),
            ("0.999", times.p999),
            ("1", times.max),
        ];
        for (quantile, time) in quantiles {
            let owner = Arc::clone(&pool.name);
            gauge!(name, "pool" => owner, "quantile" => quantile).set(time.as_secs_f64());
        }
    }
}

fn publish_metric(metric: &Metric, pool: &PoolView) {
    let name = metric.name;
    let owner = || Arc::clone(&pool.name);
    match metric.read {
        Read::Gauge(read) => {
            if let Some(value) = read(pool) {
                gauge!(name, "pool" => owner()).set(value);
            }
        }
        Read::Counter(read) => {
            if let Some(value) = read(pool) {
                counter!(name, "pool" => owner()).absolute(value);
            }
        }
        Read::Gauges(label, read) => {
            for (which, value) in read(pool) {
                gauge!(name, "pool" => owner(), label => which).set(value);
            }
        }
        Read::Counters(label, read) => {
            for (which, value) in read(pool) {
                counter!(name, "pool" => owner(), label => which).absolute(value);
            }
        }
        // See above.
        Read::Histogram(_) => {}
    }
}
