//! Counts of values between powers of two.

use super::super::Distribution;

/// How many bounds there are: for times from a microsecond to 8.4 seconds, for sizes from a byte to 8 MiB.
const BOUNDS: usize = 24;

/// Counts of whole numbers: at most 1, at most 2, at most 4 and so on, and above the last bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Histogram {
    counts: [u64; BOUNDS + 1],
    sum: u64,
}

impl Histogram {
    pub(super) fn add(&mut self, value: u64) {
        let bits = u64::BITS - value.saturating_sub(1).leading_zeros();
        self.counts[(bits as usize).min(BOUNDS)] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the counts, for values in a unit that has `per_unit` of what was counted.
    #[expect(clippy::cast_precision_loss, reason = "read by people and Prometheus")]
    pub(super) fn read(&self, per_unit: f64) -> Distribution {
        let bounded = self.counts[..BOUNDS].iter().enumerate();
        let buckets = bounded.map(|(bits, count)| ((1_u64 << bits) as f64 / per_unit, *count));
        Distribution::new(buckets.collect(), self.count(), self.sum as f64 / per_unit)
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_the_last_has_no_bound() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 5, 1 << 23, (1 << 23) + 1, u64::MAX] {
            histogram.add(value);
        }
        let read = histogram.read(1.0);
        let counts: Vec<u64> = read.buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts[..4], [2, 1, 2, 1]);
        assert_eq!((counts[23], read.buckets[23].0), (1, 8_388_608.0));
        assert_eq!((read.count, counts.iter().sum::<u64>()), (9, 7));
    }
}
