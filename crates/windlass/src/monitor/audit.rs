//! Who has changed what: a ring of the last changes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::settings::FieldChange;

/// How many entries are kept.
const KEPT: usize = 256;

/// What a change came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeSource {
    /// Somebody asked the monitor for it.
    Api,
    /// The program has changed the executor itself.
    Code,
    /// An earlier change was undone.
    Revert,
}

impl ChangeSource {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Code => "code",
            Self::Revert => "revert",
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Settings were changed.
    Reconfigure,
    /// Settings were changed back.
    Revert,
    /// A change that would have been undone was confirmed.
    Confirm,
    /// The executor was paused.
    Pause,
    /// The pause was ended.
    Resume,
    /// Cancelled tasks were removed.
    Purge,
    /// Core threads were started.
    Prestart,
    /// The executor was shut down.
    Shutdown,
}

impl Action {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reconfigure => "reconfigure",
            Self::Revert => "revert",
            Self::Confirm => "confirm",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Purge => "purge",
            Self::Prestart => "prestart",
            Self::Shutdown => "shutdown",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One change or command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditEntry {
    /// Its number; later entries have larger ones.
    pub id: u64,
    /// When it was.
    pub at: SystemTime,
    /// The name of the executor.
    pub pool: Arc<str>,
    /// What it came from.
    pub source: ChangeSource,
    /// Who asked for it, as far as is known.
    pub actor: Option<String>,
    /// What was done.
    pub action: Action,
    /// The settings that were changed.
    pub changes: Vec<FieldChange>,
    /// What was warned of.
    pub warnings: Vec<String>,
    /// When the change is undone, unless it is confirmed.
    pub revert_at: Option<SystemTime>,
    /// When the change was undone.
    pub reverted: Option<SystemTime>,
}

impl AuditEntry {
    pub(super) fn new(pool: &Arc<str>, at: SystemTime, source: ChangeSource, act: Action) -> Self {
        Self {
            id: 0,
            at,
            pool: Arc::clone(pool),
            source,
            actor: None,
            action: act,
            changes: Vec::new(),
            warnings: Vec::new(),
            revert_at: None,
            reverted: None,
        }
    }
}

/// The last changes and commands.
#[derive(Debug, Default)]
pub(super) struct Audit {
    entries: VecDeque<AuditEntry>,
    last: u64,
}

impl Audit {
    /// Adds an entry; returns it with its number.
    pub(super) fn add(&mut self, mut entry: AuditEntry) -> AuditEntry {
        self.last += 1;
        entry.id = self.last;
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(entry.clone());
        entry
    }

    /// Records that the change of an entry was undone.
    pub(super) fn set_reverted(&mut self, id: u64, at: SystemTime) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.reverted = Some(at);
        }
    }

    /// Records that the change of an entry stays.
    pub(super) fn set_confirmed(&mut self, id: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.revert_at = None;
        }
    }

    /// Returns the entries, newest first.
    pub(super) fn newest_first(&self) -> Vec<AuditEntry> {
        self.entries.iter().rev().cloned().collect()
    }
}
