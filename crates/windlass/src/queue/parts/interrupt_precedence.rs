//! The calls that an interrupt pending on entry ends: the queues differ, as the JDK's do.

use super::wait_limit::WaitLimit;

/// The calls that an interrupt pending on entry ends, even where they need not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterruptPrecedence {
    /// `take`, `put` and the timed calls.
    Always,
    /// `take` and `poll_timeout`: insertion never waits.
    Removal,
    /// `offer_timeout` and `poll_timeout`: untimed calls check only when they have to wait.
    Timed,
}

impl InterruptPrecedence {
    pub(crate) const fn ends_insertion(self, limit: WaitLimit) -> bool {
        match limit {
            WaitLimit::NoWait => false,
            WaitLimit::Timed(_) => matches!(self, Self::Always | Self::Timed),
            WaitLimit::Forever => matches!(self, Self::Always),
        }
    }

    pub(crate) const fn ends_removal(self, limit: WaitLimit) -> bool {
        match limit {
            WaitLimit::NoWait => false,
            WaitLimit::Timed(_) => true,
            WaitLimit::Forever => matches!(self, Self::Always | Self::Removal),
        }
    }
}
