//! Changes of settings and commands: checked, carried out, recorded, and undone.
//!
//! One at a time for each executor: who begins one marks the executor as busy. It is then carried out without
//! a lock, since the queue, the thread factory and the executor itself may be the user's.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::audit::{Action, AuditEntry, ChangeSource};
use super::change::{Change, ChangeOptions, Changed};
use super::change_error::ChangeError;
use super::policies::FormerPolicy;
use super::registry::RegisteredPool;
use super::settings::{Field, FieldChange, PoolSettings, Value};
use super::shared::Shared;
use super::source::Monitored;
use super::thresholds::Thresholds;
use super::track::{LastChange, earlier};
use crate::pool::RejectedExecutionHandler;
use crate::sync::available_parallelism;

/// A change by more than this factor needs force.
const FACTOR: usize = 4;
/// More core threads than this many times the number of processors are warned of.
const THREADS_PER_PROCESSOR: usize = 8;
/// What is said of a change while an earlier one is to be undone.
const PENDING: &str = "an earlier change is still to be undone: this one is undone with it, unless both are \
                       confirmed";
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Keeps others from changing an executor.
struct Busy<'a> {
    shared: &'a Shared,
    pool: &'a RegisteredPool,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.shared.with(|state| {
            if let Some(track) = state.known(self.pool) {
                track.tuning.is_busy = false;
            }
        });
    }
}

/// Who asks, and for what.
struct Request<'a> {
    source: ChangeSource,
    action: Action,
    actor: Option<&'a str>,
}

impl Shared {
    /// Finds an executor and marks it as busy; also notices what the program has changed itself.
    fn begin<'a>(
        &'a self,
        pool: &'a RegisteredPool,
    ) -> Result<(Busy<'a>, PoolSettings), ChangeError> {
        let first = self.call(|| pool.snapshot())?;
        self.with(|state| {
            let track = state.track(pool, &first, &self.thresholds);
            if std::mem::replace(&mut track.tuning.is_busy, true) {
                return Err(ChangeError::Busy);
            }
            Ok(())
        })?;
        let busy = Busy { shared: self, pool };
        // Read again: only now does nobody else change them through this monitor.
        let snapshot = self.call(|| pool.snapshot())?;
        let wall = self.clock.wall_now();
        let entry = self.with(|state| {
            let track = state.known(pool)?;
            let entry = track
                .tuning
                .observe(pool.name(), wall, &snapshot.settings)?;
            Some(state.audit.add(entry))
        });
        self.tell(entry);
        Ok((busy, snapshot.settings))
    }

    fn registered(&self, name: &str) -> Result<RegisteredPool, ChangeError> {
        self.registry.get(name).ok_or(ChangeError::UnknownPool)
    }

    pub(super) fn change(
        &self,
        name: &str,
        change: &Change,
        options: &ChangeOptions,
    ) -> Result<Changed, ChangeError> {
        let pool = self.registered(name)?;
        let (_busy, settings) = self.begin(&pool)?;
        let version = self.version(&pool);
        if options.version.is_some_and(|expected| expected != version) {
            return Err(ChangeError::Conflict { version });
        }
        let changes = self.planned(&pool, change, &settings)?;
        let mut warnings = self.call(|| pool.call(|executor| executor.check(change)))??;
        if !options.force {
            check_factor(&changes)?;
        }
        warnings.extend(processor_warning(change));
        let pending = self.pending(&pool);
        if pending.is_some() {
            warnings.push(String::from(PENDING));
        }
        if options.dry_run || changes.is_empty() {
            return Ok(Changed {
                changes,
                warnings,
                version,
                applied: !options.dry_run,
                revert_at: None,
            });
        }
        let policy = self.make(&pool, change, &changes)?;
        let (now, wall) = self.now();
        let revert_at = options
            .revert_after
            .map(|after| (later(now, after), later_wall(wall, after)));
        let revert_at = earlier(pending, revert_at);
        let last = LastChange {
            changes: changes.clone(),
            audit: Vec::new(),
            revert_at,
            policy,
        };
        let request = Request {
            source: ChangeSource::Api,
            action: Action::Reconfigure,
            actor: options.actor.as_deref(),
        };
        let changed = Changed {
            changes,
            warnings,
            version,
            applied: true,
            revert_at: revert_at.map(|(_, wall)| wall),
        };
        Ok(self.applied(&pool, &request, changed, Some(last)))
    }

    /// Returns what a change would change, if the executor and its limits allow it.
    fn planned(
        &self,
        pool: &RegisteredPool,
        change: &Change,
        settings: &PoolSettings,
    ) -> Result<Vec<FieldChange>, ChangeError> {
        for (field, _) in change.values() {
            if !settings.is_tunable(field) {
                return Err(ChangeError::NotTunable(field));
            }
        }
        if let Some(name) = &change.policy {
            if self.registry.policy(name).is_none() {
                return Err(ChangeError::UnknownPolicy(Arc::clone(name)));
            }
        }
        let changes = change.differences(settings);
        if let Some(limits) = pool.limits() {
            limits.check(&changes)?;
        }
        Ok(changes)
    }

    fn version(&self, pool: &RegisteredPool) -> u64 {
        self.with(|state| state.known(pool).map_or(0, |track| track.tuning.version))
    }

    /// Returns when the last change is undone, if it is to be.
    fn pending(&self, pool: &RegisteredPool) -> Option<(Instant, SystemTime)> {
        self.with(|state| state.known(pool)?.tuning.last_change.as_ref()?.revert_at)
    }

    /// Makes a change of these settings; returns the rejection policy that it has replaced.
    fn make(
        &self,
        pool: &RegisteredPool,
        change: &Change,
        changes: &[FieldChange],
    ) -> Result<Option<(Arc<str>, FormerPolicy)>, ChangeError> {
        let mut change = change.clone();
        let replaced = changes.iter().find(|change| change.field == Field::Policy);
        let Some(Value::Name(former)) = replaced.map(|change| &change.old) else {
            // Another policy of the same name would replace the one that there is, and nobody would see it.
            change.policy = None;
            self.apply(pool, &change, None)?;
            return Ok(None);
        };
        let present = self.call(|| pool.call(|executor| executor.rejection_handler()))?;
        let policy = change.policy.as_ref().and_then(|name| {
            let known = self.former_policy(pool, name);
            known.or_else(|| self.registry.policy(name))
        });
        self.apply(pool, &change, policy)?;
        Ok(present.map(|present| (Arc::clone(former), FormerPolicy(present))))
    }

    /// Returns the rejection policy that the last change has replaced, if it had this name.
    fn former_policy(
        &self,
        pool: &RegisteredPool,
        name: &str,
    ) -> Option<Arc<dyn RejectedExecutionHandler>> {
        self.with(|state| {
            let last = state.known(pool)?.tuning.last_change.as_ref()?;
            let (former, policy) = last.policy.as_ref()?;
            (**former == *name).then(|| Arc::clone(&policy.0))
        })
    }

    fn apply(
        &self,
        pool: &RegisteredPool,
        change: &Change,
        policy: Option<Arc<dyn RejectedExecutionHandler>>,
    ) -> Result<(), ChangeError> {
        self.call(|| pool.call(|executor| executor.apply(change, policy)))?
    }

    /// Records a change that was made: one that can be undone, or that has undone the last one.
    fn applied(
        &self,
        pool: &RegisteredPool,
        request: &Request<'_>,
        mut changed: Changed,
        mut change: Option<LastChange>,
    ) -> Changed {
        // What it has now, which may not be all that was asked for.
        let settings = self.call(|| pool.snapshot()).ok();
        let mut entry = self.new_entry(pool.name(), request);
        entry.changes.clone_from(&changed.changes);
        entry.warnings.clone_from(&changed.warnings);
        entry.revert_at = changed.revert_at;
        let told = self.with(|state| {
            let entry = state.audit.add(entry);
            let Some(track) = state.known(pool) else {
                return vec![entry];
            };
            let tuning = &mut track.tuning;
            tuning.version += 1;
            changed.version = tuning.version;
            if let Some(snapshot) = settings {
                tuning.settings = snapshot.settings;
            }
            let Some(new) = &mut change else {
                tuning.reconfigured.revert += 1;
                change = tuning.last_change.take();
                return vec![entry];
            };
            tuning.reconfigured.api += 1;
            new.audit.push(entry.id);
            match &mut tuning.last_change {
                // A change that is still to be undone must not be forgotten for this one.
                Some(pending) if pending.revert_at.is_some() => pending.merge(new),
                last => std::mem::swap(last, &mut change),
            }
            let Some(last) = &mut tuning.last_change else {
                return vec![entry];
            };
            if last.changes.is_empty() {
                // All is as it was before the first of them.
                last.revert_at = None;
            }
            let at = last.revert_at.map(|(_, wall)| wall);
            changed.revert_at = at;
            let (mut told, audit) = (vec![entry], last.audit.clone());
            told.extend(state.audit.amend(&audit, |entry| entry.revert_at = at));
            told
        });
        // What is left of them may hold a policy of the user: not under the lock.
        drop(change);
        self.tell(told);
        changed
    }

    fn new_entry(&self, pool: &Arc<str>, request: &Request<'_>) -> AuditEntry {
        let wall = self.clock.wall_now();
        let mut entry = AuditEntry::new(pool, wall, request.source, request.action);
        entry.actor = request.actor.map(str::to_owned);
        entry
    }

    pub(super) fn confirm(&self, name: &str, actor: Option<&str>) -> Result<u64, ChangeError> {
        let pool = self.registered(name)?;
        // Whoever undoes the change is busy with it: what is told to be kept stays.
        let (_busy, _) = self.begin(&pool)?;
        let confirmed = self.with(|state| {
            let tuning = &mut state.known(&pool)?.tuning;
            let change = tuning.last_change.as_mut()?;
            change.revert_at.take()?;
            let (audit, version) = (change.audit.clone(), tuning.version);
            let amended = state.audit.amend(&audit, |entry| entry.revert_at = None);
            Some((version, amended))
        });
        let (version, amended) = confirmed.ok_or(ChangeError::NothingPending)?;
        self.tell(amended);
        let request = Request {
            source: ChangeSource::Api,
            action: Action::Confirm,
            actor,
        };
        self.record(self.new_entry(pool.name(), &request));
        Ok(version)
    }

    pub(super) fn revert(&self, name: &str, actor: Option<&str>) -> Result<Changed, ChangeError> {
        self.revert_pool(&self.registered(name)?, actor, |_| true)
    }

    /// Undoes the last change, if it is one that is to be undone.
    fn revert_pool(
        &self,
        pool: &RegisteredPool,
        actor: Option<&str>,
        is_due: impl Fn(&LastChange) -> bool,
    ) -> Result<Changed, ChangeError> {
        let (_busy, settings) = self.begin(pool)?;
        let last = self.with(|state| state.known(pool)?.tuning.last_change.clone());
        let last = last.filter(is_due).ok_or(ChangeError::NothingPending)?;
        let undo = Change::undoing(&last.changes);
        let changes = undo.differences(&settings);
        let policy = match (&last.policy, &undo.policy) {
            (Some((_, former)), Some(_)) => Some(Arc::clone(&former.0)),
            (None, Some(name)) => self.registry.policy(name),
            (_, None) => None,
        };
        if let Err(error) = self.apply(pool, &undo, policy) {
            let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
            let why = format!("not undone: {}: {error}", texts.join(", "));
            self.revert_failed(pool, actor, &last, why);
            return Err(error);
        }
        let request = Request {
            source: ChangeSource::Revert,
            action: Action::Revert,
            actor,
        };
        let changed = Changed {
            changes,
            warnings: self.not_undone(pool, &undo),
            version: 0,
            applied: true,
            revert_at: None,
        };
        let is_undone = changed.warnings.is_empty();
        let changed = self.applied(pool, &request, changed, None);
        let wall = self.clock.wall_now();
        let amended = self.with(|state| {
            state.audit.amend(&last.audit, |entry| {
                entry.revert_at = None;
                if is_undone {
                    entry.reverted = Some(wall);
                }
            })
        });
        self.tell(amended);
        Ok(changed)
    }

    /// Records that a change could not be undone. It is not tried again: it would fail again each second.
    fn revert_failed(
        &self,
        pool: &RegisteredPool,
        actor: Option<&str>,
        last: &LastChange,
        why: String,
    ) {
        let request = Request {
            source: ChangeSource::Revert,
            action: Action::RevertFailed,
            actor,
        };
        let mut entry = self.new_entry(pool.name(), &request);
        entry.warnings.push(why);
        let told = self.with(|state| {
            if let Some(track) = state.known(pool) {
                // The caller has a copy, so that no policy is dropped here.
                track.tuning.last_change = None;
            }
            let amend = |entry: &mut AuditEntry| entry.revert_at = None;
            let mut told = state.audit.amend(&last.audit, amend);
            told.push(state.audit.add(entry));
            told
        });
        self.tell(told);
    }

    /// Returns what an executor has not done of a change that it has accepted.
    fn not_undone(&self, pool: &RegisteredPool, undo: &Change) -> Vec<String> {
        let Ok(snapshot) = self.call(|| pool.snapshot()) else {
            return Vec::new();
        };
        let left = undo.differences(&snapshot.settings).into_iter();
        left.map(|change| format!("not undone: {change}")).collect()
    }

    /// Undoes the changes whose time has come and that nobody has confirmed.
    pub(super) fn revert_due(&self, pools: &[RegisteredPool]) {
        let now = self.clock.now();
        let is_due = |change: &LastChange| change.revert_at.is_some_and(|(at, _)| at <= now);
        for pool in pools {
            let any = self.with(|state| {
                let last = state.known(pool)?.tuning.last_change.as_ref();
                last.map(is_due)
            });
            if any == Some(true) {
                // One that is busy is undone a second later; another failure was recorded.
                let _ = self.revert_pool(pool, None, is_due);
            }
        }
    }

    /// Carries out a command and records it.
    pub(super) fn command<R>(
        &self,
        name: &str,
        action: Action,
        actor: Option<&str>,
        run: impl FnOnce(&dyn Monitored) -> Result<R, ChangeError>,
    ) -> Result<R, ChangeError> {
        let pool = self.registered(name)?;
        let (_busy, _) = self.begin(&pool)?;
        let result = self.call(|| pool.call(run))??;
        let request = Request {
            source: ChangeSource::Api,
            action,
            actor,
        };
        self.record(self.new_entry(pool.name(), &request));
        Ok(result)
    }

    /// Sets the thresholds of an executor and records what differs; returns whether there is one of this name.
    pub(super) fn set_thresholds(
        &self,
        name: &str,
        thresholds: Thresholds,
        source: ChangeSource,
        actor: Option<&str>,
    ) -> bool {
        let set = self.with_track(name, |track, _| {
            let changes = track.thresholds.differences(&thresholds);
            track.thresholds = thresholds;
            changes
        });
        let Ok(changes) = set else {
            return false;
        };
        if !changes.is_empty() {
            let request = Request {
                source,
                action: Action::Thresholds,
                actor,
            };
            let mut entry = self.new_entry(&Arc::from(name), &request);
            entry.detail = Some(changes.join(", "));
            self.record(entry);
        }
        true
    }

    pub(super) fn pause(
        &self,
        name: &str,
        time: Duration,
        actor: Option<&str>,
    ) -> Result<SystemTime, ChangeError> {
        if time.is_zero() || time > LONGEST_PAUSE {
            return Err(ChangeError::InvalidPause);
        }
        self.command(name, Action::Pause, actor, |executor| executor.pause(time))?;
        Ok(later_wall(self.clock.wall_now(), time))
    }
}

fn later(at: Instant, time: Duration) -> Instant {
    at.checked_add(time).unwrap_or(at)
}

fn later_wall(at: SystemTime, time: Duration) -> SystemTime {
    at.checked_add(time).unwrap_or(at)
}

/// Refuses a value that is more than four times as large, or small, as before, and a bound that comes or goes.
fn check_factor(changes: &[FieldChange]) -> Result<(), ChangeError> {
    let is_far = |change: &&FieldChange| match (&change.old, &change.new) {
        (Value::Count(old), Value::Count(new)) => {
            let (old, new) = ((*old).max(1), (*new).max(1));
            new.div_ceil(FACTOR) > old || old.div_ceil(FACTOR) > new
        }
        // No number is near to no bound.
        (Value::Count(_), Value::Unbounded) | (Value::Unbounded, Value::Count(_)) => true,
        (Value::Time(old), Value::Time(new)) if !old.is_zero() && !new.is_zero() => {
            let factor = u32::try_from(FACTOR).unwrap_or(u32::MAX);
            *new > old.saturating_mul(factor) || *old > new.saturating_mul(factor)
        }
        _ => false,
    };
    match changes.iter().find(is_far) {
        Some(change) => Err(ChangeError::TooLarge(change.clone())),
        None => Ok(()),
    }
}

fn processor_warning(change: &Change) -> Option<String> {
    let (field, threads) = match (change.core, change.parallelism) {
        (Some(core), _) => (Field::Core, core),
        (None, Some(parallelism)) => (Field::Parallelism, parallelism),
        (None, None) => return None,
    };
    let processors = available_parallelism();
    (threads > processors.saturating_mul(THREADS_PER_PROCESSOR)).then(|| {
        format!(
            "{field} of {threads} is more than {THREADS_PER_PROCESSOR} times the number of \
             processors, {processors}"
        )
    })
}
