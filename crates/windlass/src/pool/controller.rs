//! Follows the recommended size of a pool: in bounds, in steps, with a reason for each, and never back and
//! forth.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;

use super::advice::SizeAdvice;
use super::executor::ThreadPoolExecutor;
use super::reconfigure::{Patch, ReconfigureError};
use crate::times::ComputeTotals;

/// How many recommendations are remembered. All of them have to ask for a change, so an outlier prevents one
/// and causes none; the size then follows their median.
const REMEMBERED: usize = 5;

/// A recommendation asks for a change if it differs from the size by more than one part in this many; for fewer
/// workers by more than one too, so that a pool does not go back and forth between two sizes.
const BAND: usize = 6;

/// A change in the other direction than the last one needs a difference of this many bands.
const BANDS_BACK: usize = 2;

/// A controller that follows the recommended size of a pool.
///
/// [`adjust`](Self::adjust), called at intervals, compares what the tasks waited and computed since the last
/// call with the size of the pool, and changes core and maximum size if they differ for long enough. The rules
/// that keep it from swinging: five recommendations in a row have to ask for it, and it follows their median; it
/// leaves a difference of a sixth alone, one of a third if it would go back, and a surplus of one worker; after a
/// change it waits for five newer recommendations; it grows by no more than half and shrinks by no more than a
/// quarter at a time, or by one.
///
/// ```
/// use std::time::Duration;
/// use windlass::pool::SizeController;
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(4).unwrap();
/// let timer = executors::scheduled_thread_pool(1);
/// let (mut controller, followed) = (SizeController::new(2..=64, 0.9), pool.clone());
/// let every = Duration::from_secs(1);
/// let following = timer.schedule_at_fixed_rate(every, every, move || {
///     if let Ok(Some(change)) = controller.adjust(&followed) {
///         println!("{change}"); // from 4 to 6 workers: tasks wait 9ms and compute 1ms, …
///     }
/// });
/// # drop((following, timer.shutdown_now()));
/// ```
#[derive(Debug, Clone)]
pub struct SizeController {
    bounds: RangeInclusive<usize>,
    utilisation: f64,
    recommended: VecDeque<usize>,
    /// Whether the last change has made the pool larger.
    grew: Option<bool>,
    /// The totals at the last call of `adjust`.
    seen: ComputeTotals,
}

/// A change of the size of a pool, with the reason.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SizeChange {
    /// The former number of workers.
    pub from: usize,
    /// The new number of workers.
    pub to: usize,
    /// The last recommendation.
    pub because: SizeAdvice,
    /// The median of the last recommendations, in the bounds of the controller.
    pub target: usize,
}

impl fmt::Display for SizeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            because,
            target,
        } = self;
        write!(
            f,
            "from {from} to {to} workers, towards {target}: {because}"
        )
    }
}

impl SizeController {
    /// Creates a controller that keeps the size in these bounds, for a target utilisation of the
    /// processors (0 to 1). An empty range allows one size, its start; zero counts as one.
    #[must_use]
    pub fn new(bounds: RangeInclusive<usize>, utilisation: f64) -> Self {
        let least = (*bounds.start()).max(1);
        Self {
            bounds: least..=(*bounds.end()).max(least),
            utilisation,
            recommended: VecDeque::with_capacity(REMEMBERED),
            grew: None,
            seen: ComputeTotals::default(),
        }
    }

    /// Decides by one more recommendation whether a pool of this size is to be changed. Changes nothing
    /// itself; [`adjust`](Self::adjust) does.
    pub fn observe(&mut self, size: usize, advice: SizeAdvice) -> Option<SizeChange> {
        let (least, most) = (*self.bounds.start(), *self.bounds.end());
        let recommended = advice.recommended?.clamp(least, most);
        if self.recommended.len() == REMEMBERED {
            self.recommended.pop_front();
        }
        self.recommended.push_back(recommended);
        let is_outside = !self.bounds.contains(&size);
        let target = self.median();
        let grows = target > size;
        let is_asked_for = self.recommended.len() == REMEMBERED && self.all_ask(size, grows);
        if !is_outside && !is_asked_for {
            return None;
        }
        let to = if grows {
            target.min(size.saturating_add((size / 2).max(1)))
        } else {
            target.max(size - (size / 4).max(1).min(size))
        };
        let to = to.clamp(least, most);
        if to == size {
            return None;
        }
        // The next change is decided by what is measured with the new size.
        self.recommended.clear();
        self.grew = Some(grows);
        Some(SizeChange {
            from: size,
            to,
            because: advice,
            target,
        })
    }

    /// Returns whether all remembered recommendations ask for a change in this direction.
    fn all_ask(&self, size: usize, grows: bool) -> bool {
        let bands = match self.grew {
            Some(grew) if grew != grows => BANDS_BACK,
            _ => 1,
        };
        self.recommended.iter().all(|&recommended| {
            let difference = recommended.abs_diff(size);
            (recommended > size) == grows
                && (grows || difference > 1)
                && difference > size.saturating_mul(bands) / BAND
        })
    }

    fn median(&self) -> usize {
        let mut sorted: Vec<_> = self.recommended.iter().copied().collect();
        sorted.sort_unstable();
        sorted
            .get(sorted.len() / 2)
            .copied()
            .unwrap_or(*self.bounds.start())
    }

    /// Changes core and maximum size of the pool, if what its tasks waited and computed since the last call
    /// asks for it; returns the change.
    ///
    /// # Errors
    ///
    /// As [`ThreadPoolExecutor::reconfigure`].
    pub fn adjust(
        &mut self,
        pool: &ThreadPoolExecutor,
    ) -> Result<Option<SizeChange>, ReconfigureError> {
        let totals = pool.shared().compute_totals();
        let advice = SizeAdvice::of(totals.since(self.seen), self.utilisation);
        self.seen = totals;
        let Some(change) = self.observe(pool.core_pool_size(), advice) else {
            return Ok(None);
        };
        let patch = Patch::new()
            .core_pool_size(change.to)
            .maximum_pool_size(change.to);
        pool.reconfigure(patch)?;
        Ok(Some(change))
    }
}
