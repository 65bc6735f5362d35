//! What is written to the journal: the figures once a second, alerts, and entries of the audit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};
use windlass::monitor::{Alert, AuditEntry};

use super::journal::Kind;
use crate::json;
use crate::overview::Figures;
use crate::shared::Shared;

/// How often the feed looks whether the monitor has sampled, which is no more than reading a counter.
const LOOK: Duration = Duration::from_millis(200);

/// For how many samples the figures are written after the last client has left, so that it can come back
/// without a gap. After that nobody pays for them.
const LINGER: u32 = 60;

/// What the feed has written already.
pub(crate) struct Feed {
    shared: Arc<Shared>,
    samples: u64,
    /// Samples since there was a client.
    unwatched: u32,
    audit: HashMap<u64, AuditEntry>,
    alerts: HashMap<String, Alert>,
}

impl Feed {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        // What was before the console is no news.
        let audit = shared.monitor.audit();
        let alerts = shared.monitor.alerts();
        Self {
            samples: shared.monitor.samples(),
            unwatched: LINGER,
            audit: by_id(audit),
            alerts: alerts
                .into_iter()
                .map(|alert| (alert.id.clone(), alert))
                .collect(),
            shared,
        }
    }

    /// Writes until the console stops.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let mut stopping = shared.stopping.clone();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = looks.tick() => self.look(),
                () = shared.changed.notified() => {
                    self.write_alerts();
                    self.write_audit();
                }
                () = stopping.wait() => return,
            }
        }
    }

    fn look(&mut self) {
        let samples = self.shared.monitor.samples();
        if samples == self.samples {
            return;
        }
        self.samples = samples;
        self.write_figures();
        self.write_alerts();
        self.write_audit();
    }

    fn write_figures(&mut self) {
        if self.shared.journal.is_watched() {
            self.unwatched = 0;
        } else if self.unwatched >= LINGER {
            return;
        } else {
            self.unwatched += 1;
        }
        let views = self.shared.monitor.pools();
        self.write(Kind::Pools, &Figures::new(&self.shared, &views));
    }

    /// Writes the alerts that were raised or cleared, or silenced, since the last time: the page shows what is,
    /// also what others are not told.
    fn write_alerts(&mut self) {
        let alerts = self.shared.monitor.alerts();
        for alert in &alerts {
            let former = self.alerts.get(&alert.id);
            if former.is_some_and(|former| is_same(former, alert)) {
                continue;
            }
            self.write(Kind::Alert, &json::Alert::from(alert));
        }
        self.alerts = alerts
            .into_iter()
            .map(|alert| (alert.id.clone(), alert))
            .collect();
    }

    /// Writes the entries that are new or were amended since the last time: a change that was undone says so.
    fn write_audit(&mut self) {
        let entries = self.shared.monitor.audit();
        for entry in entries.iter().rev() {
            if self.audit.get(&entry.id) != Some(entry) {
                self.write(Kind::Audit, &json::Entry::from(entry));
            }
        }
        self.audit = by_id(entries);
    }

    fn write(&self, kind: Kind, value: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(value) {
            self.shared.journal.append(kind, data);
        }
    }
}

fn by_id(entries: Vec<AuditEntry>) -> HashMap<u64, AuditEntry> {
    let entries = entries.into_iter();
    entries.map(|entry| (entry.id, entry)).collect()
}

/// Returns whether a client that has the one knows the other. The value changes all the time.
fn is_same(former: &Alert, alert: &Alert) -> bool {
    former.active == alert.active
        && former.since == alert.since
        && former.cleared == alert.cleared
        && former.silenced_until == alert.silenced_until
}
