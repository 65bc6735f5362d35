//! The settings that can change while the pool runs.

use std::time::Duration;

use super::config_error::ConfigError;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
/// [`Settings::snapshot`] returns the values of one change; a reader of a single one takes no notice of the
/// others. Workers and blocked submitters are nudged after a change that concerns them, and read again.
#[derive(Debug)]
pub(crate) struct Settings {
    writing: Mutex<()>,
    /// The number of changes, twice, plus one during a change.
    version: AtomicU64,
    core: AtomicUsize,
    maximum: AtomicUsize,
    /// In nanoseconds; `u64::MAX` is forever.
    keep_alive: AtomicU64,
    core_timeout: AtomicBool,
    /// The number of workers up to which one may take a task: the maximum, or zero while the pool is paused.
    may_take: AtomicUsize,
    /// When a pause ends, as a timestamp; zero if there is none.
    paused_until: AtomicU64,
}

impl Settings {
    pub(crate) fn new(values: SettingsSnapshot) -> Result<Self, ConfigError> {
        let values = values.check()?;
        Ok(Self {
            writing: Mutex::new(()),
            version: AtomicU64::new(0),
            core: AtomicUsize::new(values.core),
            maximum: AtomicUsize::new(values.maximum),
            keep_alive: AtomicU64::new(nanos(values.keep_alive)),
            core_timeout: AtomicBool::new(values.core_timeout),
            may_take: AtomicUsize::new(values.maximum),
            paused_until: AtomicU64::new(0),
        })
    }

    #[inline]
    pub(crate) fn core(&self) -> usize {
        self.core.load(Ordering::SeqCst)
    }

    pub(crate) fn maximum(&self) -> usize {
        self.maximum.load(Ordering::SeqCst)
    }

    /// Returns the number of workers up to which one may take a task without looking further.
    #[inline]
    pub(super) fn may_take(&self) -> usize {
        self.may_take.load(Ordering::SeqCst)
    }

    /// Returns when a pause ends, as a timestamp; `None` if there is none.
    pub(super) fn paused_until(&self) -> Option<u64> {
        let until = self.paused_until.load(Ordering::SeqCst);
        (until != 0).then_some(until)
    }

    /// Begins a pause, or replaces one.
    pub(super) fn pause(&self, until: u64) {
        let _writing = self.writing.lock();
        self.paused_until.store(until, Ordering::SeqCst);
        self.may_take.store(0, Ordering::SeqCst);
    }

    /// Ends the pause, if it is this one.
    pub(super) fn resume(&self, paused_until: Option<u64>) {
        let _writing = self.writing.lock();
        let present = self.paused_until.load(Ordering::SeqCst);
        if paused_until.is_none_or(|until| until == present) {
            self.paused_until.store(0, Ordering::SeqCst);
            self.may_take.store(self.maximum(), Ordering::SeqCst);
        }
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

    /// Returns the values, which are those of one change.
    pub(crate) fn snapshot(&self) -> SettingsSnapshot {
        let version = self.version.load(Ordering::SeqCst);
        let values = self.read();
        if version % 2 == 0 && self.version.load(Ordering::SeqCst) == version {
            return values;
        }
        let _writing = self.writing.lock();
        self.read()
    }

    fn read(&self) -> SettingsSnapshot {
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
        let former = self.read();
        let mut new = former;
        change(&mut new);
        let new = new.check()?;
        let version = self.version.load(Ordering::SeqCst);
        self.version.store(version + 1, Ordering::SeqCst);
        // Whoever reads the core size and then the maximum of a pool that grows finds room for the core,
        // and so does one who reads them the other way around if it shrinks.
        if new.maximum >= former.maximum {
            self.maximum.store(new.maximum, Ordering::SeqCst);
            self.core.store(new.core, Ordering::SeqCst);
        } else {
            self.core.store(new.core, Ordering::SeqCst);
            self.maximum.store(new.maximum, Ordering::SeqCst);
        }
        self.keep_alive
            .store(nanos(new.keep_alive), Ordering::SeqCst);
        self.core_timeout.store(new.core_timeout, Ordering::SeqCst);
        if self.paused_until.load(Ordering::SeqCst) == 0 {
            self.may_take.store(new.maximum, Ordering::SeqCst);
        }
        self.version.store(version + 2, Ordering::SeqCst);
        Ok(former)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Settings, SettingsSnapshot};
    use crate::sync::{model, thread};

    #[test]
    fn a_snapshot_has_the_values_of_one_change() {
        let values = |size| SettingsSnapshot {
            core: size,
            maximum: size,
            keep_alive: Duration::from_secs(size as u64),
            core_timeout: size % 2 == 0,
        };
        model(move || {
            let settings = Arc::new(Settings::new(values(2)).expect("they are valid"));
            let writer = {
                let settings = Arc::clone(&settings);
                thread::Builder::new().spawn(move || {
                    for size in [5, 3] {
                        settings
                            .change(|new| *new = values(size))
                            .expect("they are valid");
                    }
                })
            };
            let seen = settings.snapshot();
            assert_eq!(seen, values(seen.core));
            writer.expect("a thread").join().expect("no panic");
            assert_eq!(settings.snapshot(), values(3));
        });
    }
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
