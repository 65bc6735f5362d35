//! What is written to the journal: the figures once a second, alerts, and entries of the audit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};
use windlass::monitor::Alert;

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
    audit: u64,
    alerts: HashMap<String, Alert>,
    #[cfg(feature = "webhook")]
    webhook: Option<tokio::sync::mpsc::Sender<String>>,
}

impl Feed {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        // What was before the console is no news.
        let audit = shared.monitor.audit().first().map_or(0, |entry| entry.id);
        let alerts = shared.monitor.alerts();
        Self {
            samples: shared.monitor.samples(),
            unwatched: LINGER,
            audit,
            alerts: alerts
                .into_iter()
                .map(|alert| (alert.id.clone(), alert))
                .collect(),
            #[cfg(feature = "webhook")]
            webhook: None,
            shared,
        }
    }

    /// Posts alerts to this end too.
    #[cfg(feature = "webhook")]
    pub(crate) fn with_webhook(mut self, webhook: tokio::sync::mpsc::Sender<String>) -> Self {
        self.webhook = Some(webhook);
        self
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
                () = shared.changed.notified() => self.write_audit(),
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

    /// Writes the alerts that were raised or cleared, or silenced, since the last time.
    fn write_alerts(&mut self) {
        let alerts = self.shared.monitor.alerts();
        for alert in &alerts {
            let former = self.alerts.get(&alert.id);
            if former.is_some_and(|former| is_same(former, alert)) {
                continue;
            }
            self.write(Kind::Alert, &json::Alert::from(alert));
            let told = former.is_some_and(|former| is_same_state(former, alert));
            if !told && alert.silenced_until.is_none() {
                self.post(alert);
            }
        }
        self.alerts = alerts
            .into_iter()
            .map(|alert| (alert.id.clone(), alert))
            .collect();
    }

    fn write_audit(&mut self) {
        let mut entries = self.shared.monitor.audit();
        entries.retain(|entry| entry.id > self.audit);
        for entry in entries.iter().rev() {
            self.audit = entry.id;
            self.write(Kind::Audit, &json::Entry::from(entry));
        }
    }

    fn write(&self, kind: Kind, value: &impl Serialize) {
        if let Ok(data) = serde_json::to_string(value) {
            self.shared.journal.append(kind, data);
        }
    }

    #[cfg(feature = "webhook")]
    fn post(&self, alert: &Alert) {
        if let (Some(webhook), Ok(data)) = (
            &self.webhook,
            serde_json::to_string(&json::Alert::from(alert)),
        ) {
            // If the other end is too slow, the alert is dropped.
            let _ = webhook.try_send(data);
        }
    }

    #[cfg(not(feature = "webhook"))]
    #[expect(
        clippy::unused_self,
        reason = "there is nobody to post to without the feature"
    )]
    const fn post(&self, _alert: &Alert) {}
}

/// Returns whether a client that has the one knows the other. The value changes all the time.
fn is_same(former: &Alert, alert: &Alert) -> bool {
    is_same_state(former, alert) && former.silenced_until == alert.silenced_until
}

fn is_same_state(former: &Alert, alert: &Alert) -> bool {
    former.active == alert.active && former.since == alert.since && former.cleared == alert.cleared
}
