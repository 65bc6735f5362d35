//! Alerts on conditions outside the executors, which others watch and report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::alert::{Alert, AlertKind};
use super::rules::{AlertState, Verdict};

/// A condition outside the executors as it is now; see [`Monitor::report`](super::Monitor::report).
///
/// ```
/// use windlass::monitor::{AlertKind, Condition, Monitor, Registry};
///
/// let monitor = Monitor::builder().registry(&Registry::new()).manual(true).start().unwrap();
/// let mut condition = Condition::new("orders", AlertKind::RemoteDead);
/// condition.raises = true;
/// condition.value = 2.0;
/// condition.message = "2 tasks are dead letters";
/// monitor.report(&condition);
/// assert_eq!(monitor.alerts()[0].id, "orders:remote_dead");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Condition<'a> {
    /// The queue or the engine that it is about.
    pub subject: &'a str,
    /// The kind of its alert.
    pub kind: AlertKind,
    /// Whether it is so that the alert is raised, once it has been so for as long as the kind asks for.
    pub raises: bool,
    /// Whether it is so that the alert is cleared.
    pub clears: bool,
    /// The value that was measured.
    pub value: f64,
    /// The threshold that it is compared with.
    pub threshold: f64,
    /// What was measured, in words.
    pub message: &'a str,
}

impl<'a> Condition<'a> {
    /// Creates a condition that neither raises nor clears its alert.
    #[must_use]
    pub const fn new(subject: &'a str, kind: AlertKind) -> Self {
        Self {
            subject,
            kind,
            raises: false,
            clears: false,
            value: 0.0,
            threshold: 0.0,
            message: "",
        }
    }
}

/// The alerts on conditions that were reported, by their ids.
#[derive(Debug, Default)]
pub(super) struct Reported(BTreeMap<String, AlertState>);

impl Reported {
    /// Raises or clears an alert; returns it if others are to be told.
    pub(super) fn update(
        &mut self,
        condition: &Condition<'_>,
        now: (Instant, SystemTime),
    ) -> Option<Alert> {
        let id = format!("{}:{}", condition.subject, condition.kind);
        let verdict = Verdict {
            raises: condition.raises,
            clears: condition.clears,
            value: condition.value,
            threshold: condition.threshold,
        };
        let message = || condition.message.to_owned();
        let subject = Arc::from(condition.subject);
        let state = self.0.entry(id).or_default();
        state.update((&subject, condition.kind), now, &verdict, message)
    }

    /// Returns the alerts that are active or were.
    pub(super) fn alerts(&self) -> impl Iterator<Item = &Alert> {
        self.0.values().filter_map(AlertState::alert)
    }

    pub(super) fn silence(&mut self, id: &str, until: (Instant, SystemTime)) -> Option<Alert> {
        self.0.get_mut(id)?.silence(until)
    }
}
