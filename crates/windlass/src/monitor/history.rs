//! The past of an executor: a ring of one-second points and one of one-minute points.
//!
//! A point is 18 figures and a time, 160 bytes: 900 seconds and 1440 minutes are at most 375 kB for each
//! executor. The rings grow as they are filled, and never beyond the points that they keep.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::view::{History, HistorySpan};

/// How many points of a second are kept: a quarter of an hour.
const SECONDS: usize = 900;
/// How many points of a minute are kept: a day.
const MINUTES: usize = 1440;

/// The series, in the order of the figures of a point.
pub(super) const SERIES: [&str; 18] = [
    "active",
    "size",
    "core",
    "max",
    "queue",
    "queue_peak",
    "capacity",
    "submitted",
    "completed",
    "failed",
    "rejected",
    "steals",
    "wait_p50",
    "wait_p90",
    "wait_p99",
    "run_p50",
    "run_p90",
    "run_p99",
];

/// The index of the first figure that is not averaged over a minute but computed for it.
pub(super) const FIRST_QUANTILE: usize = 12;
const QUEUE_PEAK: usize = 5;
/// How many points there is memory for at first.
const SMALL: usize = 64;

/// The figures of one time, in the order of [`SERIES`]; not a number where nothing was measured.
pub(super) type Point = [f64; SERIES.len()];

/// The past of one executor.
#[derive(Debug, Default)]
pub(super) struct Past {
    seconds: Ring,
    minutes: Ring,
    /// The sums over the present minute.
    sums: Sums,
}

#[derive(Debug, Default)]
struct Ring {
    times: VecDeque<SystemTime>,
    columns: [VecDeque<f64>; SERIES.len()],
}

#[derive(Debug)]
struct Sums {
    /// How many seconds have each figure.
    points: [u32; SERIES.len()],
    figures: Point,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            points: [0; SERIES.len()],
            figures: [f64::NAN; SERIES.len()],
        }
    }
}

impl Past {
    /// Adds the point of a second.
    pub(super) fn add_second(&mut self, at: SystemTime, point: &Point) {
        self.seconds.push(at, point, SECONDS);
        let sums = self.sums.figures.iter_mut().zip(&mut self.sums.points);
        for (at, ((sum, points), value)) in sums.zip(point).enumerate() {
            if value.is_nan() {
                continue;
            }
            *points += 1;
            *sum = match at {
                _ if sum.is_nan() => *value,
                QUEUE_PEAK => sum.max(*value),
                _ => *sum + value,
            };
        }
    }

    /// Adds the point of the minute that ends now, with these quantiles.
    pub(super) fn end_minute(
        &mut self,
        at: SystemTime,
        quantiles: &[f64; SERIES.len() - FIRST_QUANTILE],
    ) {
        let sums = std::mem::take(&mut self.sums);
        let mut point = sums.figures;
        for (mean, points) in point.iter_mut().zip(sums.points) {
            // Not a number if there was none.
            *mean /= f64::from(points.max(1));
        }
        point[QUEUE_PEAK] = sums.figures[QUEUE_PEAK];
        point[FIRST_QUANTILE..].copy_from_slice(quantiles);
        self.minutes.push(at, &point, MINUTES);
    }

    pub(super) fn read(&self, span: HistorySpan, is_scheduled: bool) -> History {
        let (ring, step, count) = match span {
            HistorySpan::Seconds(count) => (&self.seconds, Duration::from_secs(1), count),
            HistorySpan::Minutes(count) => (&self.minutes, Duration::from_secs(60), count),
        };
        let mut history = ring.last(count, step);
        if is_scheduled {
            // The wait of a scheduled task is counted from when it was due.
            let wait = history.series.iter().find(|(name, _)| *name == "wait_p99");
            if let Some((_, lateness)) = wait.cloned() {
                history.series.push(("lateness_p99", lateness));
            }
        }
        history
    }

    /// Returns the last values of a series of seconds, oldest first.
    pub(super) fn last_values(&self, series: &str, count: usize) -> Vec<usize> {
        let Some(at) = SERIES.iter().position(|name| *name == series) else {
            return Vec::new();
        };
        let column = &self.seconds.columns[at];
        let skipped = column.len().saturating_sub(count);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was a count"
        )]
        let values = column.iter().skip(skipped).map(|value| *value as usize);
        values.collect()
    }
}

impl Ring {
    fn push(&mut self, at: SystemTime, point: &Point, kept: usize) {
        if self.times.len() == kept {
            self.times.pop_front();
            for column in &mut self.columns {
                column.pop_front();
            }
        }
        push_within(&mut self.times, at, kept);
        for (column, value) in self.columns.iter_mut().zip(point) {
            push_within(column, *value, kept);
        }
    }

    fn last(&self, count: usize, step: Duration) -> History {
        let skipped = self.times.len().saturating_sub(count);
        let column = |column: &VecDeque<f64>| {
            let values = column.iter().skip(skipped);
            values
                .map(|value| (!value.is_nan()).then_some(*value))
                .collect()
        };
        History {
            step,
            times: self.times.iter().skip(skipped).copied().collect(),
            series: SERIES
                .into_iter()
                .zip(self.columns.iter().map(column))
                .collect(),
        }
    }
}

/// Adds a value to a column of at most `kept`, with no more memory than these need.
fn push_within<T>(column: &mut VecDeque<T>, value: T, kept: usize) {
    let len = column.len();
    if len == column.capacity() {
        column.reserve_exact(len.max(SMALL).min(kept.saturating_sub(len).max(1)));
    }
    column.push_back(value);
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{FIRST_QUANTILE, MINUTES, Past, Point, SECONDS, SERIES};
    use crate::monitor::view::HistorySpan;

    const NO_QUANTILES: [f64; SERIES.len() - FIRST_QUANTILE] =
        [f64::NAN; SERIES.len() - FIRST_QUANTILE];

    fn point(active: f64, peak: f64) -> Point {
        let mut point = [f64::NAN; SERIES.len()];
        point[0] = active;
        point[5] = peak;
        point
    }

    #[test]
    fn the_rings_keep_a_quarter_of_an_hour_and_a_day() {
        let mut past = Past::default();
        let start = SystemTime::UNIX_EPOCH;
        for second in 0..(MINUTES as u64 + 10) * 60 {
            let at = start + Duration::from_secs(second);
            past.add_second(at, &point(second as f64, 0.0));
            if second % 60 == 59 {
                past.end_minute(at, &NO_QUANTILES);
            }
        }
        let seconds = past.read(HistorySpan::Seconds(usize::MAX), false);
        let minutes = past.read(HistorySpan::Minutes(usize::MAX), false);
        assert_eq!(
            (seconds.times.len(), minutes.times.len()),
            (SECONDS, MINUTES)
        );
        assert!(
            seconds
                .series
                .iter()
                .all(|(_, values)| values.len() == SECONDS)
        );
        let rings = [(&past.seconds, SECONDS), (&past.minutes, MINUTES)];
        for (ring, kept) in rings {
            assert_eq!(ring.times.capacity(), kept);
            assert!(ring.columns.iter().all(|column| column.capacity() == kept));
        }
        let last = (MINUTES as f64 + 10.0) * 60.0 - 1.0;
        assert_eq!(seconds.series[0].1.last(), Some(&Some(last)));
    }

    #[test]
    fn a_minute_has_the_mean_of_its_seconds_and_the_highest_peak() {
        let mut past = Past::default();
        for (active, peak) in [(2.0, 3.0), (4.0, 9.0), (6.0, 1.0)] {
            past.add_second(SystemTime::UNIX_EPOCH, &point(active, peak));
        }
        past.end_minute(SystemTime::UNIX_EPOCH, &NO_QUANTILES);
        let minute = past.read(HistorySpan::Minutes(1), false);
        assert_eq!(minute.series[0].1, [Some(4.0)]);
        assert_eq!(minute.series[5].1, [Some(9.0)]);
        // What was never measured is no zero.
        assert_eq!(minute.series[7].1, [None]);
    }

    /// WL-487
    #[test]
    fn a_minute_has_the_mean_of_the_seconds_that_were_measured() {
        let mut past = Past::default();
        for active in [6.0, f64::NAN, 2.0] {
            past.add_second(SystemTime::UNIX_EPOCH, &point(active, f64::NAN));
        }
        past.end_minute(SystemTime::UNIX_EPOCH, &NO_QUANTILES);
        let minute = past.read(HistorySpan::Minutes(1), false);
        assert_eq!(minute.series[0].1, [Some(4.0)]);
        assert_eq!(minute.series[5].1, [None]);
    }
}
