//! Histograms of durations: a snapshot, and the buckets that one thread writes.
//!
//! Each power of two of microseconds is divided into four buckets, so the middle of a bucket is within
//! 12.5 % of what is in it. The buckets are counted in units of a sixteenth of a microsecond: the division
//! goes on below a microsecond, down to a quarter of it.

use std::fmt;
// From `std` and not from `sync`: these figures order nothing, and a model would only spend time on them.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The powers of two that are divided: from a quarter of a microsecond to 9.5 hours.
const POWERS: usize = 37;

/// The buckets: four below the first power, four for each, and one for what is longer.
const BUCKETS: usize = 4 * (POWERS + 1) + 1;

/// The bounds that [`Histogram::buckets`] returns: 1 µs to 8.4 s.
const BOUNDS: usize = 24;

/// Returns the number of units in a duration.
const fn units(nanos: u64) -> u64 {
    // 62.5 ns each.
    nanos / 125 * 2 + (nanos % 125) * 2 / 125
}

/// Returns the bucket of a duration.
const fn bucket(nanos: u64) -> usize {
    let units = units(nanos);
    if units < 4 {
        return units as usize;
    }
    let power = units.ilog2();
    let quarter = (units >> (power - 2)) & 3;
    let bucket = 4 * (power as usize - 1) + quarter as usize;
    if bucket < BUCKETS {
        bucket
    } else {
        BUCKETS - 1
    }
}

/// Returns the shortest duration of a bucket, in nanoseconds.
const fn lower_bound(bucket: usize) -> u64 {
    let units = match bucket {
        0..4 => bucket as u64,
        _ => (4 + bucket as u64 % 4) << (bucket / 4 - 1),
    };
    units * 125 / 2
}

/// A snapshot of a distribution of durations: how many, and the quantiles to within 12.5 %, from a
/// quarter of a microsecond to 9.5 hours.
///
/// Not every task may have been timed; see [`Times`](crate::pool::Times). Each that was counts for those
/// that were not, so that counts and quantiles are estimates for all tasks:
/// [`sampled_every`](Self::sampled_every) tells how many one sample stands for on average.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let sums: Vec<_> = (0..100_u64).map(|n| pool.submit(move || (0..n).sum::<u64>())).collect();
/// pool.close();
/// let stats = pool.stats();
/// println!("waited {}", stats.wait_times); // 100 tasks: p50 12µs, p90 31µs, p99 47µs, max 51µs
/// assert!(stats.run_times.quantile(0.99) <= stats.run_times.max());
/// # drop(sums);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Empty if there are no samples.
    counts: Vec<u64>,
    samples: u64,
    /// In nanoseconds.
    sum: u128,
    /// In nanoseconds.
    max: u64,
}

impl Histogram {
    /// Returns the number of tasks that the samples stand for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the number of tasks that were timed.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns how many tasks one sample stands for on average: one if every task was timed.
    #[must_use]
    pub fn sampled_every(&self) -> u64 {
        (self.count() / self.samples.max(1)).max(1)
    }

    /// Returns the sum of the durations.
    #[must_use]
    pub fn sum(&self) -> Duration {
        duration(self.sum)
    }

    /// Returns the mean; `None` if there are no samples.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count()));
        mean.map(duration)
    }

    /// Returns the longest duration that was sampled, exactly; `None` if there are no samples.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.samples > 0).then(|| Duration::from_nanos(self.max))
    }

    /// Returns the duration that this fraction of the tasks does not exceed: 0.5 for the median, 0.99 for
    /// the 99th percentile. `None` if there are no samples, or the fraction is not between 0 and 1.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let count = self.count();
        if count == 0 || !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a rank, of which only the first digits matter"
        )]
        let rank = ((count as f64 * fraction).ceil() as u64).clamp(1, count);
        if rank == count {
            return self.max();
        }
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        let middle = match bucket {
            last if last == BUCKETS - 1 => self.max,
            bucket => u64::midpoint(lower_bound(bucket), lower_bound(bucket + 1)),
        };
        Some(Duration::from_nanos(middle.min(self.max)))
    }

    /// Returns the cumulative counts for 24 bounds, powers of two from 1 µs to 8.4 s: how many tasks took
    /// less than each. [`count`](Self::count) is that for infinity. The format of a Prometheus histogram.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        // 1 µs is 16 units.
        let first = bucket(1_000);
        let mut below = self.counts.iter().take(first).sum::<u64>();
        (0..BOUNDS).map(move |power| {
            if power > 0 {
                let at = first + 4 * (power - 1);
                below += self.counts.iter().skip(at).take(4).sum::<u64>();
            }
            (Duration::from_micros(1 << power), below)
        })
    }

    /// Returns what was added since an earlier snapshot of the same histogram: the distribution in a window of
    /// time.
    ///
    /// The maximum is exact if it is that of the window; else it is no less than that, and no more than the
    /// end of the bucket of the longest duration in the window.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// pool.submit(|| ()).unwrap().join().unwrap();
    /// pool.submit(|| ()).unwrap().join().unwrap();
    /// let earlier = pool.stats().run_times;
    /// pool.close();
    /// let later = pool.stats().run_times;
    /// assert_eq!(later.since(&earlier).count(), later.count() - earlier.count());
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let samples = self.samples.saturating_sub(earlier.samples);
        if samples == 0 {
            return Self::default();
        }
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        let pairs = self.counts.iter().zip(before);
        let counts: Vec<_> = pairs
            .map(|(now, before)| now.saturating_sub(before))
            .collect();
        let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let max = if self.max > earlier.max || last == BUCKETS - 1 {
            self.max
        } else {
            self.max.min(lower_bound(last + 1))
        };
        Self {
            counts,
            samples,
            sum: self.sum.saturating_sub(earlier.sum),
            max,
        }
    }

    /// Returns how many tasks took at least this long, to within the bucket that it is in: all of that bucket
    /// are counted, unless none took as long.
    #[must_use]
    pub fn count_from(&self, duration: Duration) -> u64 {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if nanos > self.max {
            return 0;
        }
        self.counts.iter().skip(bucket(nanos)).sum()
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        self.counts.resize(BUCKETS, 0);
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own += other;
        }
        self.samples += other.samples;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

fn duration(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Has the count, the quantiles and the maximum.
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks", self.count())?;
        let (Some(median), Some(max)) = (self.quantile(0.5), self.max()) else {
            return Ok(());
        };
        write!(f, ": p50 {median:.1?}")?;
        for (name, fraction) in [("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            let quantile = self.quantile(fraction).unwrap_or(max);
            write!(f, ", {name} {quantile:.1?}")?;
        }
        write!(f, ", max {max:.1?}")?;
        match self.sampled_every() {
            1 => Ok(()),
            every => write!(f, " (one in {every} timed)"),
        }
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({self})")
    }
}

/// The buckets that one thread writes and others read, without a lock.
#[derive(Debug)]
pub(crate) struct Buckets {
    counts: [AtomicU64; BUCKETS],
    samples: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            samples: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

impl Buckets {
    /// Counts a duration that stands for this many. Called by one thread only.
    pub(crate) fn record(&self, nanos: u64, weight: u64) {
        add(&self.counts[bucket(nanos)], weight);
        add(&self.sum, nanos.saturating_mul(weight));
        add(&self.samples, 1);
        if nanos > self.max.load(Ordering::Relaxed) {
            self.max.store(nanos, Ordering::Relaxed);
        }
    }

    /// Adds the counts to a snapshot.
    pub(crate) fn add_to(&self, histogram: &mut Histogram) {
        let samples = self.samples.load(Ordering::Relaxed);
        if samples == 0 {
            return;
        }
        histogram.counts.resize(BUCKETS, 0);
        for (sum, own) in histogram.counts.iter_mut().zip(&self.counts) {
            *sum += own.load(Ordering::Relaxed);
        }
        histogram.samples += samples;
        histogram.sum += u128::from(self.sum.load(Ordering::Relaxed));
        histogram.max = histogram.max.max(self.max.load(Ordering::Relaxed));
    }
}

/// Adds to a figure that only this thread writes: a load and a store.
fn add(figure: &AtomicU64, more: u64) {
    let sum = figure.load(Ordering::Relaxed).saturating_add(more);
    figure.store(sum, Ordering::Relaxed);
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{BUCKETS, Buckets, Histogram, bucket, lower_bound};

    fn of(nanos: impl IntoIterator<Item = (u64, u64)>) -> Histogram {
        let buckets = Buckets::default();
        for (nanos, weight) in nanos {
            buckets.record(nanos, weight);
        }
        let mut histogram = Histogram::default();
        buckets.add_to(&mut histogram);
        histogram
    }

    #[test]
    fn buckets_meet_without_gaps() {
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
        for at in 1..BUCKETS {
            let bound = lower_bound(at);
            // Units are of 62.5 ns, so every other bound below 250 ns is half a nanosecond off.
            assert_eq!(bucket(bound + 1), at, "{bound}");
            assert_eq!(bucket(bound - 1), at - 1, "{bound}");
        }
        assert_eq!(lower_bound(BUCKETS - 1), 34_359_738_368_000);
    }

    /// WL-243
    #[test]
    fn a_quantile_is_within_an_eighth() {
        let mut nanos = 250.0_f64;
        while nanos < 3.43e13 {
            let exact = nanos as u64;
            // A longer one, so that the maximum does not give the answer.
            let histogram = of([(exact, 1), (34_359_738_367_999, 1)]);
            let median = histogram.quantile(0.5).unwrap().as_nanos() as f64;
            let error = (median - nanos).abs() / nanos;
            assert!(error <= 0.126, "{nanos}: {median}");
            nanos *= 1.013;
        }
    }

    /// WL-243
    #[test]
    fn quantiles_count_from_the_shortest() {
        let histogram = of((1..=1_000).map(|micros| (micros * 1_000, 1)));
        for (fraction, micros) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (0.999, 999.0)] {
            let quantile = histogram.quantile(fraction).unwrap().as_secs_f64() * 1e6;
            assert!(
                (quantile - micros).abs() / micros <= 0.125,
                "{fraction}: {quantile}"
            );
        }
        assert_eq!(histogram.quantile(1.0), histogram.max());
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(500_500)));
        assert_eq!(histogram.quantile(1.5), None);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn a_sample_counts_for_those_that_were_not_timed() {
        let histogram = of([(1_000, 30), (1_000_000, 1), (2_000_000, 1)]);
        assert_eq!((histogram.count(), histogram.samples()), (32, 3));
        assert_eq!(histogram.sampled_every(), 10);
        assert!(histogram.quantile(0.9).unwrap() < Duration::from_micros(2));
        assert_eq!(histogram.sum(), Duration::from_nanos(3_030_000));
    }

    /// WL-243
    #[test]
    fn the_cumulative_buckets_are_powers_of_two_of_a_microsecond() {
        let durations = [10, 999, 1_000, 3_999, 4_000, 8_388_607_999, 8_388_608_000];
        let histogram = of(durations.map(|nanos| (nanos, 1)));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.len(), 24);
        let at = |micros| {
            let found = buckets
                .iter()
                .find(|(bound, _)| *bound == Duration::from_micros(micros));
            found.unwrap().1
        };
        assert_eq!((at(1), at(2), at(4), at(8)), (2, 3, 4, 5));
        assert_eq!((at(1 << 23), histogram.count()), (6, 7));
        for (power, (bound, count)) in buckets.iter().enumerate() {
            assert_eq!(*bound, Duration::from_micros(1 << power));
            let below = durations
                .iter()
                .filter(|nanos| Duration::from_nanos(**nanos) < *bound);
            assert_eq!(*count, below.count() as u64);
        }
    }

    #[test]
    fn what_is_longer_than_the_last_bucket_has_the_maximum() {
        let hours = 36_000_000_000_000;
        let histogram = of([(hours, 3)]);
        assert_eq!(histogram.quantile(0.5), Some(Duration::from_nanos(hours)));
    }

    /// WL-400
    #[test]
    fn the_difference_of_two_snapshots_is_what_was_added_between_them() {
        let buckets = Buckets::default();
        buckets.record(1_000, 2);
        buckets.record(9_000_000, 1);
        let mut earlier = Histogram::default();
        buckets.add_to(&mut earlier);
        assert_eq!(earlier.since(&Histogram::default()), earlier);
        assert_eq!(earlier.since(&earlier), Histogram::default());
        buckets.record(5_000, 3);
        let mut later = Histogram::default();
        buckets.add_to(&mut later);
        let window = later.since(&earlier);
        assert_eq!((window.count(), window.samples()), (3, 1));
        assert_eq!(window.sum(), Duration::from_nanos(15_000));
        let max = window.max().unwrap();
        assert!(
            max >= Duration::from_nanos(5_000) && max <= Duration::from_nanos(6_250),
            "{max:?}"
        );
        buckets.record(20_000_000, 1);
        let mut last = Histogram::default();
        buckets.add_to(&mut last);
        assert_eq!(last.since(&later).max(), Some(Duration::from_millis(20)));
        assert_eq!(last.count_from(Duration::from_millis(5)), 2);
        assert_eq!(last.count_from(Duration::ZERO), 7);
        // In one bucket with the longest, and longer than it.
        assert_eq!(last.count_from(Duration::from_micros(20_001)), 0);
    }

    #[test]
    fn merged_histograms_have_the_counts_of_both() {
        let (one, other) = (of([(1_000, 2)]), of([(9_000_000, 3)]));
        let mut merged = Histogram::default();
        merged.merge(&one);
        merged.merge(&other);
        assert_eq!(merged, of([(1_000, 2), (9_000_000, 3)]));
        assert_eq!(
            merged.to_string(),
            "5 tasks: p50 9.0ms, p90 9.0ms, p99 9.0ms, p99.9 9.0ms, max 9.0ms (one in 2 timed)"
        );
        assert_eq!(Histogram::default().to_string(), "0 tasks");
    }
}
