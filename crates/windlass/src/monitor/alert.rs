//! An alert as others see it.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AlertKind {
    /// Nearly all threads have been active for ten seconds.
    Activity,
    /// The queue has been nearly full for ten seconds.
    Capacity,
    /// The next task of the queue has been waiting too long.
    QueueAge,
    /// Tasks were rejected in the last ten seconds.
    Reject,
    /// Ten tasks in two minutes ran too long.
    RunTimeout,
    /// Ten tasks in two minutes waited too long.
    QueueTimeout,
    /// One task runs much longer than others do.
    Stuck,
    /// Threads end, and are started again, too often.
    ThreadChurn,
    /// Tasks of a remote queue have been ready for ten seconds, and no worker serves it.
    RemoteNoWorker,
    /// Remote tasks have become dead letters.
    RemoteDead,
    /// A remote engine has not answered for five seconds.
    EngineDown,
}

/// The kinds of alerts on an executor.
pub(super) const KINDS: [AlertKind; 8] = [
    AlertKind::Activity,
    AlertKind::Capacity,
    AlertKind::QueueAge,
    AlertKind::Reject,
    AlertKind::RunTimeout,
    AlertKind::QueueTimeout,
    AlertKind::Stuck,
    AlertKind::ThreadChurn,
];

/// The kinds of alerts on what is outside of this process.
const REMOTE_KINDS: [AlertKind; 3] = [
    AlertKind::RemoteNoWorker,
    AlertKind::RemoteDead,
    AlertKind::EngineDown,
];

impl AlertKind {
    /// Returns its name, as a console shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Capacity => "capacity",
            Self::QueueAge => "queue_age",
            Self::Reject => "reject",
            Self::RunTimeout => "run_timeout",
            Self::QueueTimeout => "queue_timeout",
            Self::Stuck => "stuck",
            Self::ThreadChurn => "thread_churn",
            Self::RemoteNoWorker => "remote_no_worker",
            Self::RemoteDead => "remote_dead",
            Self::EngineDown => "engine_down",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let mut kinds = KINDS.into_iter().chain(REMOTE_KINDS);
        kinds.find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for AlertKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An alert that is, or was, active.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Alert {
    /// Identifies it: the name of the executor and the kind, with a colon between them.
    pub id: String,
    /// The name of the executor; of the remote queue, or of the engine, if it is about one.
    pub pool: Arc<str>,
    /// What it is about.
    pub kind: AlertKind,
    /// Whether it is active.
    pub active: bool,
    /// Since when it is active, or was when it was last raised.
    pub since: SystemTime,
    /// When it was cleared.
    pub cleared: Option<SystemTime>,
    /// The value that was measured last.
    pub value: f64,
    /// The threshold that it is compared with.
    pub threshold: f64,
    /// What was measured, in words.
    pub message: String,
    /// Until when nobody is told.
    pub silenced_until: Option<SystemTime>,
}
