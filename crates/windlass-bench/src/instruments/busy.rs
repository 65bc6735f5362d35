//! Work of a known length: a chain of multiplications that can be neither vectorised nor skipped.

use std::hint::black_box;
use std::time::Instant;

/// Turns of the chain that are timed to calibrate it.
const PROBE: u64 = 1_000_000;
/// Trials of which the fastest counts, as the least disturbed.
const TRIALS: usize = 7;

/// A piece of work.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    turns: u64,
}

impl Work {
    /// Work that takes so many microseconds on an idle core.
    pub(crate) fn of_micros(micros: u64) -> Self {
        let probe = Self { turns: PROBE };
        let turns_per_nano = PROBE as f64 / probe.nanos(1);
        Self {
            turns: (turns_per_nano * micros as f64 * 1e3) as u64,
        }
    }

    /// Does it.
    #[inline]
    pub(crate) fn run(self) {
        let mut x = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..self.turns {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        black_box(x);
    }

    /// What it takes by measurement, in nanoseconds, as the mean over `repeats`.
    pub(crate) fn nanos(self, repeats: u64) -> f64 {
        let trial = |_| {
            let begun = Instant::now();
            (0..repeats).for_each(|_| self.run());
            begun.elapsed().as_nanos() as f64 / repeats as f64
        };
        (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min)
    }
}
