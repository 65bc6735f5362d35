//! How much of the time of a run its thread computed, and how much it waited.

// From `std` and not from `sync`: these figures order nothing.
use std::sync::atomic::{AtomicU64, Ordering};

/// Reading the processor time is a system call of some hundred nanoseconds: a worker reads it for one run
/// in this many nanoseconds.
pub(crate) const BETWEEN: u64 = 100_000;

/// Sums that one thread writes and others read.
#[derive(Debug, Default)]
pub(crate) struct Compute {
    runs: AtomicU64,
    elapsed: AtomicU64,
    computed: AtomicU64,
}

/// Sums over the runs whose processor time was measured, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ComputeTotals {
    pub(crate) runs: u64,
    /// From start to end.
    pub(crate) elapsed: u64,
    /// Of that, on a processor.
    pub(crate) computed: u64,
}

impl Compute {
    /// Counts a run. Called by one thread only.
    pub(crate) fn record(&self, elapsed: u64, computed: u64) {
        let add = |sum: &AtomicU64, more: u64| {
            let sum_before = sum.load(Ordering::Relaxed);
            sum.store(sum_before.saturating_add(more), Ordering::Relaxed);
        };
        add(&self.runs, 1);
        add(&self.elapsed, elapsed);
        // The two clocks do not tick together.
        add(&self.computed, computed.min(elapsed));
    }

    pub(crate) fn add_to(&self, totals: &mut ComputeTotals) {
        totals.runs += self.runs.load(Ordering::Relaxed);
        totals.elapsed += self.elapsed.load(Ordering::Relaxed);
        totals.computed += self.computed.load(Ordering::Relaxed);
    }
}

impl ComputeTotals {
    /// Returns what was added since these earlier totals.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(earlier.runs),
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
            computed: self.computed.saturating_sub(earlier.computed),
        }
    }
}
