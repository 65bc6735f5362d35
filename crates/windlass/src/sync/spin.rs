//! Spinning before a thread parks: never on a machine with one core, where nothing can change
//! meanwhile.

use super::backend;
use super::parallelism::available_parallelism;

/// Returns how often a thread checks for what it waits for before it parks.
pub(crate) fn spin_limit() -> u32 {
    static LIMIT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| match available_parallelism() {
        1 => 0,
        _ => backend::SPIN_LIMIT,
    })
}

/// How long a thread spins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpinLength {
    /// Some microseconds, which is less than a park and a wake-up take.
    Full,
    /// A third of that.
    Short,
}

/// How a spin ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spun {
    /// It was over in the first third of a full spin: a park and a wake-up would have cost much more.
    Promptly,
    /// It was over later: a park and a wake-up would have cost about as much.
    Late,
    InVain,
}

/// Spins, and checks `is_over` on the way, `checks` times in a full spin.
///
/// Each check takes the cache line from the thread that is about to write to it.
pub(crate) fn spin_until(length: SpinLength, checks: u32, is_over: impl Fn() -> bool) -> Spun {
    let in_first_third = 1.max(checks / 3);
    let most = match length {
        SpinLength::Full => checks,
        SpinLength::Short => in_first_third,
    };
    let interval = FULL_SPIN / checks;
    let made = match spin_limit() {
        0 => 0,
        _ => backend::spin_until(most, interval, &is_over),
    };
    match is_over() {
        true if made <= in_first_third => Spun::Promptly,
        true => Spun::Late,
        false => Spun::InVain,
    }
}

/// Processor pauses in a full spin.
const FULL_SPIN: u32 = 384;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::cell::Cell;

    use super::{SpinLength, Spun, spin_limit, spin_until};

    /// Spins with 24 checks for something that is over at this one; returns how it ended.
    fn over_at(check: u32, length: SpinLength) -> Spun {
        let checks = Cell::new(0);
        spin_until(length, 24, || {
            checks.set(checks.get() + 1);
            checks.get() >= check
        })
    }

    #[test]
    fn what_is_over_in_the_first_third_is_over_promptly() {
        if spin_limit() == 0 {
            return;
        }
        assert_eq!(over_at(1, SpinLength::Full), Spun::Promptly);
        assert_eq!(over_at(8, SpinLength::Full), Spun::Promptly);
        assert_eq!(over_at(8, SpinLength::Short), Spun::Promptly);
        assert_eq!(over_at(9, SpinLength::Full), Spun::Late);
        assert_eq!(over_at(24, SpinLength::Full), Spun::Late);
    }

    #[test]
    fn a_spin_ends_after_its_checks() {
        assert_eq!(over_at(100, SpinLength::Full), Spun::InVain);
        assert_eq!(over_at(10, SpinLength::Short), Spun::InVain);
    }
}
