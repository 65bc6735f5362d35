//! When alerts are raised and cleared: a state for each kind, fed with one reading a second.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alert::{Alert, AlertKind, KINDS};
use super::thresholds::Thresholds;

/// How long activity and capacity have to be high.
const HELD: Duration = Duration::from_secs(10);
/// An alert that was told is not told again within this time.
const SILENCE: Duration = Duration::from_secs(120);
/// An alert is cleared below this fraction of its threshold.
const HYSTERESIS: f64 = 0.8;
/// How many runs or waits that are too long raise an alert.
const TIMEOUTS: u64 = 10;

/// What was measured, for all kinds of alerts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    /// The fraction of the maximum of threads that is active.
    pub(super) activity: Option<f64>,
    /// The fraction of the queue's capacity that is taken.
    pub(super) capacity: Option<f64>,
    pub(super) queue_age: Option<Duration>,
    /// Rejected tasks of the last ten and of the last 60 seconds.
    pub(super) rejected: (u64, u64),
    /// Runs and waits of the last two minutes that took too long.
    pub(super) run_timeouts: u64,
    pub(super) queue_timeouts: u64,
    /// The longest current run, and the 99th percentile of all runs.
    pub(super) oldest_running: Option<Duration>,
    pub(super) usual_run: Option<Duration>,
    /// Threads that have ended in the last minute.
    pub(super) exits: u64,
}

/// What one kind of alert makes of a reading.
struct Verdict {
    raises: bool,
    clears: bool,
    value: f64,
    threshold: f64,
}

/// The alerts of one executor.
#[derive(Debug, Default)]
pub(super) struct AlertBook {
    states: [AlertState; KINDS.len()],
}

#[derive(Debug, Default)]
struct AlertState {
    /// Since when the value is high.
    high_since: Option<Instant>,
    alert: Option<Alert>,
    /// When somebody was last told.
    told_at: Option<Instant>,
    /// Whether somebody was told that the alert is active.
    is_told: bool,
    silenced_until: Option<(Instant, SystemTime)>,
}

impl AlertBook {
    /// Raises and clears alerts; returns those of which others are to be told.
    pub(super) fn update(
        &mut self,
        pool: &Arc<str>,
        now: (Instant, SystemTime),
        reading: &Reading,
        thresholds: &Thresholds,
    ) -> Vec<Alert> {
        let states = self.states.iter_mut().zip(KINDS);
        let told = states.filter_map(|(state, kind)| {
            let verdict = judge(kind, reading, thresholds);
            state.update(pool, kind, now, &verdict)
        });
        told.collect()
    }

    /// Returns the kinds that are active.
    pub(super) fn active(&self) -> Vec<AlertKind> {
        let alerts = self.alerts().filter(|alert| alert.active);
        alerts.map(|alert| alert.kind).collect()
    }

    /// Returns the alerts that are active or were.
    pub(super) fn alerts(&self) -> impl Iterator<Item = &Alert> {
        self.states.iter().filter_map(|state| state.alert.as_ref())
    }

    /// Tells nobody of this kind of alert for some time; returns the alert, if there is or was one.
    pub(super) fn silence(
        &mut self,
        kind: AlertKind,
        until: (Instant, SystemTime),
    ) -> Option<Alert> {
        let at = KINDS.iter().position(|known| *known == kind)?;
        let state = &mut self.states[at];
        let alert = state.alert.as_mut()?;
        state.silenced_until = Some(until);
        alert.silenced_until = Some(until.1);
        Some(alert.clone())
    }
}

impl AlertState {
    fn update(
        &mut self,
        pool: &Arc<str>,
        kind: AlertKind,
        (now, wall): (Instant, SystemTime),
        verdict: &Verdict,
    ) -> Option<Alert> {
        let high_since = *self.high_since.get_or_insert(now);
        if !verdict.raises {
            self.high_since = None;
        }
        if self.silenced_until.is_some_and(|(until, _)| until <= now) {
            self.silenced_until = None;
        }
        let silenced_until = self.silenced_until.map(|(_, wall)| wall);
        let is_active = self.alert.as_ref().is_some_and(|alert| alert.active);
        let message = || message(kind, verdict);
        if is_active {
            let alert = self.alert.as_mut()?;
            alert.value = verdict.value;
            alert.threshold = verdict.threshold;
            alert.silenced_until = silenced_until;
            if !verdict.clears {
                alert.message = message();
                return None;
            }
            alert.active = false;
            alert.cleared = Some(wall);
            let alert = alert.clone();
            return std::mem::take(&mut self.is_told).then_some(alert);
        }
        let held = match kind {
            AlertKind::Activity | AlertKind::Capacity => HELD,
            _ => Duration::ZERO,
        };
        if !verdict.raises || now.saturating_duration_since(high_since) < held {
            return None;
        }
        let alert = Alert {
            id: format!("{pool}:{kind}"),
            pool: Arc::clone(pool),
            kind,
            active: true,
            since: wall,
            cleared: None,
            value: verdict.value,
            threshold: verdict.threshold,
            message: message(),
            silenced_until,
        };
        self.alert = Some(alert.clone());
        let was_told = self
            .told_at
            .is_some_and(|at| now.saturating_duration_since(at) < SILENCE);
        if was_told || self.silenced_until.is_some() {
            return None;
        }
        self.told_at = Some(now);
        self.is_told = true;
        Some(alert)
    }
}

fn judge(kind: AlertKind, reading: &Reading, thresholds: &Thresholds) -> Verdict {
    match kind {
        AlertKind::Activity => fraction(reading.activity, thresholds.activity),
        AlertKind::Capacity => fraction(reading.capacity, thresholds.capacity),
        AlertKind::QueueAge => {
            let value = reading.queue_age.unwrap_or_default().as_secs_f64();
            let threshold = thresholds.queue_age.as_secs_f64();
            Verdict {
                raises: reading.queue_age.is_some() && value >= threshold,
                clears: value < threshold / 2.0 || reading.queue_age.is_none(),
                value,
                threshold,
            }
        }
        AlertKind::Reject => {
            let (lately, before) = reading.rejected;
            let raises = lately > 0;
            Verdict {
                raises,
                clears: before == 0,
                // What keeps the alert: in its quiet time that is what was rejected before.
                value: count(if raises { lately } else { before }),
                threshold: 1.0,
            }
        }
        AlertKind::RunTimeout => timeouts(reading.run_timeouts),
        AlertKind::QueueTimeout => timeouts(reading.queue_timeouts),
        AlertKind::Stuck => {
            let usual = reading.usual_run.unwrap_or_default().saturating_mul(10);
            let threshold = thresholds.stuck.max(usual);
            let raises = reading.oldest_running.is_some_and(|run| run > threshold);
            Verdict {
                raises,
                clears: !raises,
                value: reading.oldest_running.unwrap_or_default().as_secs_f64(),
                threshold: threshold.as_secs_f64(),
            }
        }
        AlertKind::ThreadChurn => {
            let (value, threshold) = (count(reading.exits), count(thresholds.churn_per_minute));
            Verdict {
                raises: value > threshold,
                clears: value < threshold * HYSTERESIS || reading.exits == 0,
                value,
                threshold,
            }
        }
    }
}

fn fraction(value: Option<f64>, threshold: f64) -> Verdict {
    let (known, value) = (value.is_some(), value.unwrap_or_default());
    Verdict {
        raises: known && value >= threshold,
        clears: value < threshold * HYSTERESIS,
        value,
        threshold,
    }
}

fn timeouts(number: u64) -> Verdict {
    Verdict {
        raises: number >= TIMEOUTS,
        clears: number == 0,
        value: count(number),
        threshold: count(TIMEOUTS),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
const fn count(number: u64) -> f64 {
    number as f64
}

fn message(kind: AlertKind, verdict: &Verdict) -> String {
    let value = verdict.value;
    match kind {
        AlertKind::Activity => {
            let bound = bound(verdict);
            format!(
                "{:.0} % of the maximum of threads are active, {bound}",
                value * 100.0
            )
        }
        AlertKind::Capacity => {
            let bound = bound(verdict);
            format!("{:.0} % of the queue is taken, {bound}", value * 100.0)
        }
        AlertKind::QueueAge => format!("the next task has been waiting for {value:.1} s"),
        AlertKind::Reject => {
            let window = if verdict.raises { 10 } else { 60 };
            format!("{value:.0} tasks rejected in the last {window} s")
        }
        AlertKind::RunTimeout => format!("{value:.0} tasks ran too long in the last 120 s"),
        AlertKind::QueueTimeout => format!("{value:.0} tasks waited too long in the last 120 s"),
        AlertKind::Stuck => format!("a task has been running for {value:.0} s"),
        AlertKind::ThreadChurn => format!("{value:.0} threads ended in the last minute"),
    }
}

/// Returns which bound keeps an alert on a fraction: the one that raises it, or the one that clears it.
fn bound(verdict: &Verdict) -> String {
    let threshold = verdict.threshold * 100.0;
    if verdict.raises {
        format!("{threshold:.0} % or more")
    } else {
        format!("not yet below {:.0} %", threshold * HYSTERESIS)
    }
}
