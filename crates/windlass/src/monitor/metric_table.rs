//! All metrics: name, meaning, and how to read them from an executor.

use std::time::Duration;

use super::alert::KINDS;
use super::snapshot::Kind;
use super::view::PoolView;
use crate::pool::PoolState;
use crate::times::Histogram;

/// One metric.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) read: Read,
}

/// How a metric is read from an executor.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Gauge(fn(&PoolView) -> Option<f64>),
    Counter(fn(&PoolView) -> Option<u64>),
    /// With another label.
    Gauges(&'static str, fn(&PoolView) -> Vec<(&'static str, f64)>),
    Counters(&'static str, fn(&PoolView) -> Vec<(&'static str, u64)>),
    Histogram(fn(&PoolView) -> Option<&Histogram>),
}

const fn metric(name: &'static str, help: &'static str, read: Read) -> Metric {
    Metric { name, help, read }
}

/// The metrics with the names of this library.
pub(super) const WINDLASS: &[Metric] = &[
    metric(
        "windlass_pool_threads",
        "Threads of the pool.",
        Read::Gauge(|pool| some(pool.snapshot.threads.size)),
    ),
    metric(
        "windlass_pool_threads_active",
        "Threads that run a task.",
        Read::Gauge(|pool| some(pool.snapshot.threads.active)),
    ),
    metric(
        "windlass_pool_threads_active_peak",
        "The most active threads of the samples of the last 10 s.",
        Read::Gauge(|pool| some(pool.active_peak)),
    ),
    metric(
        "windlass_pool_threads_core",
        "Threads that are kept even when idle.",
        Read::Gauge(|pool| some(pool.snapshot.threads.core)),
    ),
    metric(
        "windlass_pool_threads_max",
        "The most threads that are allowed.",
        Read::Gauge(|pool| bound(max_threads(pool))),
    ),
    metric(
        "windlass_pool_threads_largest",
        "The most threads that there were.",
        Read::Gauge(|pool| some(pool.snapshot.threads.largest)),
    ),
    metric(
        "windlass_pool_threads_started_total",
        "Threads that were started.",
        Read::Counter(|pool| pool.snapshot.threads.started),
    ),
    metric(
        "windlass_pool_threads_exited_total",
        "Threads that have ended, by reason.",
        Read::Counters("reason", |pool| match pool.snapshot.threads.exited {
            Some(exits) => exits.by_reason().into(),
            None => Vec::new(),
        }),
    ),
    metric(
        "windlass_pool_queue_tasks",
        "Tasks in the queue.",
        Read::Gauge(|pool| some(pool.snapshot.queue.len)),
    ),
    metric(
        "windlass_pool_queue_tasks_peak",
        "The longest queue of the samples of the last 10 s.",
        Read::Gauge(|pool| some(pool.queue_peak)),
    ),
    metric(
        "windlass_pool_queue_capacity",
        "How many tasks the queue holds.",
        Read::Gauge(|pool| bound(pool.snapshot.queue.capacity)),
    ),
    metric(
        "windlass_pool_queue_remaining",
        "How many more tasks the queue has room for.",
        Read::Gauge(|pool| bound(pool.snapshot.queue.remaining)),
    ),
    metric(
        "windlass_pool_queue_oldest_seconds",
        "How long the next task of the queue has been waiting.",
        Read::Gauge(|pool| match pool.snapshot.queue.oldest {
            Some(age) => seconds(age),
            // Zero if there is none; absent if it is not known.
            None => (pool.snapshot.queue.len == 0).then_some(0.0),
        }),
    ),
    metric(
        "windlass_pool_oldest_running_seconds",
        "The longest current run.",
        Read::Gauge(|pool| match pool.snapshot.oldest_running {
            Some(run) => seconds(run),
            None => (pool.snapshot.threads.active == 0).then_some(0.0),
        }),
    ),
    metric(
        "windlass_pool_state",
        "One for the state that the pool is in, zero for the others.",
        Read::Gauges("state", states),
    ),
    metric(
        "windlass_pool_tasks_submitted_total",
        "Tasks that were submitted, accepted or not.",
        Read::Counter(|pool| Some(pool.snapshot.tasks.submitted)),
    ),
    metric(
        "windlass_pool_tasks_completed_total",
        "Tasks that have ended, by outcome.",
        Read::Counters("outcome", outcomes),
    ),
    metric(
        "windlass_pool_tasks_rejected_total",
        "Tasks that the pool could not accept, by policy.",
        Read::Counters("policy", |pool| {
            pool.snapshot.tasks.rejected.by_policy().into()
        }),
    ),
    metric(
        "windlass_pool_tasks_dropped_total",
        "Tasks that were accepted and have never run, by reason.",
        Read::Counters("reason", dropped),
    ),
    metric(
        "windlass_pool_run_timeouts_total",
        "Runs that took longer than the threshold.",
        Read::Counter(|pool| Some(pool.run_timeouts)),
    ),
    metric(
        "windlass_pool_queue_timeouts_total",
        "Waits that took longer than the threshold.",
        Read::Counter(|pool| Some(pool.queue_timeouts)),
    ),
    metric(
        "windlass_pool_task_wait_seconds",
        "From the submission of a task to its start.",
        Read::Histogram(|pool| Some(&pool.snapshot.wait_times)),
    ),
    metric(
        "windlass_pool_task_run_seconds",
        "From the start of a task to its end.",
        Read::Histogram(|pool| Some(&pool.snapshot.run_times)),
    ),
    metric(
        "windlass_pool_reconfigured_total",
        "Changes of settings, by source.",
        Read::Counters("source", |pool| {
            let changes = pool.reconfigured;
            vec![
                ("api", changes.api),
                ("code", changes.code),
                ("revert", changes.revert),
            ]
        }),
    ),
    metric(
        "windlass_pool_alert_active",
        "One for an alert that is active, by kind.",
        Read::Gauges("kind", |pool| {
            let is_active = |kind| f64::from(u8::from(pool.alerts.contains(kind)));
            let kinds = KINDS.iter();
            kinds.map(|kind| (kind.as_str(), is_active(kind))).collect()
        }),
    ),
    metric(
        "windlass_scheduled_tasks",
        "Tasks that wait for their time.",
        Read::Gauge(|pool| some(pool.snapshot.scheduled.as_ref()?.queued)),
    ),
    metric(
        "windlass_scheduled_lateness_seconds",
        "From when a task was due to its start.",
        Read::Histogram(|pool| {
            let is_scheduled = pool.snapshot.kind == Kind::Scheduled;
            is_scheduled.then_some(&pool.snapshot.wait_times)
        }),
    ),
    metric(
        "windlass_scheduled_overruns_total",
        "Periodic tasks that were due again before their run had ended.",
        Read::Counter(|pool| Some(pool.snapshot.scheduled.as_ref()?.overruns)),
    ),
    metric(
        "windlass_fj_parallelism",
        "How many workers run at a time.",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.parallelism)),
    ),
    metric(
        "windlass_fj_running",
        "Workers that are neither asleep nor blocked inside a task.",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.running)),
    ),
    metric(
        "windlass_fj_queued",
        "Work that workers have forked and that has not started.",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.queued)),
    ),
    metric(
        "windlass_fj_submissions",
        "Work that was submitted from outside and that has not started.",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.submissions)),
    ),
    metric(
        "windlass_fj_steals_total",
        "Work that was run by another thread than the one that forked or submitted it.",
        Read::Counter(|pool| Some(pool.snapshot.fork_join.as_ref()?.steals)),
    ),
];

/// The names that Micrometer's `ExecutorServiceMetrics` has in Prometheus.
pub(super) const MICROMETER: &[Metric] = &[
    metric(
        "executor_active_threads",
        "The approximate number of threads that are actively executing tasks",
        Read::Gauge(|pool| is_pool(pool).then_some(number(pool.snapshot.threads.active))),
    ),
    metric(
        "executor_completed_tasks_total",
        "The approximate total number of tasks that have completed execution",
        Read::Counter(|pool| is_pool(pool).then_some(pool.snapshot.tasks.completed)),
    ),
    metric(
        "executor_queued_tasks",
        "The approximate number of tasks that are queued for execution",
        Read::Gauge(|pool| is_pool(pool).then_some(number(pool.snapshot.queue.len))),
    ),
    metric(
        "executor_queue_remaining_tasks",
        "The number of additional elements that this queue can ideally accept without blocking",
        // As in Java, where a queue without a bound has room for the largest number of 32 bits.
        Read::Gauge(|pool| {
            let remaining = pool
                .snapshot
                .queue
                .remaining
                .map_or(f64::from(i32::MAX), number);
            is_pool(pool).then_some(remaining)
        }),
    ),
    metric(
        "executor_pool_size_threads",
        "The current number of threads in the pool",
        Read::Gauge(|pool| some(pool.snapshot.threads.size)),
    ),
    metric(
        "executor_pool_core_threads",
        "The core number of threads for the pool",
        Read::Gauge(|pool| is_pool(pool).then_some(number(pool.snapshot.threads.core))),
    ),
    metric(
        "executor_pool_max_threads",
        "The maximum allowed number of threads in the pool",
        Read::Gauge(|pool| {
            let max = max_threads(pool).map_or(f64::from(i32::MAX), number);
            is_pool(pool).then_some(max)
        }),
    ),
    metric(
        "executor_seconds",
        "How long tasks ran",
        Read::Histogram(|pool| Some(&pool.snapshot.run_times)),
    ),
    metric(
        "executor_idle_seconds",
        "How long tasks waited before they ran",
        Read::Histogram(|pool| Some(&pool.snapshot.wait_times)),
    ),
    metric(
        "executor_steals_total",
        "Estimate of the total number of tasks stolen from one thread's work queue by another",
        Read::Counter(|pool| Some(pool.snapshot.fork_join.as_ref()?.steals)),
    ),
    // Of a fork-join pool these three have no unit in Micrometer, and so no suffix.
    metric(
        "executor_active",
        "Estimate of the number of threads that are currently stealing or executing tasks",
        Read::Gauge(|pool| (!is_pool(pool)).then_some(number(pool.snapshot.threads.active))),
    ),
    metric(
        "executor_queued",
        "Estimate of the total number of tasks currently held in queues",
        Read::Gauge(|pool| (!is_pool(pool)).then_some(number(pool.snapshot.queue.len))),
    ),
    metric(
        "executor_running",
        "Estimate of the number of worker threads that are not blocked",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.running)),
    ),
    metric(
        "executor_parallelism_threads",
        "The targeted parallelism level of the pool",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.parallelism)),
    ),
    metric(
        "executor_delayed_tasks",
        "The number of scheduled tasks that are not yet due",
        Read::Gauge(|pool| some(pool.snapshot.fork_join.as_ref()?.delayed)),
    ),
];

/// Returns whether it is one of those that Micrometer treats as a `ThreadPoolExecutor`.
fn is_pool(pool: &PoolView) -> bool {
    pool.snapshot.fork_join.is_none()
}

fn states(pool: &PoolView) -> Vec<(&'static str, f64)> {
    let states = [
        ("running", PoolState::Running),
        ("shutting_down", PoolState::ShuttingDown),
        ("terminated", PoolState::Terminated),
    ];
    let is_in = |state| f64::from(u8::from(pool.snapshot.state == state));
    states.map(|(name, state)| (name, is_in(state))).into()
}

fn outcomes(pool: &PoolView) -> Vec<(&'static str, u64)> {
    let outcomes = &pool.outcomes;
    vec![
        ("ok", outcomes.ok),
        ("failed", outcomes.failed),
        ("panicked", outcomes.panicked),
        ("cancelled", outcomes.cancelled),
    ]
}

fn dropped(pool: &PoolView) -> Vec<(&'static str, u64)> {
    let dropped = pool.snapshot.tasks.dropped;
    vec![
        ("discard_oldest", dropped.discard_oldest),
        ("shutdown_now", dropped.shutdown_now),
        ("purged", dropped.purged),
        ("queue_timeout", dropped.queue_timeout),
        ("shed", dropped.shed),
        ("abandoned", dropped.abandoned),
    ]
}

/// Returns the maximum, unless it is so large that it is none.
fn max_threads(pool: &PoolView) -> Option<usize> {
    Some(pool.snapshot.threads.max).filter(|max| *max < usize::MAX)
}

const fn some(count: usize) -> Option<f64> {
    Some(number(count))
}

fn bound(count: Option<usize>) -> Option<f64> {
    Some(count.map_or(f64::INFINITY, number))
}

const fn seconds(time: Duration) -> Option<f64> {
    Some(time.as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
const fn number(count: usize) -> f64 {
    count as f64
}
