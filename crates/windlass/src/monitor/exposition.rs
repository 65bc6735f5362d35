//! The figures in the text format of Prometheus, written by hand.

use std::fmt::{self, Write};

use super::metric_table::{MICROMETER, Metric, Read, WINDLASS};
use super::view::PoolView;
use crate::times::Histogram;

/// Which names the figures have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Exposition {
    /// Those of this library, `windlass_…`, with the name of the executor in the label `pool`.
    #[default]
    Windlass,
    /// Those of this library and those that Micrometer gives to the executors of Java, `executor_…`, with the
    /// label `name`, so that boards for those show these.
    Micrometer,
}

/// Returns the figures of these executors in the text format of Prometheus, version 0.0.4.
///
/// A metric that no executor has is left out. Names of executors are escaped.
///
/// ```
/// use windlass::monitor::{Exposition, Monitor, Registry, expose};
/// use windlass::prelude::*;
///
/// let registry = Registry::new();
/// let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(2).build().unwrap();
/// registry.register(&pool);
/// let monitor = Monitor::start(&registry).unwrap();
/// let text = expose(&monitor.pools(), Exposition::Windlass);
/// assert!(text.contains("windlass_pool_threads_core{pool=\"web\"} 2\n"));
/// ```
#[must_use]
pub fn expose(pools: &[PoolView], exposition: Exposition) -> String {
    let mut text = String::new();
    let mut page = Page {
        text: &mut text,
        label: "pool",
    };
    page.metrics(WINDLASS, pools);
    if exposition == Exposition::Micrometer {
        page.label = "name";
        page.metrics(MICROMETER, pools);
    }
    text
}

/// The text so far.
struct Page<'a> {
    text: &'a mut String,
    /// The label that has the name of the executor.
    label: &'static str,
}

impl Page<'_> {
    fn metrics(&mut self, metrics: &[Metric], pools: &[PoolView]) {
        for metric in metrics {
            self.metric(metric, pools);
        }
    }

    fn metric(&mut self, metric: &Metric, pools: &[PoolView]) {
        let start = self.text.len();
        let kind = match metric.read {
            Read::Gauge(_) | Read::Gauges(..) => "gauge",
            Read::Counter(_) | Read::Counters(..) => "counter",
            Read::Histogram(_) => "histogram",
        };
        let Metric { name, help, .. } = metric;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        let head = self.text.len();
        for pool in pools {
            self.values(metric, pool);
        }
        if self.text.len() == head {
            self.text.truncate(start);
        }
    }

    fn values(&mut self, metric: &Metric, pool: &PoolView) {
        let (name, label) = (metric.name, self.label);
        let owner = Escaped(&pool.name);
        match metric.read {
            Read::Gauge(read) => {
                if let Some(value) = read(pool).map(Number) {
                    self.write(format_args!("{name}{{{label}=\"{owner}\"}} {value}\n"));
                }
            }
            Read::Counter(read) => {
                if let Some(value) = read(pool) {
                    self.write(format_args!("{name}{{{label}=\"{owner}\"}} {value}\n"));
                }
            }
            Read::Gauges(more, read) => {
                for (which, value) in read(pool) {
                    let value = Number(value);
                    self.write(format_args!(
                        "{name}{{{label}=\"{owner}\",{more}=\"{which}\"}} {value}\n"
                    ));
                }
            }
            Read::Counters(more, read) => {
                for (which, value) in read(pool) {
                    self.write(format_args!(
                        "{name}{{{label}=\"{owner}\",{more}=\"{which}\"}} {value}\n"
                    ));
                }
            }
            Read::Histogram(read) => {
                if let Some(histogram) = read(pool) {
                    self.histogram(name, &owner, histogram);
                }
            }
        }
    }

    fn histogram(&mut self, name: &str, owner: &Escaped<'_>, histogram: &Histogram) {
        let label = self.label;
        for (bound, count) in histogram.buckets() {
            let bound = Number(bound.as_secs_f64());
            self.write(format_args!(
                "{name}_bucket{{{label}=\"{owner}\",le=\"{bound}\"}} {count}\n"
            ));
        }
        let (sum, count) = (Number(histogram.sum().as_secs_f64()), histogram.count());
        self.write(format_args!(
            "{name}_bucket{{{label}=\"{owner}\",le=\"+Inf\"}} {count}\n\
             {name}_sum{{{label}=\"{owner}\"}} {sum}\n\
             {name}_count{{{label}=\"{owner}\"}} {count}\n"
        ));
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.text.write_fmt(text);
    }
}

/// The value of a label: backslashes, quotes and line feeds are escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A number as Prometheus writes it.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == f64::INFINITY {
            f.write_str("+Inf")
        } else {
            self.0.fmt(f)
        }
    }
}
