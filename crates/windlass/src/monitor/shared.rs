//! The state of a monitor.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use super::audit::{Audit, AuditEntry};
use super::change_error::ChangeError;
use super::registry::{RegisteredPool, Registry};
use super::reported::Reported;
use super::sinks::{Event, Sinks};
use super::snapshot::Snapshot;
use super::thresholds::Thresholds;
use super::track::Track;
use crate::sync::Mutex;
use crate::sync::atomic::AtomicU64;
use crate::sync::clock::Clock;

/// The state of a monitor.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) registry: Registry,
    pub(super) clock: Clock,
    pub(super) thresholds: Thresholds,
    pub(super) started: SystemTime,
    pub(super) sinks: Sinks,
    pub(super) samples: AtomicU64,
    state: Mutex<State>,
}

/// What is known of all executors. No code of users runs while it is locked.
#[derive(Debug, Default)]
pub(super) struct State {
    /// By the number of their registration.
    tracks: BTreeMap<u64, Track>,
    /// Alerts on what is outside of this process.
    pub(super) reported: Reported,
    pub(super) audit: Audit,
}

impl State {
    /// Returns what is known of an executor; nothing yet if it is seen for the first time.
    pub(super) fn track(
        &mut self,
        pool: &RegisteredPool,
        snapshot: &Snapshot,
        thresholds: &Thresholds,
    ) -> &mut Track {
        self.tracks.entry(pool.number()).or_insert_with(|| {
            Track::new(pool.name(), thresholds.clone(), snapshot.settings.clone())
        })
    }

    pub(super) fn known(&mut self, pool: &RegisteredPool) -> Option<&mut Track> {
        self.tracks.get_mut(&pool.number())
    }

    /// Forgets executors that are not among these; returns what was known of them.
    #[must_use = "it may hold what is the user's, which is not dropped under the lock"]
    pub(super) fn keep_only(&mut self, pools: &[RegisteredPool]) -> Vec<Track> {
        let is_listed = |number: &u64| pools.iter().any(|pool| pool.number() == *number);
        let numbers = self.tracks.keys().copied();
        let gone: Vec<_> = numbers.filter(|number| !is_listed(number)).collect();
        let gone = gone.iter().filter_map(|number| self.tracks.remove(number));
        gone.collect()
    }

    pub(super) fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.tracks.values()
    }

    pub(super) fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Track> {
        self.tracks.values_mut()
    }
}

impl Shared {
    pub(super) fn new(registry: Registry, thresholds: Thresholds) -> Self {
        let clock = Clock::current();
        Self {
            registry,
            started: clock.wall_now(),
            clock,
            thresholds,
            sinks: Sinks::default(),
            samples: AtomicU64::new(0),
            state: Mutex::new(State::default()),
        }
    }

    pub(super) fn now(&self) -> (Instant, SystemTime) {
        (self.clock.now(), self.clock.wall_now())
    }

    /// Accesses the state, under its lock.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Calls a method of an executor, and counts its panic.
    pub(super) fn call<R>(
        &self,
        call: impl FnOnce() -> Result<R, ChangeError>,
    ) -> Result<R, ChangeError> {
        let result = call();
        if matches!(result, Err(ChangeError::Panicked)) {
            self.sinks.counts().count_panic();
        }
        result
    }

    /// Accesses what is known of an executor, under the lock; the executor is read before.
    pub(super) fn with_track<R>(
        &self,
        name: &str,
        f: impl FnOnce(&mut Track, &Snapshot) -> R,
    ) -> Result<R, ChangeError> {
        let pool = self.registry.get(name).ok_or(ChangeError::UnknownPool)?;
        let snapshot = self.call(|| pool.snapshot())?;
        Ok(self.with(|state| f(state.track(&pool, &snapshot, &self.thresholds), &snapshot)))
    }

    /// Adds an entry to the audit, and tells others.
    pub(super) fn record(&self, entry: AuditEntry) -> u64 {
        let entry = self.with(|state| state.audit.add(entry));
        let id = entry.id;
        self.tell(Some(entry));
        id
    }

    pub(super) fn tell(&self, entries: impl IntoIterator<Item = AuditEntry>) {
        for entry in entries {
            self.sinks.send(Event::Audit(entry));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.sinks.stop();
    }
}
