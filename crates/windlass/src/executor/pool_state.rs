//! The state of a pool, as its statistics tell it.

use std::fmt;

/// The state of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PoolState {
    /// Accepts tasks.
    Running,
    /// Accepts no tasks; some may still run.
    ShuttingDown,
    /// No task runs any more, and no worker is left.
    Terminated,
}

impl fmt::Display for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "Running",
            Self::ShuttingDown => "Shutting down",
            Self::Terminated => "Terminated",
        })
    }
}
