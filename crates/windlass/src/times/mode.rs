//! Whether a pool times its tasks.

use super::sampler::{Rate, Sampler};
use crate::sync::clock::Clock;

/// Whether a pool times its tasks.
///
/// ```
/// use windlass::pool::Times;
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().times(Times::Every).build().unwrap();
/// # drop(pool);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Times {
    /// Times every task, but when tasks come so fast that reading the clock would show, only one in two,
    /// four, eight and so on: about one in sixteen microseconds.
    #[default]
    Sampled,
    /// Times every task.
    Every,
    /// Times no task.
    Off,
}

impl Times {
    pub(crate) fn sampler(self) -> Sampler {
        Sampler::new(match self {
            // A model has no clock.
            Self::Sampled if cfg!(any(loom, shuttle)) => Rate::Never,
            // A test that drives the clock wants exact times, and its tasks take none.
            Self::Sampled if !Clock::is_system() => Rate::Always,
            Self::Sampled => Rate::Adaptive,
            Self::Every => Rate::Always,
            Self::Off => Rate::Never,
        })
    }
}
