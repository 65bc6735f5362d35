//! One pool, with everything that the page shows of it at a glance.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use windlass::monitor::{Field, ForkJoinFigures, PoolView, ScheduledFigures, TuneLimits};
use windlass::pool::PoolState;

use super::change::{Change, changes};
use super::quantiles::Quantiles;
use super::units::{bound, milliseconds, seconds};

#[derive(Serialize)]
pub(crate) struct Pool<'a> {
    name: &'a str,
    kind: &'static str,
    state: &'static str,
    version: u64,
    threads: Threads,
    queue: Queue,
    oldest_running_seconds: Option<f64>,
    tasks: Tasks,
    rates: Rates,
    wait: Option<Quantiles>,
    run: Option<Quantiles>,
    config: Config<'a>,
    tunable: Vec<&'static str>,
    limits: Option<BTreeMap<&'static str, [usize; 2]>>,
    pending_revert: Option<PendingRevert<'a>>,
    paused_until_ms: Option<u64>,
    alerts: Vec<&'static str>,
    scheduled: Option<Scheduled<'a>>,
    fork_join: Option<ForkJoin>,
    spark: Spark<'a>,
}

#[derive(Serialize)]
struct Threads {
    size: usize,
    active: usize,
    active_peak: usize,
    core: usize,
    max: Option<u64>,
    largest: usize,
    waiting: usize,
}

#[derive(Serialize)]
struct Queue {
    len: usize,
    peak: usize,
    capacity: Option<u64>,
    remaining: Option<u64>,
    oldest_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Tasks {
    submitted: u64,
    completed: u64,
    failed: u64,
    rejected: u64,
    expired: u64,
    timed_out: u64,
    shed: u64,
    abandoned: u64,
}

#[derive(Serialize)]
struct Rates {
    submitted: f64,
    completed: f64,
    failed: f64,
    rejected: f64,
}

#[derive(Serialize)]
struct Config<'a> {
    core: Option<usize>,
    max: Option<u64>,
    keep_alive_seconds: Option<f64>,
    allow_core_timeout: Option<bool>,
    capacity: Option<u64>,
    capacity_resizable: bool,
    policy: Option<&'a str>,
    policies: Vec<&'a str>,
    parallelism: Option<usize>,
    max_parallelism: Option<usize>,
}

#[derive(Serialize)]
struct PendingRevert<'a> {
    at_ms: u64,
    changes: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Scheduled<'a> {
    queued: usize,
    periodic: Option<usize>,
    lateness: Option<Quantiles>,
    overruns: u64,
    next: Vec<Next<'a>>,
}

#[derive(Serialize)]
struct Next<'a> {
    id: String,
    name: Option<&'a str>,
    in_seconds: f64,
    periodic: bool,
}

#[derive(Serialize)]
struct ForkJoin {
    parallelism: usize,
    running: usize,
    queued: usize,
    submissions: usize,
    delayed: usize,
    steals: u64,
    steal_rate: f64,
}

#[derive(Serialize)]
struct Spark<'a> {
    active: &'a [usize],
    queue: &'a [usize],
}

impl<'a> From<&'a PoolView> for Pool<'a> {
    fn from(view: &'a PoolView) -> Self {
        let snapshot = &view.snapshot;
        let scheduled = snapshot.scheduled.as_ref();
        Self {
            name: &view.name,
            kind: snapshot.kind.as_str(),
            state: state(snapshot.state),
            version: view.version,
            threads: view.into(),
            queue: view.into(),
            oldest_running_seconds: seconds(snapshot.oldest_running),
            tasks: view.into(),
            rates: view.into(),
            wait: view.wait.map(Quantiles::from),
            run: view.run.map(Quantiles::from),
            config: view.into(),
            tunable: snapshot
                .settings
                .tunable
                .iter()
                .map(|field| field.as_str())
                .collect(),
            limits: view.limits.as_deref().map(limits),
            pending_revert: view.pending_revert.as_ref().map(|pending| PendingRevert {
                at_ms: milliseconds(pending.at),
                changes: changes(&pending.changes),
            }),
            paused_until_ms: view.paused_until.map(milliseconds),
            alerts: view.alerts.iter().map(|kind| kind.as_str()).collect(),
            scheduled: scheduled.map(|figures| Scheduled::new(figures, view)),
            fork_join: snapshot
                .fork_join
                .as_ref()
                .map(|figures| ForkJoin::new(figures, view)),
            spark: Spark {
                active: &view.spark_active,
                queue: &view.spark_queue,
            },
        }
    }
}

impl From<&PoolView> for Threads {
    fn from(view: &PoolView) -> Self {
        let threads = &view.snapshot.threads;
        Self {
            size: threads.size,
            active: threads.active,
            active_peak: view.active_peak.max(threads.active),
            core: threads.core,
            max: bound(threads.max),
            largest: threads.largest,
            waiting: threads.waiting,
        }
    }
}

impl From<&PoolView> for Queue {
    fn from(view: &PoolView) -> Self {
        let queue = &view.snapshot.queue;
        Self {
            len: queue.len,
            peak: view.queue_peak.max(queue.len),
            capacity: queue.capacity.and_then(bound),
            remaining: queue.remaining.and_then(bound),
            oldest_seconds: seconds(queue.oldest),
        }
    }
}

impl From<&PoolView> for Tasks {
    fn from(view: &PoolView) -> Self {
        let tasks = &view.snapshot.tasks;
        Self {
            submitted: tasks.submitted,
            completed: tasks.completed,
            failed: tasks.failed,
            rejected: tasks.rejected.total(),
            expired: tasks.expired,
            timed_out: tasks.timed_out,
            shed: tasks.dropped.shed,
            abandoned: tasks.dropped.abandoned,
        }
    }
}

impl From<&PoolView> for Rates {
    fn from(view: &PoolView) -> Self {
        let rates = view.rates;
        Self {
            submitted: rates.submitted,
            completed: rates.completed,
            failed: rates.failed,
            rejected: rates.rejected,
        }
    }
}

impl<'a> From<&'a PoolView> for Config<'a> {
    fn from(view: &'a PoolView) -> Self {
        let settings = &view.snapshot.settings;
        let policies: &[Arc<str>] = if settings.is_tunable(Field::Policy) {
            &view.policies
        } else {
            &[]
        };
        let parallelism = view
            .limits
            .as_ref()
            .and_then(|limits| limits.parallelism.as_ref());
        Self {
            core: settings.core,
            max: settings.max.and_then(bound),
            keep_alive_seconds: seconds(settings.keep_alive),
            allow_core_timeout: settings.allow_core_timeout,
            capacity: settings.capacity.and_then(bound),
            capacity_resizable: settings.is_tunable(Field::Capacity),
            policy: settings.policy.as_deref(),
            policies: policies.iter().map(|name| &**name).collect(),
            parallelism: settings.parallelism,
            max_parallelism: parallelism.map(|bounds| *bounds.end()),
        }
    }
}

impl<'a> Scheduled<'a> {
    fn new(figures: &'a ScheduledFigures, view: &PoolView) -> Self {
        let next = figures
            .next
            .iter()
            .filter(|task| !task.is_cancelled)
            .map(|task| Next {
                id: task.id.to_string(),
                name: task.name.as_deref(),
                in_seconds: task.delay.as_secs_f64(),
                periodic: task.is_periodic,
            });
        Self {
            queued: figures.queued,
            periodic: figures.periodic,
            // Tasks of a scheduled pool wait from when they are due.
            lateness: view.wait.map(Quantiles::from),
            overruns: figures.overruns,
            next: next.take(20).collect(),
        }
    }
}

impl ForkJoin {
    const fn new(figures: &ForkJoinFigures, view: &PoolView) -> Self {
        Self {
            parallelism: figures.parallelism,
            running: figures.running,
            queued: figures.queued,
            submissions: figures.submissions,
            delayed: figures.delayed,
            steals: figures.steals,
            steal_rate: view.rates.steals,
        }
    }
}

const fn state(state: PoolState) -> &'static str {
    match state {
        PoolState::Running => "running",
        PoolState::Terminated => "terminated",
        _ => "shutting_down",
    }
}

fn limits(limits: &TuneLimits) -> BTreeMap<&'static str, [usize; 2]> {
    [Field::Core, Field::Max, Field::Capacity, Field::Parallelism]
        .into_iter()
        .filter_map(|field| {
            let bounds = limits.bounds(field)?;
            Some((field.as_str(), [*bounds.start(), *bounds.end()]))
        })
        .collect()
}
