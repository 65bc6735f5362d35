//! One setting of a workload's parameters.
//!
//! Records and the command line write it as `workers=2,producers=1`, which is its identity; tables
//! show it [in words](Point::words).

use std::fmt;

/// The parameters that say how much is measured, not what.
pub(crate) const AMOUNTS: [&str; 3] = ["tasks", "trips", "wakes"];

/// The parameters of a sample, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point(Vec<(String, String)>);

impl Point {
    pub(crate) fn parse(text: &str) -> Self {
        let pair = |part: &str| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (key.to_owned(), value.to_owned())
        };
        Self(text.split(',').map(pair).collect())
    }

    /// The value of a parameter, if the point has it.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that is a word.
    ///
    /// # Panics
    ///
    /// Where the point has no such parameter.
    pub(crate) fn word(&self, key: &str) -> &str {
        self.get(key)
            .unwrap_or_else(|| panic!("the point {self} has no {key}"))
    }

    /// A parameter that is a number.
    ///
    /// # Panics
    ///
    /// Where the point has no such parameter, or it is no number.
    pub(crate) fn number(&self, key: &str) -> u64 {
        let word = self.word(key);
        word.parse()
            .unwrap_or_else(|_| panic!("{key}={word} is no number"))
    }

    /// A parameter that counts something in memory.
    pub(crate) fn size(&self, key: &str) -> usize {
        usize::try_from(self.number(key)).expect("sizes fit the machine")
    }

    /// The point as a reader says it: `1 producer, 2 workers, nothing captured`. How many tasks,
    /// trips or wake-ups a sample has is left out, as it is the same for a whole workload.
    pub(crate) fn words(&self) -> String {
        self.words_of(|key| !AMOUNTS.contains(&key))
    }

    /// Those parameters in words whose key passes the filter.
    pub(crate) fn words_of(&self, shown: impl Fn(&str) -> bool) -> String {
        let shown = self.0.iter().filter(|(key, _)| shown(key));
        let words = shown.map(|(key, value)| self.parameter_in_words(key, value));
        let words: Vec<_> = words.filter(|words| !words.is_empty()).collect();
        words.join(", ")
    }

    fn parameter_in_words(&self, key: &str, value: &str) -> String {
        let number = grouped(value);
        let counted = |one: &str| {
            let plural = if value == "1" { "" } else { "s" };
            format!("{number} {one}{plural}")
        };
        match (key, value) {
            ("workers", _) => counted("worker"),
            ("producers", _) => counted("producer"),
            ("tasks", _) => counted("task"),
            ("timers", _) => counted("timer"),
            ("trips", _) => counted("round trip"),
            ("wakes", _) => counted("wake-up"),
            ("captured", "0") => "nothing captured".to_owned(),
            ("captured", _) => format!("{number} bytes captured"),
            ("queued", _) => format!("{number} queued"),
            ("batches", _) => format!("{number} batches"),
            ("burst", _) => format!("bursts of {number}"),
            ("micros", "0") => "empty tasks".to_owned(),
            ("micros", _) => format!("tasks of {number} µs"),
            ("millis", _) if self.get("what") == Some("idle") => format!("for {number} ms"),
            ("millis", _) => format!("within {number} ms"),
            ("every", _) => format!("a task every {number} µs"),
            ("cores", "1") => "on one core".to_owned(),
            ("cores", _) => format!("on {number} cores"),
            ("busy", _) => format!("beside {number} busy threads"),
            ("of", _) => format!("as in {value}"),
            ("depth", _) => format!("depth {number}"),
            ("count", _) => format!("{number} of them"),
            ("policy", "caller-runs") => "the caller runs what does not fit".to_owned(),
            ("policy", _) => "producers block".to_owned(),
            ("fair", _) => "in the order of arrival".to_owned(),
            ("warm", _) => format!("after {number} of them"),
            ("n", _) if self.get("what") == Some("fib") => format!("fib({number})"),
            ("n", _) if self.get("what") == Some("tree") => format!("height {number}"),
            ("n", _) if self.get("what") == Some("leaves") => format!("{number} of them"),
            ("n", _) => format!("{number} elements"),
            ("what", "fib") => "Fibonacci numbers".to_owned(),
            ("what", "tree") => "sum of a tree".to_owned(),
            ("what", "sort") => "merge sort".to_owned(),
            ("what", "sum") => "sum of an array".to_owned(),
            ("what", "leaves") => "leaves that wait 50 ms".to_owned(),
            ("what", "far") => "due in one to two minutes".to_owned(),
            ("what", "near") => "due within a second".to_owned(),
            ("what", "now") => "abrupt shutdown".to_owned(),
            ("what", "idle") => "idle threads".to_owned(),
            ("what", "queued") if self.get("queued").is_none() => "queued tasks".to_owned(),
            ("what", "timers") => "pending timers".to_owned(),
            // Other parameters of the point say it.
            ("what", "workers" | "queued") => String::new(),
            ("what", other) => other.to_owned(),
            _ => format!("{key} {value}"),
        }
    }

    /// What kind of point it is: the parameters that are words, and the cores that it may use.
    /// Points of one kind run the same code.
    pub(crate) fn kind(&self) -> Self {
        let is_kind =
            |(key, value): &&(String, String)| key == "cores" || value.parse::<u64>().is_err();
        Self(self.0.iter().filter(is_kind).cloned().collect())
    }

    /// The point without one of its parameters, and that parameter's value, if it is a number.
    pub(crate) fn split_number(&self, key: &str) -> Option<(f64, Self)> {
        let value = self.get(key)?.parse().ok()?;
        let rest = self.0.iter().filter(|(name, _)| name != key);
        Some((value, Self(rest.cloned().collect())))
    }
}

/// The digits in groups of three, if they are digits.
fn grouped(value: &str) -> String {
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.to_owned();
    }
    let mut text = String::new();
    for (at, digit) in value.chars().enumerate() {
        if at > 0 && (value.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Point;

    #[test]
    fn a_point_is_written_as_it_was_read() {
        let text = "what=idle,workers=64";
        assert_eq!(Point::parse(text).to_string(), text);
    }

    #[test]
    fn a_point_has_words() {
        let words = |text| Point::parse(text).words();
        assert_eq!(
            words("producers=1,workers=2,captured=0,tasks=500000"),
            "1 producer, 2 workers, nothing captured"
        );
        assert_eq!(
            words("what=far,timers=1000000"),
            "due in one to two minutes, 1,000,000 timers"
        );
        assert_eq!(
            words("what=queued,workers=2,queued=10,tasks=400000"),
            "2 workers, 10 queued"
        );
    }

    #[test]
    fn every_point_of_a_full_run_has_words_of_its_own() {
        for workload in crate::workloads::all() {
            let points = (workload.points)(crate::harness::workload::Size::Full);
            let words: std::collections::BTreeSet<_> = points.iter().map(Point::words).collect();
            assert_eq!(words.len(), points.len(), "{}: {words:?}", workload.id);
            assert!(words.iter().all(|words| !words.contains('=')), "{words:?}");
        }
    }

    #[test]
    fn points_of_one_kind_differ_in_numbers_only() {
        let kind = |text| Point::parse(text).kind().to_string();
        assert_eq!(kind("what=idle,workers=64"), "what=idle");
        assert_eq!(kind("of=W1,workers=2,cores=1"), "of=W1,cores=1");
        assert_eq!(kind("workers=64"), "");
    }

    #[test]
    fn a_number_can_be_split_off() {
        let (workers, rest) = Point::parse("what=idle,workers=64")
            .split_number("workers")
            .unwrap();
        assert_eq!((workers, rest.to_string().as_str()), (64.0, "what=idle"));
    }
}
