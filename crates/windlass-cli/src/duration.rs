//! Times as people write them: `250ms`, `1.5s`, `2m`, `1h`.

use std::fmt;
use std::time::Duration;

/// The units, longest suffix first so that `ms` is not read as `m`.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];

/// Parses a time; a number without a unit is in seconds.
///
/// ```
/// use std::time::Duration;
/// use windlass_cli::duration::parse;
///
/// assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
/// assert_eq!(parse("1.5"), Ok(Duration::from_millis(1500)));
/// assert!(parse("soon").is_err());
/// ```
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let (number, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((trimmed.strip_suffix(unit)?, *factor)))
        .unwrap_or((trimmed, 1.0));
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is not a time; write 250ms, 1.5s, 2m or 1h"))?;
    Duration::try_from_secs_f64(number * factor)
        .map_err(|_| format!("{text:?} is negative or too long for a time"))
}

/// Parses a time that must not be zero.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    let duration = parse(text)?;
    if duration.is_zero() {
        return Err("must be longer than nothing".to_owned());
    }
    Ok(duration)
}

/// A time with three digits and the unit that suits it.
///
/// ```
/// use std::time::Duration;
/// use windlass_cli::duration::Short;
///
/// assert_eq!(Short(Duration::from_micros(1234)).to_string(), "1.23 ms");
/// assert_eq!(Short(Duration::from_secs(754)).to_string(), "12m 34s");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let whole = self.0.as_secs();
        match seconds {
            0.0 => f.pad("0 s"),
            s if s < 1e-6 => f.pad(&format!("{} ns", self.0.as_nanos())),
            s if s < 1e-3 => f.pad(&format!("{} us", digits(s * 1e6))),
            s if s < 1.0 => f.pad(&format!("{} ms", digits(s * 1e3))),
            s if s < 60.0 => f.pad(&format!("{} s", digits(s))),
            s if s < 3600.0 => f.pad(&format!("{}m {:02}s", whole / 60, whole % 60)),
            _ => f.pad(&format!("{}h {:02}m", whole / 3600, whole / 60 % 60)),
        }
    }
}

fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Short, parse, parse_positive};

    #[test]
    fn every_unit_is_understood() {
        let cases = [
            ("3ns", Duration::from_nanos(3)),
            ("3us", Duration::from_micros(3)),
            ("3ms", Duration::from_millis(3)),
            ("3s", Duration::from_secs(3)),
            ("3", Duration::from_secs(3)),
            ("2m", Duration::from_secs(120)),
            ("1h", Duration::from_secs(3600)),
            ("1d", Duration::from_secs(86400)),
            (" 1.5 s", Duration::from_millis(1500)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        for text in ["", "s", "-1s", "nan", "inf", "1x", "1e300h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_positive("0").is_err());
    }

    #[test]
    fn a_time_is_shown_with_three_digits() {
        let shown = [1.0e-7, 2.5e-5, 0.0999, 9.999, 59.94, 61.0, 7261.0]
            .map(|s| Short(Duration::from_secs_f64(s)).to_string());
        assert_eq!(
            shown,
            [
                "100 ns", "25.0 us", "99.9 ms", "10.0 s", "59.9 s", "1m 01s", "2h 01m"
            ]
        );
    }
}
