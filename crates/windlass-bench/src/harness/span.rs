//! A figure, or a ratio of two, with the range in which it lies if that is wide.

use std::fmt;

use super::figure::digits;

/// A median whose interval is wider than this factor is not steady: it is shown as a range.
pub(crate) const STEADY: f64 = 1.25;

/// Differences below this do not count, whatever the unit: they do not show in two decimals, and a
/// figure near zero would never be steady.
const NOTHING: f64 = 0.05;

/// A value between two others; all three are the same if the value is steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
}

impl Span {
    /// A value within an interval, which counts only where it is wide.
    pub(crate) fn new(middle: f64, interval: Option<(f64, f64)>) -> Self {
        let wide = interval.filter(|(low, high)| *high > STEADY * *low + NOTHING);
        let (low, high) = wide.unwrap_or((middle, middle));
        Self { low, middle, high }
    }

    /// Whether the value is no range.
    pub(crate) fn is_steady(self) -> bool {
        self.low == self.high
    }

    /// What this is to another; as a range if one of them is.
    pub(crate) fn over(self, other: Self) -> Self {
        Self {
            low: self.low / other.high,
            middle: self.middle / other.middle,
            high: self.high / other.low,
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&digits(self.middle))?;
        if self.is_steady() {
            return Ok(());
        }
        write!(f, " ({}–{})", digits(self.low), digits(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_narrow_interval_is_no_range() {
        let steady = Span::new(10.0, Some((9.0, 11.0)));
        assert!(steady.is_steady());
        assert_eq!(steady.to_string(), "10.0");
        assert!(Span::new(10.0, None).is_steady());
    }

    #[test]
    fn next_to_nothing_is_steady() {
        assert!(Span::new(0.0, Some((0.0, 0.04))).is_steady());
    }

    #[test]
    fn a_wide_interval_is_shown_with_its_ends() {
        let span = Span::new(10.0, Some((8.0, 16.0)));
        assert_eq!(span.to_string(), "10.0 (8.00–16.0)");
    }

    #[test]
    fn a_ratio_is_a_range_if_one_side_is() {
        let (steady, range) = (Span::new(4.0, None), Span::new(10.0, Some((8.0, 16.0))));
        assert_eq!(steady.over(steady).to_string(), "1.00");
        assert_eq!(steady.over(range).to_string(), "0.40 (0.25–0.50)");
        assert_eq!(range.over(steady).to_string(), "2.50 (2.00–4.00)");
    }
}
