//! Changes of settings.

use serde::Serialize;
use windlass::monitor::{self, FieldChange};

use super::units::{bound, milliseconds};

/// One setting, its former value and its new one.
#[derive(Serialize)]
pub(super) struct Change<'a> {
    field: &'static str,
    old: Value<'a>,
    new: Value<'a>,
}

impl<'a> From<&'a FieldChange> for Change<'a> {
    fn from(change: &'a FieldChange) -> Self {
        Self {
            field: change.field.as_str(),
            old: (&change.old).into(),
            new: (&change.new).into(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Count(Option<u64>),
    Seconds(f64),
    Flag(bool),
    Name(&'a str),
}

impl<'a> From<&'a monitor::Value> for Value<'a> {
    fn from(value: &'a monitor::Value) -> Self {
        match value {
            monitor::Value::Count(count) => Self::Count(bound(*count)),
            monitor::Value::Time(time) => Self::Seconds(time.as_secs_f64()),
            monitor::Value::Flag(flag) => Self::Flag(*flag),
            monitor::Value::Name(name) => Self::Name(name),
            // No bound, and what a later version of the library may add.
            _ => Self::Count(None),
        }
    }
}

pub(super) fn changes(changes: &[FieldChange]) -> Vec<Change<'_>> {
    changes.iter().map(Change::from).collect()
}

/// What a change of settings has done, or would do.
#[derive(Serialize)]
pub(crate) struct Changed<'a> {
    changes: Vec<Change<'a>>,
    warnings: &'a [String],
    version: u64,
    applied: bool,
    revert_at_ms: Option<u64>,
}

impl<'a> From<&'a monitor::Changed> for Changed<'a> {
    fn from(changed: &'a monitor::Changed) -> Self {
        Self {
            changes: changes(&changed.changes),
            warnings: &changed.warnings,
            version: changed.version,
            applied: changed.applied,
            revert_at_ms: changed.revert_at.map(milliseconds),
        }
    }
}

/// What undoing a change has done.
#[derive(Serialize)]
pub(crate) struct Reverted<'a> {
    changes: Vec<Change<'a>>,
    version: u64,
}

impl<'a> From<&'a monitor::Changed> for Reverted<'a> {
    fn from(changed: &'a monitor::Changed) -> Self {
        Self {
            changes: changes(&changed.changes),
            version: changed.version,
        }
    }
}
