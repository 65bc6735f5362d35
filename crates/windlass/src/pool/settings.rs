//! The settings that can change while the pool runs.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The error of an invalid configuration. The former one stays in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The maximum size is zero.
    ZeroMaximum,
    /// The core size exceeds the maximum size.
    CoreExceedsMaximum {
        /// The core size, requested or in effect.
        core: usize,
        /// The maximum size, requested or in effect.
        maximum: usize,
    },
    /// Core workers may time out, and the keep-alive time is zero: they would be started and ended
    /// without pause.
    ZeroKeepAlive,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroMaximum => f.write_str("the maximum pool size must be at least 1"),
            Self::CoreExceedsMaximum { core, maximum } => {
                write!(
                    f,
                    "the core pool size {core} exceeds the maximum pool size {maximum}"
                )
            }
            Self::ZeroKeepAlive => {
                f.write_str("core threads that may time out need a keep-alive above zero")
            }
        }
    }
}

impl Error for ConfigError {}

impl ConfigError {
    /// Returns whether the maximum size is zero.
    #[must_use]
    pub const fn is_zero_maximum(&self) -> bool {
        matches!(self, Self::ZeroMaximum)
    }

    /// Returns whether the core size exceeds the maximum size.
    #[must_use]
    pub const fn is_core_exceeds_maximum(&self) -> bool {
        matches!(self, Self::CoreExceedsMaximum { .. })
    }

    /// Returns whether core workers may time out with a keep-alive time of zero.
    #[must_use]
    pub const fn is_zero_keep_alive(&self) -> bool {
        matches!(self, Self::ZeroKeepAlive)
    }
}

/// The values of all settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SettingsSnapshot {
    pub(crate) core: usize,
    pub(crate) maximum: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) core_timeout: bool,
}

impl SettingsSnapshot {
    pub(crate) fn check(self) -> Result<Self, ConfigError> {
        if self.maximum == 0 {
            Err(ConfigError::ZeroMaximum)
        } else if self.core > self.maximum {
            Err(ConfigError::CoreExceedsMaximum {
                core: self.core,
                maximum: self.maximum,
            })
        } else if self.core_timeout && self.keep_alive.is_zero() {
            Err(ConfigError::ZeroKeepAlive)
        } else {
            Ok(self)
        }
    }
}

/// The current values. Writers hold a lock, so that each change is checked against all values.
/// Readers load each value without it and may see a change half done; workers and blocked submitters
/// are nudged after a change that concerns them, and read again.
#[derive(Debug)]
pub(crate) struct Settings {
    writing: Mutex<()>,
    core: AtomicUsize,
    maximum: AtomicUsize,
    /// In nanoseconds; `u64::MAX` is forever.
    keep_alive: AtomicU64,
    core_timeout: AtomicBool,
}

impl Settings {
    pub(crate) fn new(values: SettingsSnapshot) -> Result<Self, ConfigError> {
        let values = values.check()?;
        Ok(Self {
            writing: Mutex::new(()),
            core: AtomicUsize::new(values.core),
            maximum: AtomicUsize::new(values.maximum),
            keep_alive: AtomicU64::new(nanos(values.keep_alive)),
            core_timeout: AtomicBool::new(values.core_timeout),
        })
    }

    #[inline]
    pub(crate) fn core(&self) -> usize {
        self.core.load(Ordering::SeqCst)
    }

    pub(crate) fn maximum(&self) -> usize {
        self.maximum.load(Ordering::SeqCst)
    }

    pub(crate) fn core_timeout(&self) -> bool {
        self.core_timeout.load(Ordering::SeqCst)
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        match self.keep_alive.load(Ordering::SeqCst) {
            u64::MAX => Duration::MAX,
            nanos => Duration::from_nanos(nanos),
        }
    }

    pub(crate) fn snapshot(&self) -> SettingsSnapshot {
        SettingsSnapshot {
            core: self.core(),
            maximum: self.maximum(),
            keep_alive: self.keep_alive(),
            core_timeout: self.core_timeout(),
        }
    }

    /// Changes the values; returns the former ones.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut SettingsSnapshot),
    ) -> Result<SettingsSnapshot, ConfigError> {
        let _writing = self.writing.lock();
        let former = self.snapshot();
        let mut new = former;
        change(&mut new);
        let new = new.check()?;
        self.core.store(new.core, Ordering::SeqCst);
        self.maximum.store(new.maximum, Ordering::SeqCst);
        self.keep_alive
            .store(nanos(new.keep_alive), Ordering::SeqCst);
        self.core_timeout.store(new.core_timeout, Ordering::SeqCst);
        Ok(former)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{ConfigError, Settings, SettingsSnapshot};

    const SNAPSHOT: SettingsSnapshot = SettingsSnapshot {
        core: 3,
        maximum: 5,
        keep_alive: Duration::from_secs(7),
        core_timeout: true,
    };

    #[test]
    fn settings_come_back_as_they_were_given() {
        let fixed = SettingsSnapshot {
            core: 5,
            keep_alive: Duration::ZERO,
            core_timeout: false,
            ..SNAPSHOT
        };
        let endless = SettingsSnapshot {
            keep_alive: Duration::MAX,
            ..SNAPSHOT
        };
        for values in [SNAPSHOT, fixed, endless] {
            assert_eq!(Settings::new(values).unwrap().snapshot(), values);
        }
    }

    #[test]
    fn a_change_gives_what_was_and_a_refused_one_leaves_it() {
        let settings = Settings::new(SNAPSHOT).unwrap();
        assert_eq!(settings.change(|new| new.core = 4), Ok(SNAPSHOT));
        let changed = SettingsSnapshot {
            core: 4,
            ..SNAPSHOT
        };
        assert_eq!(settings.snapshot(), changed);
        let refusals = [
            (
                settings.change(|new| new.maximum = 0),
                ConfigError::ZeroMaximum,
            ),
            (
                settings.change(|new| new.core = 6),
                ConfigError::CoreExceedsMaximum {
                    core: 6,
                    maximum: 5,
                },
            ),
            (
                settings.change(|new| new.keep_alive = Duration::ZERO),
                ConfigError::ZeroKeepAlive,
            ),
        ];
        for (result, reason) in refusals {
            assert_eq!(result, Err(reason));
        }
        assert_eq!(settings.snapshot(), changed);
    }

    #[test]
    fn a_refusal_names_the_numbers() {
        let refusal = ConfigError::CoreExceedsMaximum {
            core: 6,
            maximum: 5,
        };
        assert_eq!(
            refusal.to_string(),
            "the core pool size 6 exceeds the maximum pool size 5"
        );
    }
}
