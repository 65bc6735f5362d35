//! An executor as a console shows it: its figures, and what the monitor knows beside them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::alert::AlertKind;
use super::limits::TuneLimits;
use super::quantiles::Quantiles;
use super::settings::FieldChange;
use super::snapshot::Snapshot;
use crate::task::TaskId;
use crate::times::Ending;

/// An executor and what happened to it lately.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PoolView {
    /// The name under which it is registered.
    pub name: Arc<str>,
    /// Its figures, read now.
    pub snapshot: Snapshot,
    /// The version of its settings: it grows with each change.
    pub version: u64,
    /// The most active threads of the samples of the last ten seconds.
    pub active_peak: usize,
    /// The longest queue of the samples of the last ten seconds.
    pub queue_peak: usize,
    /// How its tasks have ended so far. No count falls from one view to the next.
    pub outcomes: Outcomes,
    /// How much happened in the last second.
    pub rates: Rates,
    /// How long the tasks of the last ten seconds waited; the lateness of those of a scheduled pool.
    pub wait: Option<Quantiles>,
    /// How long the tasks of the last ten seconds ran.
    pub run: Option<Quantiles>,
    /// Runs that took longer than the threshold, since one was set. They are counted when they end.
    pub run_timeouts: u64,
    /// Waits that took longer than the threshold, since one was set. They are counted when they end.
    pub queue_timeouts: u64,
    /// How often its settings were changed.
    pub reconfigured: Reconfigurations,
    /// The alerts that are active.
    pub alerts: Vec<AlertKind>,
    /// The change that will be undone unless it is confirmed.
    pub pending_revert: Option<PendingRevert>,
    /// Until when it is paused.
    pub paused_until: Option<SystemTime>,
    /// The bounds within which its settings may be changed.
    pub limits: Option<Arc<TuneLimits>>,
    /// The names of the rejection policies that may be set.
    pub policies: Vec<Arc<str>>,
    /// The active threads of the last 60 samples, oldest first.
    pub spark_active: Vec<usize>,
    /// The length of the queue of the last 60 samples, oldest first.
    pub spark_queue: Vec<usize>,
}

/// How tasks have ended, as totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Neither failed nor cancelled.
    pub ok: u64,
    /// By an error.
    pub failed: u64,
    /// By a panic.
    pub panicked: u64,
    /// Cancelled before or while they ran.
    pub cancelled: u64,
}

/// How much happened, per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Rates {
    /// Tasks that were submitted.
    pub submitted: f64,
    /// Tasks that have ended.
    pub completed: f64,
    /// Tasks that have failed.
    pub failed: f64,
    /// Tasks that were rejected.
    pub rejected: f64,
    /// Work that was stolen.
    pub steals: f64,
}

/// How often settings were changed, by what the change came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconfigurations {
    /// Through the monitor.
    pub api: u64,
    /// By the program; changes between two samples count as one.
    pub code: u64,
    /// By undoing a change.
    pub revert: u64,
}

/// A change that will be undone unless it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingRevert {
    /// When it is undone.
    pub at: SystemTime,
    /// The settings that it will change.
    pub changes: Vec<FieldChange>,
}

/// Tasks that have ended lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recent {
    /// The slowest of the last five minutes, slowest first; at most 20.
    pub slowest: Vec<RecentTask>,
    /// Those that have failed last, newest first; at most 20.
    pub failed: Vec<RecentTask>,
}

/// A task that has ended lately.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecentTask {
    /// Identifies the task.
    pub id: TaskId,
    /// The name that it was built with.
    pub name: Option<Arc<str>>,
    /// The name of the thread that ran it.
    pub thread: Option<Arc<str>>,
    /// When it ended.
    pub ended: SystemTime,
    /// How long it waited, if that was measured.
    pub wait: Option<Duration>,
    /// How long it ran, if that was measured.
    pub run: Option<Duration>,
    /// How it ended. Of a slow task that has not failed it is `Ok`.
    pub ending: Ending,
    /// The message of its panic, or its error.
    pub message: Option<Arc<str>>,
}

/// The past of an executor, as columns.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct History {
    /// The time between two points.
    pub step: Duration,
    /// The times of the points, oldest first.
    pub times: Vec<SystemTime>,
    /// The values of each series at these times; `None` where nothing was measured.
    pub series: Vec<(&'static str, Vec<Option<f64>>)>,
}

/// Which part of the past is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistorySpan {
    /// The last points of one second; there are 900.
    Seconds(usize),
    /// The last points of one minute; there are 1440.
    Minutes(usize),
}
