//! The decision whether a consumer spins for the next batch: after a small one, while that pays.

use crate::sync::{AdaptiveSpin, SpinLength, Spun};

/// The decision whether a consumer that has used up its batch spins before it fetches the next.
#[derive(Debug, Default)]
pub(super) struct BatchSpin {
    /// Whether the last batch was a small one that nobody has spun after yet.
    is_due: bool,
    /// Batches of a single element in a row.
    single_batches: u32,
    spin: AdaptiveSpin,
    style: SpinStyle,
}

/// What a consumer spins for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SpinStyle {
    /// A batch, which is the larger the longer it waits.
    #[default]
    Batches,
    /// The next element at once: of a hand-off, where few are queued at a time.
    SingleElements,
}

/// How a consumer spins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpinPlan {
    pub(super) length: SpinLength,
    /// Checks for elements in a full spin.
    pub(super) checks: u32,
    /// Whether a full spin in vain is followed by another.
    pub(super) goes_on: bool,
}

impl BatchSpin {
    pub(super) fn new(style: SpinStyle) -> Self {
        Self {
            style,
            ..Self::default()
        }
    }

    /// Records the length of the batch that has just been fetched.
    pub(super) fn record_batch(&mut self, len: usize) {
        self.is_due = len < SMALL_BATCH && self.spin.should_spin();
        self.single_batches = if len == 1 {
            self.single_batches.saturating_add(1)
        } else {
            0
        };
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Begins the spin that is due.
    pub(super) fn begin(&mut self) -> SpinPlan {
        self.is_due = false;
        let length = self.spin.length();
        let few = self.single_batches < SINGLE_BATCHES_TOLERATED;
        let (checks, goes_on) = match self.style {
            SpinStyle::SingleElements => (MANY_CHECKS, length == SpinLength::Full),
            SpinStyle::Batches if few => (FEW_CHECKS, false),
            SpinStyle::Batches => (MANY_CHECKS, false),
        };
        SpinPlan {
            length,
            checks,
            goes_on,
        }
    }

    /// Records whether elements came during the spin, and how soon.
    pub(super) fn end(&mut self, spun: Spun) {
        let paid = match self.style {
            SpinStyle::SingleElements => spun != Spun::InVain,
            SpinStyle::Batches => spun == Spun::Promptly,
        };
        self.spin.record(paid);
    }
}

/// A batch of fewer elements is followed by a spin.
const SMALL_BATCH: usize = 32;

/// Checks during a spin where elements come in quick succession: by the first check, after some
/// microseconds, there are dozens.
const FEW_CHECKS: u32 = 4;

/// Checks during a spin where elements come one by one: their producer may wait for each to be
/// consumed before it pushes the next.
const MANY_CHECKS: u32 = 24;

/// Batches of a single element in a row after which elements count as coming one by one.
const SINGLE_BATCHES_TOLERATED: u32 = 4;
