//! A change of settings as somebody asks for it, and what it has done.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::settings::{Field, FieldChange, PoolSettings, Value};

/// A change of several settings of an executor; what is `None` stays as it is.
///
/// ```
/// use windlass::monitor::Change;
///
/// let change = Change::new().core(8).max(16).policy("caller_runs");
/// assert_eq!(change.capacity, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a change has no effect until it is applied"]
pub struct Change {
    /// How many threads are kept even when idle.
    pub core: Option<usize>,
    /// The most threads.
    pub max: Option<usize>,
    /// How long an idle thread waits for a task before it ends.
    pub keep_alive: Option<Duration>,
    /// Whether core threads end too when they are idle.
    pub allow_core_timeout: Option<bool>,
    /// How many tasks the queue holds.
    pub capacity: Option<usize>,
    /// The name of the rejection policy.
    pub policy: Option<Arc<str>>,
    /// The parallelism of a fork-join pool.
    pub parallelism: Option<usize>,
}

impl Change {
    /// Creates a change of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many threads are kept even when idle.
    pub const fn core(mut self, threads: usize) -> Self {
        self.core = Some(threads);
        self
    }

    /// Sets the most threads.
    pub const fn max(mut self, threads: usize) -> Self {
        self.max = Some(threads);
        self
    }

    /// Sets how long an idle thread waits for a task before it ends.
    pub const fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = Some(time);
        self
    }

    /// Sets whether core threads end too when they are idle.
    pub const fn allow_core_timeout(mut self, allow: bool) -> Self {
        self.allow_core_timeout = Some(allow);
        self
    }

    /// Sets how many tasks the queue holds; `usize::MAX` for no bound.
    pub const fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Sets the rejection policy by its name: `abort`, `caller_runs`, `discard`, `discard_oldest`, `block`,
    /// or one that was [registered](super::Registry::register_policy).
    pub fn policy(mut self, name: impl Into<Arc<str>>) -> Self {
        self.policy = Some(name.into());
        self
    }

    /// Sets the parallelism of a fork-join pool.
    pub const fn parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = Some(parallelism);
        self
    }

    /// Returns the settings that it names, with their new values.
    #[must_use]
    pub fn values(&self) -> Vec<(Field, Value)> {
        let values = [
            self.core.map(|core| (Field::Core, Value::Count(core))),
            self.max.map(|max| (Field::Max, Value::Count(max))),
            self.keep_alive
                .map(|time| (Field::KeepAlive, Value::Time(time))),
            self.allow_core_timeout
                .map(|allow| (Field::AllowCoreTimeout, Value::Flag(allow))),
            self.capacity
                .map(|capacity| (Field::Capacity, bound(capacity))),
            self.policy
                .clone()
                .map(|name| (Field::Policy, Value::Name(name))),
            self.parallelism
                .map(|count| (Field::Parallelism, Value::Count(count))),
        ];
        values.into_iter().flatten().collect()
    }

    /// Returns what it would change in these settings.
    pub(super) fn differences(&self, settings: &PoolSettings) -> Vec<FieldChange> {
        let changes = self.values().into_iter().filter_map(|(field, new)| {
            let old = settings.get(field)?;
            (old != new).then_some(FieldChange { field, old, new })
        });
        changes.collect()
    }

    /// Returns the change that undoes these.
    pub(super) fn undoing(changes: &[FieldChange]) -> Self {
        let mut undo = Self::new();
        for change in changes {
            undo.set(change.field, &change.old);
        }
        undo
    }

    fn set(&mut self, field: Field, value: &Value) {
        match (field, value) {
            (Field::Core, Value::Count(count)) => self.core = Some(*count),
            (Field::Max, Value::Count(count)) => self.max = Some(*count),
            (Field::KeepAlive, Value::Time(time)) => self.keep_alive = Some(*time),
            (Field::AllowCoreTimeout, Value::Flag(flag)) => self.allow_core_timeout = Some(*flag),
            (Field::Capacity, Value::Count(count)) => self.capacity = Some(*count),
            (Field::Capacity, Value::Unbounded) => self.capacity = Some(UNBOUNDED),
            (Field::Policy, Value::Name(name)) => self.policy = Some(Arc::clone(name)),
            (Field::Parallelism, Value::Count(count)) => self.parallelism = Some(*count),
            _ => {}
        }
    }
}

/// The capacity of a queue that has no bound, as all queues of this library understand it.
const UNBOUNDED: usize = usize::MAX;

const fn bound(capacity: usize) -> Value {
    match capacity {
        UNBOUNDED => Value::Unbounded,
        capacity => Value::Count(capacity),
    }
}

/// How a [`Change`] is applied; see [`Monitor::change`](super::Monitor::change).
///
/// ```
/// use std::time::Duration;
/// use windlass::monitor::ChangeOptions;
///
/// let options = ChangeOptions::new().version(3).revert_after(Duration::from_secs(60));
/// assert!(!options.dry_run);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "options have no effect by themselves"]
pub struct ChangeOptions {
    /// The version of the settings that the change was made for; any if `None`.
    pub version: Option<u64>,
    /// Whether the change is only checked.
    pub dry_run: bool,
    /// Whether a value may be more than four times as large, or small, as before, and a bound come or go.
    pub force: bool,
    /// After how long the change is undone, unless it is confirmed.
    pub revert_after: Option<Duration>,
    /// Who asks for the change, for the audit.
    pub actor: Option<String>,
}

impl ChangeOptions {
    /// Creates options: any version, applied at once, not undone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses the change if the settings have another version than this.
    pub const fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets whether the change is only checked.
    pub const fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets whether a value may be more than four times as large, or small, as before, and a bound come or go.
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets after how long the change is undone, unless it is confirmed.
    pub const fn revert_after(mut self, time: Duration) -> Self {
        self.revert_after = Some(time);
        self
    }

    /// Sets who asks for the change.
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }
}

/// What a change has done, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// The settings whose values differ.
    pub changes: Vec<FieldChange>,
    /// What may surprise.
    pub warnings: Vec<String>,
    /// The version of the settings, after the change if it was applied.
    pub version: u64,
    /// Whether the change was applied.
    pub applied: bool,
    /// When the change is undone, unless it is confirmed.
    pub revert_at: Option<SystemTime>,
}
