//! A measured value, and which direction is better.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The value of one metric in one sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) metric: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

/// The unit of a figure. It also determines which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Nanos,
    Micros,
    Millis,
    Bytes,
    Percent,
    Count,
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// The figure explains others and is not compared.
    Neither,
}

impl Figure {
    pub(crate) fn new(metric: &str, value: f64, unit: Unit) -> Self {
        Self {
            metric: metric.to_owned(),
            value,
            unit,
        }
    }

    /// Returns the time per item of `count`.
    pub(crate) fn per(metric: &str, elapsed: Duration, count: u64) -> Self {
        let each = elapsed.as_nanos() as f64 / count.max(1) as f64;
        Self::new(metric, each, Unit::Nanos)
    }

    pub(crate) fn micros(metric: &str, elapsed: Duration) -> Self {
        Self::new(metric, elapsed.as_nanos() as f64 / 1e3, Unit::Micros)
    }

    pub(crate) fn millis(metric: &str, elapsed: Duration) -> Self {
        Self::new(metric, elapsed.as_nanos() as f64 / 1e6, Unit::Millis)
    }

    pub(crate) fn bytes(metric: &str, total: u64, count: u64) -> Self {
        Self::new(metric, total as f64 / count.max(1) as f64, Unit::Bytes)
    }

    pub(crate) fn count(metric: &str, count: u64) -> Self {
        Self::new(metric, count as f64, Unit::Count)
    }

    /// Returns the line by which a child process reports a figure to its parent.
    pub(crate) fn to_line(&self) -> String {
        format!("{}\t{}\t{}", self.metric, self.value, self.unit)
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.split('\t');
        let metric = parts.next()?;
        let value = parts.next()?.parse().ok()?;
        let unit = parts.next()?.parse().ok()?;
        Some(Self::new(metric, value, unit))
    }
}

impl Unit {
    pub(crate) const fn better(self) -> Better {
        match self {
            Self::Nanos | Self::Micros | Self::Millis | Self::Bytes => Better::Lower,
            Self::Percent => Better::Higher,
            Self::Count => Better::Neither,
        }
    }
}

const UNITS: [(Unit, &str); 6] = [
    (Unit::Nanos, "ns"),
    (Unit::Micros, "us"),
    (Unit::Millis, "ms"),
    (Unit::Bytes, "bytes"),
    (Unit::Percent, "%"),
    (Unit::Count, "count"),
];

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = UNITS.iter().find(|(unit, _)| unit == self);
        f.pad(word.map_or("", |(_, word)| word))
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unit = UNITS.iter().find(|(_, word)| *word == text);
        unit.map(|(unit, _)| *unit)
            .ok_or_else(|| format!("no such unit: {text}"))
    }
}

/// Three digits that count, without an exponent.
pub(crate) fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::{Figure, Unit};

    #[test]
    fn a_figure_survives_its_line() {
        let figure = Figure::new("round trip p50", 12.5, Unit::Micros);
        assert_eq!(Figure::from_line(&figure.to_line()), Some(figure));
    }

    #[test]
    fn another_line_is_no_figure() {
        assert_eq!(Figure::from_line("thread panicked at"), None);
    }
}
