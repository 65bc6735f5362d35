//! What workers do and how long it takes: the figures that every pool keeps.
//!
//! | file | role |
//! |---|---|
//! | `histogram` | a distribution of durations, and the buckets that one thread writes |
//! | `compute` | how much of a run its thread computed |
//! | `record` | a task that was slow or has failed |
//! | `records` | the slowest tasks and the failed ones, while somebody wants to know |
//! | `registry` | the histograms of the workers of a pool, and of its tasks by name |
//! | `activity` | what a worker does right now, in words that only it writes |
//! | `mode` | whether a pool times its tasks |
//! | `runs` | how long the workers of a pool have been running their tasks |
//! | `tracker` | the times of a pool |
//! | `sampler` | which tasks are timed, so that reading the clock does not show |
//! | `stopwatch` | what a worker times its tasks with |

mod activity;
mod compute;
mod histogram;
mod mode;
#[cfg(test)]
mod models;
mod record;
mod records;
mod registry;
mod runs;
mod sampler;
mod stopwatch;
mod tracker;

pub use histogram::Histogram;
pub use mode::Times;
pub use record::{Ending, TaskRecord};
pub use registry::TaskTimes;

pub(crate) use activity::{Activity, SharedActivity};
pub(crate) use compute::ComputeTotals;
pub(crate) use runs::times_of_runs;
pub(crate) use stopwatch::{BegunRun, Stopwatch};
pub(crate) use tracker::Tracker;
