//! The time at which a wait ends, on the clock of the thread that waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::{self, Clock};
use super::parker::{ParkResult, Parker};

/// The time at which a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// The wait has no time limit.
    Never,
    /// At this time of the waiting thread's clock.
    At(Instant),
}

impl Deadline {
    /// Returns the deadline `timeout` from now; [`Never`](Self::Never) where that is beyond the
    /// range of clocks.
    pub(crate) fn after(timeout: Duration) -> Self {
        if timeout >= clock::MAX_TIMEOUT {
            return Self::Never;
        }
        clock::now()
            .checked_add(timeout)
            .map_or(Self::Never, Self::At)
    }

    /// Returns the earlier of the two.
    pub(crate) fn min(self, at: Instant) -> Self {
        match self {
            Self::Never => Self::At(at),
            Self::At(mine) => Self::At(mine.min(at)),
        }
    }

    /// Returns whether it is at this time or before it.
    pub(crate) fn is_at_or_before(self, at: Instant) -> bool {
        matches!(self, Self::At(mine) if mine <= at)
    }

    /// Returns whether it is later than the other.
    pub(crate) fn is_after(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Never) => false,
            (Self::Never, Self::At(_)) => true,
            (Self::At(mine), Self::At(other)) => mine > other,
        }
    }

    pub(crate) fn has_passed(self) -> bool {
        match self {
            Self::Never => false,
            Self::At(at) => clock::now() >= at,
        }
    }

    /// Returns how much time remains; `None` for a wait without a limit.
    pub(crate) fn remaining(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(at) => Some(at.saturating_duration_since(clock::now())),
        }
    }
}

/// Parks on the current thread's clock until there is a token or the deadline has passed.
///
/// The caller checks what it waits for again in either case.
pub(crate) fn park(parker: &Arc<Parker>, deadline: Deadline) -> ParkResult {
    match (deadline, Clock::current()) {
        (Deadline::Never, _) => {
            parker.park();
            ParkResult::Unparked
        }
        (Deadline::At(at), Clock::System) => parker.park_until(at),
        (Deadline::At(at), Clock::Test(clock)) => clock.park(parker, at),
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Deadline, park};
    use crate::sync::clock::{MAX_TIMEOUT, TestClock, now};
    use crate::sync::{ParkResult, Parker};

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_timed_wait_ends_when_the_clock_has_been_moved_far_enough_and_not_before() {
        let clock = TestClock::new();
        let sleeper = std::thread::spawn({
            let clock = clock.clone();
            move || {
                clock.enter(|| {
                    let parker = Arc::new(Parker::new());
                    let deadline = Deadline::after(Duration::from_secs(10));
                    while park(&parker, deadline) != ParkResult::TimedOut {}
                    clock.elapsed()
                })
            }
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.next_wake_up(), Some(Duration::from_secs(1)));
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        assert_eq!(sleeper.join().unwrap(), Duration::from_secs(10));
        assert_eq!(clock.sleepers(), 0);
    }

    #[test]
    fn enormous_timeouts_neither_overflow_nor_end() {
        assert_eq!(Deadline::after(Duration::MAX), Deadline::Never);
        assert_eq!(Deadline::after(MAX_TIMEOUT), Deadline::Never);
        assert!(matches!(
            Deadline::after(MAX_TIMEOUT - Duration::from_secs(1)),
            Deadline::At(_)
        ));
        let clock = TestClock::new();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        clock.enter(|| assert!(!Deadline::after(Duration::from_secs(1)).has_passed()));
    }

    #[test]
    fn a_deadline_of_zero_has_passed_at_once() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::Never.has_passed());
        assert_eq!(Deadline::Never.remaining(), None);
        let soon = now() + Duration::from_secs(5);
        assert_eq!(Deadline::Never.min(soon), Deadline::At(soon));
    }
}
