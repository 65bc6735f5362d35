//! What samples measure with: counters that do not disturb, gates, busy work, facts of the process.

pub(crate) mod busy;
pub(crate) mod gate;
pub(crate) mod median;
pub(crate) mod pace;
pub(crate) mod process;
pub(crate) mod quantile;
pub(crate) mod random;
pub(crate) mod tally;
