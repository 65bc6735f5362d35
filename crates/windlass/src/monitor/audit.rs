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
    /// Settings should have been changed back, and were not; the warnings say why.
    RevertFailed,
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
    /// The thresholds of alerts were changed.
    Thresholds,
    /// An alert was silenced.
    Silence,
    /// A remote task was cancelled.
    RemoteCancel,
    /// A dead letter was made ready again.
    RemoteRetry,
    /// A dead letter was deleted.
    RemoteDelete,
    /// A remote queue was paused.
    RemotePause,
    /// The pause of a remote queue was ended.
    RemoteResume,
}

impl Action {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reconfigure => "reconfigure",
            Self::Revert => "revert",
            Self::RevertFailed => "revert_failed",
            Self::Confirm => "confirm",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Purge => "purge",
            Self::Prestart => "prestart",
            Self::Shutdown => "shutdown",
            Self::Thresholds => "thresholds",
            Self::Silence => "silence",
            Self::RemoteCancel => "remote_cancel",
            Self::RemoteRetry => "remote_retry",
            Self::RemoteDelete => "remote_delete",
            Self::RemotePause => "remote_pause",
            Self::RemoteResume => "remote_resume",
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
    /// The name of the executor; `remote` for what was done to remote tasks and queues.
    pub pool: Arc<str>,
    /// What it came from.
    pub source: ChangeSource,
    /// Who asked for it, as far as is known.
    pub actor: Option<String>,
    /// What was done.
    pub action: Action,
    /// What else there is to say: thresholds with their old and new values, the alert, task or queue.
    pub detail: Option<String>,
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
            detail: None,
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

    /// Amends entries that are still kept; returns those that are different now.
    pub(super) fn amend(
        &mut self,
        ids: &[u64],
        amend: impl Fn(&mut AuditEntry),
    ) -> Vec<AuditEntry> {
        let entries = self.entries.iter_mut();
        let amended = entries.filter(|entry| ids.contains(&entry.id));
        let amended = amended.filter_map(|entry| {
            let former = entry.clone();
            amend(entry);
            (*entry != former).then(|| entry.clone())
        });
        amended.collect()
    }

    /// Returns the entries, newest first.
    pub(super) fn newest_first(&self) -> Vec<AuditEntry> {
        self.entries.iter().rev().cloned().collect()
    }
}
