//! Named schedules: fixed rate, fixed delay, cron; kept by the engine, fired by whichever worker is first.
//!
//! A schedule's rule is a text that engines keep without reading it. The worker that finds a schedule due computes the next
//! time and fires with the time it has seen; the engine accepts that once. So no worker leads, and a schedule goes on as
//! long as any worker lives. Its tasks have the ids `cron:<name>:<time>`.

use crate::engine::{Due, Engine, EngineError, Fire, MAX_BATCH, Overlap};
use crate::id::{QueueName, TaskId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time that is late by no more than this is on time, unless the schedule says otherwise.
const ON_TIME: Duration = Duration::from_secs(1);
/// So many missed times are looked at; older ones are lost, whatever the policy.
const MAX_MISSED: usize = 1_000;

/// What happens to times at which no worker was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfire {
    /// They are left out. A time that is late by no more than [`Schedule::late_after`] is not missed.
    Skip,
    /// One task is submitted for all of them.
    #[default]
    RunOnce,
    /// A task is submitted for each, at most for so many of the latest, and for no more than
    /// [`MAX_BATCH`], 200.
    CatchUp(u32),
}

impl Misfire {
    fn to_wire(self) -> String {
        match self {
            Self::Skip => "s".into(),
            Self::RunOnce => "1".into(),
            Self::CatchUp(most) => format!("c{most}"),
        }
    }

    fn from_wire(text: &str) -> Option<Self> {
        match text {
            "s" => Some(Self::Skip),
            "1" => Some(Self::RunOnce),
            _ => text.strip_prefix('c')?.parse().ok().map(Self::CatchUp),
        }
    }

    /// Chooses among the times that have come, oldest first.
    fn choose(self, mut times: Vec<u64>, now: u64, late_after: u64) -> Vec<u64> {
        let keep = match self {
            Self::Skip => {
                times.retain(|at| now.saturating_sub(*at) <= late_after);
                1
            }
            Self::RunOnce => 1,
            Self::CatchUp(most) => (most as usize).min(MAX_BATCH),
        };
        times.split_off(times.len().saturating_sub(keep))
    }
}

/// When a named schedule submits its task.
///
/// ```
/// use std::time::Duration;
/// use windlass_remote::{Misfire, Schedule};
///
/// let hourly = Schedule::at_fixed_rate(Duration::ZERO, Duration::from_secs(3600)).misfire(Misfire::Skip);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Schedule {
    rule: Rule,
    misfire: Misfire,
    late_after: Duration,
    overlap: Overlap,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Rate {
        first: Duration,
        every: Duration,
    },
    Delay {
        first: Duration,
        pause: Duration,
    },
    #[cfg(feature = "cron")]
    Cron {
        expression: String,
        zone: String,
    },
}

/// A schedule that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError(String);

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScheduleError {}

impl Schedule {
    /// Submits the task after `first` and then every `period`.
    pub const fn at_fixed_rate(first: Duration, period: Duration) -> Self {
        Self::of(Rule::Rate {
            first,
            every: period,
        })
    }

    /// Submits the task after `first`, and then `pause` after each outcome.
    pub const fn with_fixed_delay(first: Duration, pause: Duration) -> Self {
        Self::of(Rule::Delay { first, pause })
    }

    const fn of(rule: Rule) -> Self {
        Self {
            rule,
            misfire: Misfire::RunOnce,
            late_after: ON_TIME,
            overlap: Overlap::Skip,
        }
    }

    /// Submits the task at the times of a cron expression in a time zone such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// If the expression or the zone is invalid.
    #[cfg(feature = "cron")]
    pub fn cron(expression: &str, zone: &str) -> Result<Self, ScheduleError> {
        let parsed = windlass::scheduled::Cron::parse(expression, zone);
        parsed.map_err(|error| ScheduleError(error.to_string()))?;
        Ok(Self::of(Rule::Cron {
            expression: expression.into(),
            zone: zone.into(),
        }))
    }

    /// Sets what happens to missed times.
    pub const fn misfire(mut self, misfire: Misfire) -> Self {
        self.misfire = misfire;
        self
    }

    /// Sets by how much a time may be late and still count where missed times are [left out](Misfire::Skip); a second if not set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_remote::{Misfire, Schedule};
    ///
    /// let minute = Duration::from_secs(60);
    /// let report = Schedule::at_fixed_rate(minute, minute).misfire(Misfire::Skip).late_after(minute / 2);
    /// ```
    pub const fn late_after(mut self, time: Duration) -> Self {
        self.late_after = time;
        self
    }

    /// Returns the policy for missed times as it travels: with the time after which one is late, unless that is the usual one.
    fn misfire_wire(&self) -> String {
        let mut wire = self.misfire.to_wire();
        if self.misfire == Misfire::Skip && self.late_after != ON_TIME {
            wire += &self.late_after.as_millis().to_string();
        }
        wire
    }

    /// Sets what happens while the last task has no outcome.
    pub const fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    pub(crate) const fn overlap_policy(&self) -> Overlap {
        self.overlap
    }

    /// Returns the time between an outcome and the next task, for fixed delays.
    pub(crate) const fn after_finish(&self) -> Option<Duration> {
        match self.rule {
            Rule::Delay { pause, .. } => Some(pause),
            _ => None,
        }
    }

    /// Returns the rule for the engine, and the first time.
    pub(crate) fn plan(&self, now: u64) -> Result<(String, u64), ScheduleError> {
        let misfire = self.misfire_wire();
        match &self.rule {
            Rule::Rate { every, .. } if every.as_millis() == 0 => {
                Err(ScheduleError("a period of less than a millisecond".into()))
            }
            Rule::Rate { first, every } => {
                let every = every.as_millis();
                Ok((
                    format!("rate:{misfire}:{every}"),
                    now + first.as_millis() as u64,
                ))
            }
            Rule::Delay { first, .. } => Ok(("delay:1:".into(), now + first.as_millis() as u64)),
            #[cfg(feature = "cron")]
            Rule::Cron { expression, zone } => {
                let next = cron_after(expression, zone, now);
                let next = next.ok_or_else(|| ScheduleError("it is never due".into()))?;
                Ok((format!("cron:{misfire}:{zone}:{expression}"), next))
            }
        }
    }
}

/// Returns the next time of a cron expression after `now`.
#[cfg(feature = "cron")]
fn cron_after(expression: &str, zone: &str, now: u64) -> Option<u64> {
    let cron = windlass::scheduled::Cron::parse(expression, zone).ok()?;
    let next =
        windlass::scheduled::Calendar::next_after(&cron, UNIX_EPOCH + Duration::from_millis(now))?;
    next.duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_millis() as u64)
}

#[cfg(not(feature = "cron"))]
fn cron_after(_: &str, _: &str, _: u64) -> Option<u64> {
    None
}

/// Returns the first missed times of a rule from `at` on, and the first time after `now`.
fn times(kind: &str, rest: &str, at: u64, now: u64) -> Option<(Vec<u64>, Option<u64>)> {
    match kind {
        "delay" => Some((vec![at], None)),
        "rate" => {
            let every: u64 = rest.parse().ok().filter(|every| *every > 0)?;
            let missed = now.saturating_sub(at) / every;
            let oldest = missed.saturating_sub(MAX_MISSED as u64);
            let times = (oldest..=missed).map(|n| at + n * every).collect();
            Some((times, Some(at + (missed + 1) * every)))
        }
        "cron" => {
            let (zone, expression) = rest.split_once(':')?;
            let mut times = vec![at];
            let mut next = cron_after(expression, zone, at);
            while let Some(time) = next.filter(|time| *time <= now) {
                if times.len() == MAX_MISSED {
                    next = cron_after(expression, zone, now);
                    break;
                }
                times.push(time);
                next = cron_after(expression, zone, time);
            }
            let ends = next.is_none() && !cfg!(feature = "cron");
            if ends { None } else { Some((times, next)) }
        }
        _ => None,
    }
}

/// Decides what a schedule that is due submits, and when it is due next; `None` if this build cannot read its rule.
pub(crate) fn fire(due: &Due, now: u64) -> Option<Fire> {
    let mut parts = due.rule.splitn(3, ':');
    let (kind, misfire, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (times, next) = times(kind, rest, due.at, now)?;
    let (misfire, late_after) = match misfire.strip_prefix('s') {
        Some(late) if !late.is_empty() => (Misfire::Skip, late.parse().ok()?),
        _ => (Misfire::from_wire(misfire)?, ON_TIME.as_millis() as u64),
    };
    let chosen = misfire.choose(times, now, late_after);
    let ids = chosen
        .iter()
        .filter_map(|time| format!("cron:{}:{time}", due.name).parse().ok());
    Some(Fire {
        name: due.name.clone(),
        at: due.at,
        next,
        ids: ids.collect::<Vec<TaskId>>(),
    })
}

/// A schedule that the engine keeps. Dropping the handle does not end the schedule.
///
/// ```
/// # use std::time::Duration;
/// # use windlass_remote::{LocalExecutor, RemoteTask, TaskCx, TaskError, TaskExecutorService};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Sweep;
/// # impl RemoteTask for Sweep {
/// #     const NAME: &'static str = "sweep";
/// #     type Output = ();
/// #     fn run(self, _: &TaskCx) -> Result<(), TaskError> { Ok(()) }
/// # }
/// # let executor = LocalExecutor::fixed(1)?;
/// let sweep = executor.schedule_with_fixed_delay("sweep", Duration::ZERO, Duration::from_secs(60), Sweep)?;
/// assert!(sweep.cancel()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScheduleHandle {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) queue: QueueName,
    pub(crate) name: String,
}

impl ScheduleHandle {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the schedule; returns whether it was there. Tasks that it has submitted stay.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn cancel(&self) -> Result<bool, EngineError> {
        self.engine.remove_schedule(&self.queue, &self.name)
    }

    /// Returns when it is due next, by the engine's clock; `None` if it was removed or waits for an outcome.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn next_run(&self) -> Result<Option<SystemTime>, EngineError> {
        let schedules = self.engine.schedules(&self.queue)?;
        let mine = schedules
            .into_iter()
            .find(|schedule| schedule.name == self.name);
        let next = mine.and_then(|schedule| schedule.next);
        Ok(next.map(|at| UNIX_EPOCH + Duration::from_millis(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Due, Misfire, fire};
    use std::time::Duration;

    fn ids(rule: &str, at: u64, now: u64) -> (Vec<String>, Option<u64>) {
        let due = Due {
            name: "n".into(),
            rule: rule.into(),
            at,
        };
        let fire = fire(&due, now).unwrap();
        (
            fire.ids.iter().map(ToString::to_string).collect(),
            fire.next,
        )
    }

    #[test]
    fn missed_times_of_a_rate_are_skipped_run_once_or_caught_up() {
        let once = ids("rate:1:100", 1_000, 10_250);
        assert_eq!(once, (vec!["cron:n:10200".into()], Some(10_300)));
        let skipped = ids("rate:s:5000", 1_000, 5_900);
        assert_eq!(skipped, (vec![], Some(6_000)));
        let rate = |late| {
            let rate = super::Schedule::at_fixed_rate(Duration::ZERO, Duration::from_secs(5));
            rate.misfire(Misfire::Skip)
                .late_after(late)
                .plan(0)
                .unwrap()
                .0
        };
        assert_eq!(rate(Duration::from_secs(1)), "rate:s:5000");
        let patient = rate(Duration::from_secs(4));
        assert_eq!(ids(&patient, 1_000, 5_001), (vec![], Some(6_000)), "late");
        let in_time = (vec!["cron:n:1000".into()], Some(6_000));
        assert_eq!(ids(&patient, 1_000, 5_000), in_time);
        let caught = ids("rate:c2:100", 1_000, 1_350);
        assert_eq!(
            caught,
            (
                vec!["cron:n:1200".into(), "cron:n:1300".into()],
                Some(1_400)
            )
        );
    }

    #[test]
    fn an_hour_away_costs_no_more_than_a_batch() {
        let (caught, next) = ids("rate:c100000:1", 0, 3_600_000);
        assert_eq!((caught.len(), next), (200, Some(3_600_001)));
        assert_eq!(caught.last().unwrap(), "cron:n:3600000");
    }

    #[test]
    fn a_rule_of_another_release_is_left_alone() {
        for rule in [
            "",
            "rate",
            "rate:1:0",
            "moon:1:full",
            "rate:z:5",
            "rate:sx:5",
        ] {
            let due = Due {
                name: "n".into(),
                rule: rule.into(),
                at: 1,
            };
            assert!(fire(&due, 2).is_none(), "{rule}");
        }
    }

    #[test]
    fn policies_survive_the_wire() {
        for misfire in [Misfire::Skip, Misfire::RunOnce, Misfire::CatchUp(7)] {
            assert_eq!(Misfire::from_wire(&misfire.to_wire()), Some(misfire));
        }
    }

    #[cfg(feature = "cron")]
    #[test]
    fn a_cron_schedule_runs_once_for_a_missed_night() {
        let day = 86_400_000;
        let (caught, next) = ids("cron:1:UTC:0 0 * * *", day, 3 * day + 5);
        assert_eq!(
            (caught, next),
            (vec![format!("cron:n:{}", 3 * day)], Some(4 * day))
        );
    }
}
