//! What workers do and how long it takes: the figures that every pool keeps.
//!
//! | file | role |
//! |---|---|
//! | `activity` | what a worker does right now, in words that only it writes |
//! | `mode` | whether a pool times its tasks |
//! | `sampler` | which tasks are timed, so that reading the clock does not show |

mod activity;
mod mode;
#[cfg(test)]
mod models;
mod sampler;

pub use mode::Times;

pub(crate) use activity::{Activity, Running, Writer};
pub(crate) use sampler::Sampler;
