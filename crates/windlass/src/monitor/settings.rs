//! The settings of an executor that can be changed, and their values.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A setting that can be changed while an executor runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// How many threads are kept even when idle.
    Core,
    /// The most threads.
    Max,
    /// How long an idle thread waits for a task before it ends.
    KeepAlive,
    /// Whether core threads end too when they are idle.
    AllowCoreTimeout,
    /// How many tasks the queue holds.
    Capacity,
    /// What happens to a task that cannot be accepted, by name.
    Policy,
    /// The parallelism of a fork-join pool.
    Parallelism,
}

impl Field {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Max => "max",
            Self::KeepAlive => "keep_alive_seconds",
            Self::AllowCoreTimeout => "allow_core_timeout",
            Self::Capacity => "capacity",
            Self::Policy => "policy",
            Self::Parallelism => "parallelism",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A number of threads or tasks.
    Count(usize),
    /// There is no bound.
    Unbounded,
    /// A time.
    Time(Duration),
    /// Yes or no.
    Flag(bool),
    /// The name of a policy.
    Name(Arc<str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Unbounded => f.write_str("unbounded"),
            Self::Time(time) => write!(f, "{time:?}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// One setting that was, or would be, changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldChange {
    /// Which one.
    pub field: Field,
    /// The former value.
    pub old: Value,
    /// The new value.
    pub new: Value,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.field, self.old, self.new)
    }
}

/// The settings of an executor; what it does not have is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolSettings {
    /// How many threads are kept even when idle.
    pub core: Option<usize>,
    /// The most threads.
    pub max: Option<usize>,
    /// How long an idle thread waits for a task before it ends.
    pub keep_alive: Option<Duration>,
    /// Whether core threads end too when they are idle.
    pub allow_core_timeout: Option<bool>,
    /// How many tasks the queue holds; `None` if there is no bound, or no queue.
    pub capacity: Option<usize>,
    /// The name of the rejection policy.
    pub policy: Option<Arc<str>>,
    /// The parallelism of a fork-join pool.
    pub parallelism: Option<usize>,
    /// The settings that may be changed.
    pub tunable: Vec<Field>,
}

impl PoolSettings {
    /// Returns the value of a setting; `None` if the executor does not have it.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<Value> {
        match field {
            Field::Core => self.core.map(Value::Count),
            Field::Max => self.max.map(Value::Count),
            Field::KeepAlive => self.keep_alive.map(Value::Time),
            Field::AllowCoreTimeout => self.allow_core_timeout.map(Value::Flag),
            Field::Capacity => match self.capacity {
                Some(capacity) => Some(Value::Count(capacity)),
                None => self.is_tunable(field).then_some(Value::Unbounded),
            },
            Field::Policy => self.policy.clone().map(Value::Name),
            Field::Parallelism => self.parallelism.map(Value::Count),
        }
    }

    /// Returns whether the setting may be changed.
    #[must_use]
    pub fn is_tunable(&self, field: Field) -> bool {
        self.tunable.contains(&field)
    }

    /// Returns what differs in the newer settings.
    pub(super) fn differences(&self, newer: &Self) -> Vec<FieldChange> {
        let differs = FIELDS.into_iter().filter_map(|field| {
            let (old, new) = (self.get(field)?, newer.get(field)?);
            (old != new).then_some(FieldChange { field, old, new })
        });
        differs.collect()
    }
}

/// All settings, in the order in which they are shown.
pub(super) const FIELDS: [Field; 7] = [
    Field::Core,
    Field::Max,
    Field::KeepAlive,
    Field::AllowCoreTimeout,
    Field::Capacity,
    Field::Policy,
    Field::Parallelism,
];
