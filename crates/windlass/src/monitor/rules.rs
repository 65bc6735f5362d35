//! When alerts are raised and cleared: a state for each kind, fed with one reading a second.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alert::{Alert, AlertKind, KINDS};
use super::thresholds::Thresholds;

/// How long activity and capacity have to be high, and a queue without a worker.
const HELD: Duration = Duration::from_secs(10);
/// How long an engine does not answer before it is down.
const DOWN: Duration = Duration::from_secs(5);
/// An alert that was told to be active is not told to be so again within this time.
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
pub(super) struct Verdict {
    pub(super) raises: bool,
    pub(super) clears: bool,
    pub(super) value: f64,
    pub(super) threshold: f64,
}

/// The alerts of one executor.
#[derive(Debug, Default)]
pub(super) struct AlertBook {
    states: [AlertState; KINDS.len()],
}

/// One alert, from before it is raised.
#[derive(Debug, Default)]
pub(super) struct AlertState {
    /// Since when the value is high.
    high_since: Option<Instant>,
    alert: Option<Alert>,
    /// When somebody was last told that the alert is active.
    told_at: Option<Instant>,
    /// Whether the last that was told is that the alert is active.
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
            state.update((pool, kind), now, &verdict, || message(kind, &verdict))
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
        self.states.iter().filter_map(AlertState::alert)
    }

    /// Ends all alerts, as their executor is gone; returns those that others believe to be active.
    ///
    /// Also those that are silenced: they could not be told later.
    pub(super) fn end(self, wall: SystemTime) -> Vec<Alert> {
        let told = self.states.into_iter().filter(|state| state.is_told);
        let ended = told.filter_map(|state| {
            let mut alert = state.alert?;
            alert.active = false;
            alert.cleared.get_or_insert(wall);
            Some(alert)
        });
        ended.collect()
    }

    /// Tells nobody of this kind of alert for some time; returns the alert, if there is or was one.
    pub(super) fn silence(
        &mut self,
        kind: AlertKind,
        until: (Instant, SystemTime),
    ) -> Option<Alert> {
        let at = KINDS.iter().position(|known| *known == kind)?;
        self.states[at].silence(until)
    }
}

impl AlertState {
    /// Raises or clears the alert of this kind of a pool; returns it if others are to be told.
    pub(super) fn update(
        &mut self,
        of: (&Arc<str>, AlertKind),
        now: (Instant, SystemTime),
        verdict: &Verdict,
        message: impl Fn() -> String,
    ) -> Option<Alert> {
        self.judge(of, now, verdict, message);
        self.tell(now.0)
    }

    /// Returns the alert, if it is or was active.
    pub(super) const fn alert(&self) -> Option<&Alert> {
        self.alert.as_ref()
    }

    /// Tells nobody of the alert for some time; returns it, if it is or was active.
    pub(super) fn silence(&mut self, until: (Instant, SystemTime)) -> Option<Alert> {
        let alert = self.alert.as_mut()?;
        self.silenced_until = Some(until);
        alert.silenced_until = Some(until.1);
        Some(alert.clone())
    }

    /// Returns the alert if others believe something else of it and may be told.
    ///
    /// That it is active is told once in two minutes; what happens while it is silenced is told after that, if
    /// it is still so.
    fn tell(&mut self, now: Instant) -> Option<Alert> {
        let alert = self.alert.as_ref()?;
        if alert.active == self.is_told || self.silenced_until.is_some() {
            return None;
        }
        if alert.active {
            let since = |at: Instant| now.saturating_duration_since(at);
            if self.told_at.is_some_and(|at| since(at) < SILENCE) {
                return None;
            }
            self.told_at = Some(now);
        }
        self.is_told = alert.active;
        Some(alert.clone())
    }

    fn judge(
        &mut self,
        (pool, kind): (&Arc<str>, AlertKind),
        (now, wall): (Instant, SystemTime),
        verdict: &Verdict,
        message: impl Fn() -> String,
    ) {
        let high_since = *self.high_since.get_or_insert(now);
        if !verdict.raises {
            self.high_since = None;
        }
        if self.silenced_until.is_some_and(|(until, _)| until <= now) {
            self.silenced_until = None;
        }
        let silenced_until = self.silenced_until.map(|(_, wall)| wall);
        if let Some(alert) = &mut self.alert {
            alert.silenced_until = silenced_until;
        }
        if let Some(alert) = self.alert.as_mut().filter(|alert| alert.active) {
            alert.value = verdict.value;
            alert.threshold = verdict.threshold;
            if verdict.clears {
                alert.active = false;
                alert.cleared = Some(wall);
            } else {
                alert.message = message();
            }
            return;
        }
        let held = match kind {
            AlertKind::Activity | AlertKind::Capacity | AlertKind::RemoteNoWorker => HELD,
            AlertKind::EngineDown => DOWN,
            _ => Duration::ZERO,
        };
        if !verdict.raises || now.saturating_duration_since(high_since) < held {
            return;
        }
        self.alert = Some(Alert {
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
        });
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
        // These are judged by those who report them.
        AlertKind::RemoteNoWorker | AlertKind::RemoteDead | AlertKind::EngineDown => Verdict {
            raises: false,
            clears: true,
            value: 0.0,
            threshold: 0.0,
        },
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
        AlertKind::RemoteNoWorker | AlertKind::RemoteDead | AlertKind::EngineDown => String::new(),
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
