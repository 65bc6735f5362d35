//! The public type of the monitor: what can be read and asked for.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::alert::{Alert, AlertKind};
use super::audit::{Action, AuditEntry, ChangeSource};
use super::change::{Change, ChangeOptions, Changed};
use super::change_error::ChangeError;
use super::exposition::{Exposition, expose};
use super::registry::{RegisteredPool, Registry};
use super::reported::Condition;
use super::sampler::Sampler;
use super::shared::Shared;
use super::sinks::Event;
use super::snapshot::{Snapshot, WorkerThread};
use super::thresholds::Thresholds;
use super::track::Track;
use super::view::{History, HistorySpan, PendingRevert, PoolView, Recent};
use crate::sync::atomic::Ordering;
use crate::times::TaskTimes;

/// How many samples a sparkline has.
const SPARK: usize = 60;

/// Watches the executors of a [`Registry`]: takes a sample of each once a second, keeps their past, raises
/// alerts, and changes their settings when asked to.
///
/// Each second costs some microseconds for each executor, on a thread of the monitor; tasks and their threads
/// are not slowed down. A clone refers to the same monitor; the last one that is dropped ends the thread.
///
/// ```
/// use std::time::Duration;
/// use windlass::monitor::{Change, ChangeOptions, Monitor, Registry};
/// use windlass::prelude::*;
///
/// let registry = Registry::new();
/// let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(2).build().unwrap();
/// registry.register(&pool);
///
/// let monitor = Monitor::start(&registry).unwrap();
/// let view = monitor.pool("web").unwrap();
/// assert_eq!(view.snapshot.threads.core, 2);
///
/// let change = Change::new().core(4).max(4);
/// let options = ChangeOptions::new().version(view.version).revert_after(Duration::from_secs(60));
/// let changed = monitor.change("web", &change, &options).unwrap();
/// assert_eq!((pool.core_pool_size(), changed.changes.len()), (4, 2));
/// monitor.revert("web", None).unwrap();
/// assert_eq!(pool.core_pool_size(), 2);
/// ```
#[derive(Clone)]
pub struct Monitor(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    sampler: Sampler,
}

/// A reference that does not keep the thread running.
#[cfg(feature = "metrics")]
pub(super) struct WeakMonitor(std::sync::Weak<Handle>);

#[cfg(feature = "metrics")]
impl WeakMonitor {
    pub(super) fn upgrade(&self) -> Option<Monitor> {
        self.0.upgrade().map(Monitor)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.sampler.stop();
    }
}

impl Monitor {
    pub(super) fn new(shared: Arc<Shared>, sampler: Sampler) -> Self {
        Self(Arc::new(Handle { shared, sampler }))
    }

    /// Returns a reference that does not keep the thread running.
    #[cfg(feature = "metrics")]
    pub(super) fn downgrade(&self) -> WeakMonitor {
        WeakMonitor(Arc::downgrade(&self.0))
    }

    fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// Ends the thread and waits for it. What was recorded can still be read.
    ///
    /// Called on one of the threads of the monitor, it does not wait.
    pub fn stop(&self) {
        self.0.sampler.stop();
        self.0.sampler.join();
        self.shared().sinks.stop();
    }

    /// Takes a sample now, on the current thread.
    pub fn sample(&self) {
        self.shared().sample();
    }

    /// Returns how many samples were taken.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.shared().samples.load(Ordering::Relaxed)
    }

    /// Returns whose executors are watched.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.shared().registry
    }

    /// Returns when the monitor was started.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        self.shared().started
    }

    /// Returns the time of day on the clock of the monitor.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.shared().clock.wall_now()
    }

    /// Calls `receive` with each event from now on, on a thread of its own.
    ///
    /// Up to 256 events wait for a receiver that is slow; more are dropped and
    /// [counted](Self::dropped_events). A panic of the receiver is caught and [counted](Self::panics).
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    pub fn on_event(&self, receive: impl Fn(&Event) + Send + 'static) -> io::Result<()> {
        self.on_event_while(move |event| {
            receive(event);
            ControlFlow::Continue(())
        })
    }

    /// Calls `receive` with each event from now on, as [`on_event`](Self::on_event) does, until it breaks: its
    /// thread then ends.
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    pub fn on_event_while(
        &self,
        receive: impl Fn(&Event) -> ControlFlow<()> + Send + 'static,
    ) -> io::Result<()> {
        self.shared().sinks.add(receive)
    }

    /// Returns how many events were dropped because a receiver was slow.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.shared().sinks.dropped()
    }

    /// Returns how often a receiver or an executor of a user has panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.shared().sinks.panics()
    }
}

impl Monitor {
    /// Returns all executors, in the order of their names.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        let pools = self.registry().pools().into_iter();
        pools.filter_map(|pool| self.view(&pool)).collect()
    }

    /// Returns the executor of this name; `None` if there is none, or it panics.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<PoolView> {
        self.view(&self.registry().get(name)?)
    }

    fn view(&self, pool: &RegisteredPool) -> Option<PoolView> {
        let shared = self.shared();
        let snapshot = shared.call(|| pool.snapshot()).ok()?;
        let policies = self.registry().policies();
        Some(shared.with(|state| {
            let track = state.track(pool, &snapshot, &shared.thresholds);
            view(track, pool, snapshot, policies, shared.clock.wall_now())
        }))
    }

    /// Returns the past of an executor.
    #[must_use]
    pub fn history(&self, name: &str, span: HistorySpan) -> Option<History> {
        let read = self.shared().with_track(name, |track, snapshot| {
            track.past.read(span, snapshot.scheduled.is_some())
        });
        read.ok()
    }

    /// Returns the threads of an executor and what they do.
    #[must_use]
    pub fn threads(&self, name: &str) -> Option<Vec<WorkerThread>> {
        let pool = self.registry().get(name)?;
        self.shared().call(|| pool.threads()).ok()
    }

    /// Returns the times of the tasks of an executor that have a name.
    #[must_use]
    pub fn task_times(&self, name: &str) -> Option<Vec<TaskTimes>> {
        let pool = self.registry().get(name)?;
        let times = || pool.call(|executor| executor.task_times());
        self.shared().call(times).ok()
    }

    /// Returns the slowest tasks of the last five minutes, and the last ones that have failed.
    ///
    /// They are recorded from the first sample on, and shown from the next one on. Of tasks that are so short
    /// that not all are timed, those that are timed can be among the slowest.
    #[must_use]
    pub fn recent(&self, name: &str) -> Option<Recent> {
        let read = self
            .shared()
            .with_track(name, |track, _| track.recent.read());
        read.ok()
    }

    /// Returns the figures in the text format of Prometheus.
    #[must_use]
    pub fn prometheus(&self, exposition: Exposition) -> String {
        expose(&self.pools(), exposition)
    }
}

impl Monitor {
    /// Returns the alerts that are active or were, for executors that are still there, and those that were
    /// [reported](Self::report).
    #[must_use]
    pub fn alerts(&self) -> Vec<Alert> {
        self.shared().with(|state| {
            let tracks = state.tracks();
            let alerts = tracks.flat_map(|track| track.alerts.alerts().cloned());
            let mut alerts: Vec<_> = alerts.collect();
            alerts.extend(state.reported.alerts().cloned());
            alerts
        })
    }

    /// Tells nobody of an alert for some time; returns it, if there is or was one with this id. What is still
    /// so after that time is told then.
    pub fn silence(&self, id: &str, time: Duration) -> Option<Alert> {
        self.silence_as(id, time, None)
    }

    /// Silences an alert as [`silence`](Self::silence) does, for this actor.
    pub fn silence_as(&self, id: &str, time: Duration, actor: Option<&str>) -> Option<Alert> {
        let (now, wall) = self.shared().now();
        let until = (now.checked_add(time)?, wall.checked_add(time)?);
        let (pool, kind) = id.rsplit_once(':')?;
        let kind = AlertKind::of_name(kind)?;
        let alert = self.shared().with(|state| {
            let track = state.tracks_mut().find(|track| &*track.name == pool);
            let alert = track.and_then(|track| track.alerts.silence(kind, until));
            alert.or_else(|| state.reported.silence(id, until))
        })?;
        let detail = format!("{kind} for {time:?}");
        self.record(pool, Action::Silence, actor, &detail);
        Some(alert)
    }

    /// Takes note of a condition outside the executors, such as that of a remote engine: raises or clears its
    /// alert. To be called once a second for each condition that is watched.
    pub fn report(&self, condition: &Condition<'_>) {
        let now = self.shared().now();
        let told = self
            .shared()
            .with(|state| state.reported.update(condition, now));
        if let Some(alert) = told {
            self.shared().sinks.send(Event::Alert(alert));
        }
    }

    /// Returns the thresholds of an executor.
    #[must_use]
    pub fn thresholds(&self, name: &str) -> Option<Thresholds> {
        let read = self
            .shared()
            .with_track(name, |track, _| track.thresholds.clone());
        read.ok()
    }

    /// Returns the thresholds of all executors, in the order of their names.
    #[must_use]
    pub fn all_thresholds(&self) -> Vec<(Arc<str>, Thresholds)> {
        let names = self.registry().names().into_iter();
        names
            .filter_map(|name| Some((Arc::clone(&name), self.thresholds(&name)?)))
            .collect()
    }

    /// Sets the thresholds of an executor; returns whether there is one of this name.
    pub fn set_thresholds(&self, name: &str, thresholds: Thresholds) -> bool {
        self.shared()
            .set_thresholds(name, thresholds, ChangeSource::Code, None)
    }

    /// Sets the thresholds of an executor for this actor; returns whether there is one of this name.
    pub fn set_thresholds_as(
        &self,
        name: &str,
        thresholds: Thresholds,
        actor: Option<&str>,
    ) -> bool {
        self.shared()
            .set_thresholds(name, thresholds, ChangeSource::Api, actor)
    }

    /// Adds what somebody has asked for to the audit; returns the number of the entry. `pool` is what it was
    /// done to.
    ///
    /// For commands that do not go through the monitor, such as those to a remote engine.
    pub fn record(&self, pool: &str, action: Action, actor: Option<&str>, detail: &str) -> u64 {
        let shared = self.shared();
        let wall = shared.clock.wall_now();
        let mut entry = AuditEntry::new(&Arc::from(pool), wall, ChangeSource::Api, action);
        entry.actor = actor.map(str::to_owned);
        entry.detail = Some(detail.to_owned());
        shared.record(entry)
    }

    /// Returns the last 256 changes and commands, newest first.
    #[must_use]
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.shared().with(|state| state.audit.newest_first())
    }
}

/// Changes and commands. `actor` is who asks for them, for the audit.
impl Monitor {
    /// Changes several settings of an executor, or none.
    ///
    /// # Errors
    ///
    /// Why nothing was changed.
    pub fn change(
        &self,
        name: &str,
        change: &Change,
        options: &ChangeOptions,
    ) -> Result<Changed, ChangeError> {
        self.shared().change(name, change, options)
    }

    /// Keeps a change that would be undone; returns the version of the settings.
    ///
    /// # Errors
    ///
    /// [`ChangeError::UnknownPool`], [`ChangeError::NothingPending`].
    pub fn confirm(&self, name: &str, actor: Option<&str>) -> Result<u64, ChangeError> {
        self.shared().confirm(name, actor)
    }

    /// Undoes the last change that was made through this monitor, confirmed or not.
    ///
    /// # Errors
    ///
    /// Why nothing was changed; [`ChangeError::NothingPending`] if there is no such change.
    pub fn revert(&self, name: &str, actor: Option<&str>) -> Result<Changed, ChangeError> {
        self.shared().revert(name, actor)
    }

    /// Lets an executor take no tasks from its queue for this long; returns until when.
    ///
    /// Tasks that run are not affected, nor are submissions. A shutdown ends the pause. Another call
    /// replaces it.
    ///
    /// # Errors
    ///
    /// [`ChangeError::InvalidPause`] if the time is zero or more than a day; [`ChangeError::Unsupported`]
    /// for fork-join pools.
    pub fn pause(
        &self,
        name: &str,
        time: Duration,
        actor: Option<&str>,
    ) -> Result<SystemTime, ChangeError> {
        self.shared().pause(name, time, actor)
    }

    /// Ends a pause.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn resume(&self, name: &str, actor: Option<&str>) -> Result<(), ChangeError> {
        self.shared()
            .command(name, Action::Resume, actor, |executor| executor.resume())
    }

    /// Removes cancelled tasks from the queue of an executor; returns how many.
    ///
    /// # Errors
    ///
    /// [`ChangeError::UnknownPool`], [`ChangeError::Unsupported`].
    pub fn purge(&self, name: &str, actor: Option<&str>) -> Result<usize, ChangeError> {
        self.shared()
            .command(name, Action::Purge, actor, |executor| executor.purge())
    }

    /// Starts all core threads of an executor; returns how many were started.
    ///
    /// # Errors
    ///
    /// [`ChangeError::UnknownPool`], [`ChangeError::Unsupported`].
    pub fn prestart(&self, name: &str, actor: Option<&str>) -> Result<usize, ChangeError> {
        let prestart = Action::Prestart;
        self.shared()
            .command(name, prestart, actor, |executor| executor.prestart())
    }

    /// Begins an orderly shutdown of an executor.
    ///
    /// # Errors
    ///
    /// [`ChangeError::UnknownPool`], [`ChangeError::Unsupported`].
    pub fn shutdown(&self, name: &str, actor: Option<&str>) -> Result<(), ChangeError> {
        let shutdown = Action::Shutdown;
        self.shared()
            .command(name, shutdown, actor, |executor| executor.shutdown())
    }
}

fn view(
    track: &mut Track,
    pool: &RegisteredPool,
    mut snapshot: Snapshot,
    policies: Vec<Arc<str>>,
    wall: SystemTime,
) -> PoolView {
    snapshot.tasks.submitted = track.monotone(snapshot.tasks.submitted);
    let outcomes = track.outcomes(&snapshot.tasks);
    let (wait, run) = track.quantiles(&snapshot);
    let (active_peak, queue_peak) = track.peaks();
    let paused_for = snapshot.paused_for;
    let pending = track.tuning.last_change.as_ref().and_then(|change| {
        let (_, at) = change.revert_at?;
        let mut changes = change.changes.clone();
        for change in &mut changes {
            std::mem::swap(&mut change.old, &mut change.new);
        }
        Some(PendingRevert { at, changes })
    });
    PoolView {
        name: Arc::clone(pool.name()),
        version: track.tuning.version,
        active_peak: active_peak.max(snapshot.threads.active),
        queue_peak: queue_peak.max(snapshot.queue.len),
        outcomes,
        rates: track.rates,
        wait,
        run,
        run_timeouts: track.run_timeouts,
        queue_timeouts: track.queue_timeouts,
        reconfigured: track.tuning.reconfigured,
        alerts: track.alerts.active(),
        pending_revert: pending,
        paused_until: paused_for.and_then(|time| wall.checked_add(time)),
        limits: pool.shared_limits(),
        policies,
        spark_active: track.past.last_values("active", SPARK),
        spark_queue: track.past.last_values("queue", SPARK),
        snapshot,
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("registry", self.registry())
            .field("samples", &self.samples())
            .finish_non_exhaustive()
    }
}
