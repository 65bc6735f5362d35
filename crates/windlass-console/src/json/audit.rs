//! Who has changed what.

use serde::Serialize;
use windlass::monitor::AuditEntry;

use super::change::{Change, changes};
use super::units::milliseconds;

#[derive(Serialize)]
pub(crate) struct Entry<'a> {
    id: u64,
    at_ms: u64,
    pool: &'a str,
    source: &'static str,
    actor: Option<&'a str>,
    action: &'static str,
    detail: Option<&'a str>,
    changes: Vec<Change<'a>>,
    warnings: &'a [String],
    revert_at_ms: Option<u64>,
    reverted_ms: Option<u64>,
}

impl<'a> From<&'a AuditEntry> for Entry<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        Self {
            id: entry.id,
            at_ms: milliseconds(entry.at),
            pool: &entry.pool,
            source: entry.source.as_str(),
            actor: entry.actor.as_deref(),
            action: entry.action.as_str(),
            detail: entry.detail.as_deref(),
            changes: changes(&entry.changes),
            warnings: &entry.warnings,
            revert_at_ms: entry.revert_at.map(milliseconds),
            reverted_ms: entry.reverted.map(milliseconds),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Audit<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> From<&'a [AuditEntry]> for Audit<'a> {
    fn from(entries: &'a [AuditEntry]) -> Self {
        Self {
            entries: entries.iter().map(Entry::from).collect(),
        }
    }
}
