//! The size that a pool should have, by what its tasks wait and compute.

use std::fmt;
use std::time::Duration;

use super::shared::Shared;
use crate::sync::available_parallelism;
use crate::times::ComputeTotals;

/// The size that a pool should have: `N · U · (1 + W/C)`, with the reason.
///
/// `W` and `C` are the time that tasks wait (for files, locks, other machines) and the time that they
/// compute, measured by the processor time of the workers. That needs the feature `cpu-time`, on Linux; without
/// it, or before a task was measured, there is no recommendation, and the `Display` output says why.
///
/// A task that waits for a processor waits too. So a pool of computing tasks that has more workers than
/// processors is recommended the size that it has, not a larger one.
///
/// ```
/// use std::time::Duration;
/// use windlass::pool::SizeAdvice;
///
/// let ms = Duration::from_millis;
/// let advice = SizeAdvice::new(4, 0.9, ms(9), ms(1));
/// assert_eq!(advice.recommended, Some(36));
/// assert_eq!(
///     advice.to_string(),
///     "36 workers: tasks wait 9.00ms and compute 1.00ms, so 4 processors at 90 % are busy with 4 · 0.90 · (1 + 9.00)"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SizeAdvice {
    /// The number of processors.
    pub processors: usize,
    /// Their target utilisation, from 0 to 1.
    pub utilisation: f64,
    /// How long a task waits while it runs, on average.
    pub wait: Duration,
    /// How long a task computes, on average.
    pub compute: Duration,
    /// The recommended number of workers; `None` if nothing was measured.
    pub recommended: Option<usize>,
}

impl SizeAdvice {
    /// Computes the size for tasks that wait and compute this long.
    #[must_use]
    pub fn new(processors: usize, utilisation: f64, wait: Duration, compute: Duration) -> Self {
        let ratio = wait.as_secs_f64() / compute.as_secs_f64();
        let is_known = !compute.is_zero();
        Self {
            processors,
            utilisation,
            wait,
            compute,
            recommended: is_known.then(|| optimal_size(processors, utilisation, ratio)),
        }
    }

    pub(super) fn of(totals: ComputeTotals, utilisation: f64) -> Self {
        let mean = |nanos: u64| Duration::from_nanos(nanos.checked_div(totals.runs).unwrap_or(0));
        let wait = mean(totals.elapsed.saturating_sub(totals.computed));
        Self::new(
            available_parallelism(),
            utilisation,
            wait,
            mean(totals.computed),
        )
    }
}

impl fmt::Display for SizeAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(size) = self.recommended else {
            return f.write_str(if cfg!(all(feature = "cpu-time", target_os = "linux")) {
                "no recommendation: no task has been measured yet"
            } else {
                "no recommendation: the processor time of tasks is measured with the feature `cpu-time`, on \
                 Linux"
            });
        };
        let (processors, utilisation) = (self.processors, self.utilisation);
        write!(
            f,
            "{size} workers: tasks wait {:.2?} and compute {:.2?}, so {processors} processors at {:.0} % are \
             busy with {processors} · {utilisation:.2} · (1 + {:.2})",
            self.wait,
            self.compute,
            100.0 * utilisation,
            self.wait.as_secs_f64() / self.compute.as_secs_f64(),
        )
    }
}

/// Returns `N · U · (1 + W/C)`, and at least one.
pub(crate) fn optimal_size(processors: usize, utilisation: f64, wait_to_compute: f64) -> usize {
    let utilisation = if utilisation.is_finite() {
        utilisation.clamp(0.0, 1.0)
    } else {
        1.0
    };
    let ratio = if wait_to_compute.is_finite() {
        wait_to_compute.max(0.0)
    } else {
        0.0
    };
    let threads = processors as f64 * utilisation * (1.0 + ratio);
    // `as` saturates.
    (threads.round() as usize).max(1)
}

impl Shared {
    /// Returns how much workers have computed and waited so far.
    pub(crate) fn compute_totals(&self) -> ComputeTotals {
        self.tracker.registry.totals().compute
    }
}
