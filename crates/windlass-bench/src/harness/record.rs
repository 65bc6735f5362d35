//! The outcome of a run: rows of figures, notices, and the line of JSON for each.

use serde_json::{Value, json};

use super::figure::Unit;
use super::point::Point;
use super::span::Span;
use crate::instruments::median;
use crate::instruments::quantile::quantile;
use crate::peers::{NoPool, Peer, Sequential};

/// One metric of one peer at one point, over all rounds.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) point: Point,
    pub(crate) metric: String,
    pub(crate) peer: String,
    pub(crate) median: f64,
    /// The 10th and the 90th percentile; a record made from a published table has none.
    pub(crate) spread: Option<(f64, f64)>,
    /// Where the median lies as far as the samples tell; not in older records.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) unit: Unit,
    pub(crate) samples: usize,
}

/// A line of the record.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// Where and how the run was made; comes first.
    Setting(Value),
    Row(Row),
    /// What the reader must know about what is missing.
    Notice(String),
}

impl Row {
    /// Gathers the values of all rounds; `name` is workload, point and peer.
    pub(crate) fn gather(
        name: (&str, &Point, &str),
        (metric, unit): (String, Unit),
        mut values: Vec<f64>,
    ) -> Self {
        let (workload, point, peer) = name;
        Self {
            workload: workload.to_owned(),
            point: point.clone(),
            metric,
            peer: peer.to_owned(),
            median: quantile(&mut values, 0.5),
            spread: Some((quantile(&mut values, 0.1), quantile(&mut values, 0.9))),
            interval: Some(median::interval(&mut values)),
            unit,
            samples: values.len(),
        }
    }

    /// Whether the row is of Windlass, plain or with an addition.
    pub(crate) fn is_ours(&self) -> bool {
        self.peer.starts_with("windlass")
    }

    /// Whether the row is of a pool of Windlass's, and not of one with an addition.
    pub(crate) fn is_pool_of_ours(&self) -> bool {
        self.is_ours() && !self.peer.contains('+')
    }

    /// Whether the row is of no pool at all and so shows what the sample costs without one: it is
    /// nobody's competitor.
    pub(crate) fn is_reference(&self) -> bool {
        self.peer == Sequential::NAME || self.peer.ends_with(NoPool::NAME)
    }

    /// The median, as a range if it is not steady.
    pub(crate) fn span(&self) -> Span {
        Span::new(self.median, self.interval)
    }

    fn to_json(&self) -> Value {
        json!({
            "workload": self.workload,
            "peer": self.peer,
            "param": self.point.to_string(),
            "metric": self.metric,
            "median": self.median,
            "p10": self.spread.map(|(low, _)| low),
            "p90": self.spread.map(|(_, high)| high),
            "low": self.interval.map(|(low, _)| low),
            "high": self.interval.map(|(_, high)| high),
            "unit": self.unit.to_string(),
            "samples": self.samples,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str();
        let number = |key: &str| value.get(key)?.as_f64();
        Some(Self {
            workload: text("workload")?.to_owned(),
            point: Point::parse(text("param")?),
            metric: text("metric")?.to_owned(),
            peer: text("peer")?.to_owned(),
            median: number("median")?,
            spread: number("p10").zip(number("p90")),
            interval: number("low").zip(number("high")),
            unit: text("unit")?.parse().ok()?,
            samples: usize::try_from(value.get("samples")?.as_u64()?).ok()?,
        })
    }
}

impl Entry {
    pub(crate) fn into_row(self) -> Option<Row> {
        match self {
            Self::Row(row) => Some(row),
            Self::Setting(_) | Self::Notice(_) => None,
        }
    }

    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::Setting(setting) => json!({ "setting": setting }).to_string(),
            Self::Row(row) => row.to_json().to_string(),
            Self::Notice(text) => json!({ "notice": text }).to_string(),
        }
    }

    /// # Errors
    ///
    /// Names the line that is none of a record.
    pub(crate) fn from_line(line: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        if let Some(setting) = value.get("setting") {
            Ok(Self::Setting(setting.clone()))
        } else if let Some(text) = value.get("notice").and_then(Value::as_str) {
            Ok(Self::Notice(text.to_owned()))
        } else {
            let row = Row::from_json(&value).ok_or_else(|| format!("not of a record: {line}"))?;
            Ok(Self::Row(row))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Row};
    use crate::harness::figure::Unit;
    use crate::harness::point::Point;

    fn row() -> Row {
        let point = Point::parse("workers=2");
        let of = ("per task".to_owned(), Unit::Nanos);
        Row::gather(("W1", &point, "windlass"), of, vec![3.0, 1.0, 2.0])
    }

    #[test]
    fn a_row_survives_its_line() {
        let line = Entry::Row(row()).to_line();
        let again = Entry::from_line(&line).unwrap();
        assert_eq!(again.to_line(), line);
    }

    #[test]
    fn a_line_has_what_readers_of_it_expect() {
        let line = Entry::Row(row()).to_line();
        for key in ["workload", "peer", "param", "median", "p10", "p90", "unit"] {
            assert!(line.contains(&format!("\"{key}\":")), "{key} in {line}");
        }
    }

    #[test]
    fn a_row_without_its_spread_can_be_read() {
        let line = r#"{"workload":"W1","peer":"rayon","param":"workers=2","metric":"per task",
            "median":2.5,"unit":"ns","samples":3}"#;
        let Ok(Entry::Row(row)) = Entry::from_line(line) else {
            panic!("it is a row");
        };
        assert_eq!((row.median, row.spread), (2.5, None));
        assert!(row.span().is_steady());
    }

    #[test]
    fn another_line_is_refused() {
        assert!(Entry::from_line("{\"a\":1}").is_err());
    }
}
