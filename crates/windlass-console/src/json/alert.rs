//! Alerts and the thresholds that raise them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use windlass::monitor;

use super::units::{milliseconds, seconds};

#[derive(Serialize)]
pub(crate) struct Alert<'a> {
    id: &'a str,
    pool: &'a str,
    kind: &'static str,
    active: bool,
    since_ms: u64,
    cleared_ms: Option<u64>,
    value: f64,
    threshold: f64,
    message: &'a str,
    silenced_until_ms: Option<u64>,
}

impl<'a> From<&'a monitor::Alert> for Alert<'a> {
    fn from(alert: &'a monitor::Alert) -> Self {
        Self {
            id: &alert.id,
            pool: &alert.pool,
            kind: alert.kind.as_str(),
            active: alert.active,
            since_ms: milliseconds(alert.since),
            cleared_ms: alert.cleared.map(milliseconds),
            value: finite(alert.value),
            threshold: finite(alert.threshold),
            message: &alert.message,
            silenced_until_ms: alert.silenced_until.map(milliseconds),
        }
    }
}

/// JSON has no infinity.
const fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[derive(Serialize)]
pub(crate) struct Thresholds {
    activity: f64,
    capacity: f64,
    queue_age_seconds: f64,
    run_timeout_seconds: Option<f64>,
    queue_timeout_seconds: Option<f64>,
    stuck_seconds: f64,
    churn_per_minute: u64,
}

impl From<&monitor::Thresholds> for Thresholds {
    fn from(thresholds: &monitor::Thresholds) -> Self {
        Self {
            activity: thresholds.activity,
            capacity: thresholds.capacity,
            queue_age_seconds: thresholds.queue_age.as_secs_f64(),
            run_timeout_seconds: seconds(thresholds.run_timeout),
            queue_timeout_seconds: seconds(thresholds.queue_timeout),
            stuck_seconds: thresholds.stuck.as_secs_f64(),
            churn_per_minute: thresholds.churn_per_minute,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Alerts<'a> {
    alerts: Vec<Alert<'a>>,
    thresholds: BTreeMap<&'a str, Thresholds>,
}

impl<'a> Alerts<'a> {
    pub(crate) fn new(
        alerts: &'a [monitor::Alert],
        thresholds: &'a [(Arc<str>, monitor::Thresholds)],
    ) -> Self {
        Self {
            alerts: alerts.iter().map(Alert::from).collect(),
            thresholds: thresholds
                .iter()
                .map(|(pool, of)| (&**pool, of.into()))
                .collect(),
        }
    }
}
