//! What the monitor knows of one executor beside its figures.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alert::Alert;
use super::audit::{Action, AuditEntry, ChangeSource};
use super::history::{FIRST_QUANTILE, Past, Point, SERIES};
use super::policies::FormerPolicy;
use super::quantiles::Quantiles;
use super::recent::RecentTasks;
use super::rules::{AlertBook, Reading};
use super::settings::{FieldChange, PoolSettings};
use super::snapshot::{Snapshot, TaskFigures};
use super::thresholds::Thresholds;
use super::view::{Outcomes, Rates, RecentTask, Reconfigurations};
use super::window::{Counters, Window};
use crate::times::{Histogram, TaskRecord};

/// How many seconds the quantiles and peaks are of.
const WINDOW: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// What is known of one executor.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) name: Arc<str>,
    pub(super) thresholds: Thresholds,
    pub(super) alerts: AlertBook,
    pub(super) past: Past,
    pub(super) recent: RecentTasks,
    pub(super) tuning: Tuning,
    pub(super) run_timeouts: u64,
    pub(super) queue_timeouts: u64,
    pub(super) rates: Rates,
    /// The largest count that was shown: it never falls.
    submitted: u64,
    /// The largest counts that were shown.
    outcomes: Outcomes,
    samples: VecDeque<Sampled>,
    window: Window,
    minute: Minute,
}

/// The settings of an executor as they were last seen, and what may be undone.
#[derive(Debug)]
pub(super) struct Tuning {
    pub(super) version: u64,
    pub(super) settings: PoolSettings,
    /// Whether a change is being carried out.
    pub(super) is_busy: bool,
    pub(super) reconfigured: Reconfigurations,
    pub(super) last_change: Option<LastChange>,
}

/// The last change that was made through the monitor.
#[derive(Debug, Clone)]
pub(super) struct LastChange {
    /// What it has changed.
    pub(super) changes: Vec<FieldChange>,
    /// Its entries in the audit: several if changes were made while one was to be undone.
    pub(super) audit: Vec<u64>,
    /// When it is undone, unless it is confirmed.
    pub(super) revert_at: Option<(Instant, SystemTime)>,
    /// The rejection policy that it has replaced, with its name. It may be the user's: it is not dropped
    /// under the lock.
    pub(super) policy: Option<(Arc<str>, FormerPolicy)>,
}

/// One sample.
#[derive(Debug)]
struct Sampled {
    at: Instant,
    active: usize,
    queue: usize,
    submitted: u64,
    completed: u64,
    failed: u64,
    rejected: u64,
    steals: u64,
    wait: Histogram,
    run: Histogram,
}

/// The times at the start of the present minute.
#[derive(Debug, Default)]
struct Minute {
    began: Option<Instant>,
    wait: Histogram,
    run: Histogram,
}

impl Track {
    pub(super) fn new(name: &Arc<str>, thresholds: Thresholds, settings: PoolSettings) -> Self {
        Self {
            name: Arc::clone(name),
            thresholds,
            alerts: AlertBook::default(),
            past: Past::default(),
            recent: RecentTasks::default(),
            tuning: Tuning {
                version: 1,
                settings,
                is_busy: false,
                reconfigured: Reconfigurations::default(),
                last_change: None,
            },
            run_timeouts: 0,
            queue_timeouts: 0,
            rates: Rates::default(),
            submitted: 0,
            outcomes: Outcomes::default(),
            samples: VecDeque::with_capacity(WINDOW + 2),
            window: Window::default(),
            minute: Minute::default(),
        }
    }

    /// Adds a sample; returns the alerts of which others are to be told.
    pub(super) fn sample(
        &mut self,
        now: (Instant, SystemTime),
        snapshot: &Snapshot,
        records: Vec<TaskRecord>,
    ) -> Vec<Alert> {
        let sampled = self.sampled(now.0, snapshot);
        self.count_timeouts(&sampled);
        self.rates = self
            .samples
            .back()
            .map_or_else(Rates::default, |last| rates(last, &sampled));
        self.samples.push_back(sampled);
        if self.samples.len() > WINDOW + 1 {
            self.samples.pop_front();
        }
        self.window.push(
            now.0,
            Counters {
                rejected: snapshot.tasks.rejected.total(),
                exits: snapshot.threads.exited.map_or(0, |exits| exits.total()),
                run_timeouts: self.run_timeouts,
                queue_timeouts: self.queue_timeouts,
            },
        );
        self.past.add_second(now.1, &self.point(snapshot));
        self.end_minute(now, snapshot);
        self.add_records(now, records);
        let reading = self.reading(snapshot);
        self.alerts
            .update(&self.name, now, &reading, &self.thresholds)
    }

    fn sampled(&mut self, at: Instant, snapshot: &Snapshot) -> Sampled {
        let tasks = &snapshot.tasks;
        Sampled {
            at,
            active: snapshot.threads.active,
            queue: snapshot.queue.len,
            submitted: self.monotone(tasks.submitted),
            completed: tasks.completed,
            failed: tasks.failed,
            rejected: tasks.rejected.total(),
            steals: snapshot.fork_join.as_ref().map_or(0, |pool| pool.steals),
            wait: snapshot.wait_times.clone(),
            run: snapshot.run_times.clone(),
        }
    }

    /// Returns how many tasks were submitted. The count is put together from several figures, which are not
    /// read at once; it never falls here.
    pub(super) fn monotone(&mut self, submitted: u64) -> u64 {
        self.submitted = self.submitted.max(submitted);
        self.submitted
    }

    /// Returns how tasks have ended. Completed and failed ones are not counted at once, so a difference of the
    /// two can be too large for a moment; no count falls here.
    pub(super) fn outcomes(&mut self, tasks: &TaskFigures) -> Outcomes {
        let shown = &mut self.outcomes;
        shown.ok = shown.ok.max(tasks.succeeded());
        shown.failed = shown
            .failed
            .max(tasks.failed.saturating_sub(tasks.panicked));
        shown.panicked = shown.panicked.max(tasks.panicked);
        shown.cancelled = shown.cancelled.max(tasks.cancelled);
        *shown
    }

    /// Counts runs and waits that ended since the last sample and took longer than the thresholds.
    fn count_timeouts(&mut self, sampled: &Sampled) {
        let Some(last) = self.samples.back() else {
            return;
        };
        if let Some(limit) = self.thresholds.run_timeout {
            self.run_timeouts += sampled.run.since(&last.run).count_from(limit);
        }
        if let Some(limit) = self.thresholds.queue_timeout {
            self.queue_timeouts += sampled.wait.since(&last.wait).count_from(limit);
        }
    }

    /// Returns the quantiles of the waits and of the runs of the last ten seconds.
    pub(super) fn quantiles(&self, snapshot: &Snapshot) -> (Option<Quantiles>, Option<Quantiles>) {
        let Some(first) = self.samples.front() else {
            return (None, None);
        };
        let wait = snapshot.wait_times.since(&first.wait);
        let run = snapshot.run_times.since(&first.run);
        (Quantiles::of(&wait), Quantiles::of(&run))
    }

    /// Returns the most active threads and the longest queue of the last ten seconds.
    pub(super) fn peaks(&self) -> (usize, usize) {
        let recent = self.samples.iter().rev().take(WINDOW);
        recent.fold((0, 0), |(active, queue), sample| {
            (active.max(sample.active), queue.max(sample.queue))
        })
    }

    fn point(&self, snapshot: &Snapshot) -> Point {
        let second = self.samples.len().checked_sub(2);
        let last = second.and_then(|at| self.samples.get(at));
        let quantiles = match last {
            None => [f64::NAN; SERIES.len() - FIRST_QUANTILE],
            Some(last) => quantiles(
                &snapshot.wait_times.since(&last.wait),
                &snapshot.run_times.since(&last.run),
            ),
        };
        let rates = &self.rates;
        let threads = &snapshot.threads;
        let capacity = snapshot.queue.capacity;
        let mut point = [f64::NAN; SERIES.len()];
        let figures = [
            number(threads.active),
            number(threads.size),
            number(threads.core),
            number(threads.max),
            number(snapshot.queue.len),
            number(self.peaks().1),
            capacity.map_or(f64::NAN, number),
            rates.submitted,
            rates.completed,
            rates.failed,
            rates.rejected,
            match snapshot.fork_join {
                Some(_) => rates.steals,
                None => f64::NAN,
            },
        ];
        point[..FIRST_QUANTILE].copy_from_slice(&figures);
        point[FIRST_QUANTILE..].copy_from_slice(&quantiles);
        point
    }

    fn end_minute(&mut self, now: (Instant, SystemTime), snapshot: &Snapshot) {
        let began = *self.minute.began.get_or_insert(now.0);
        if now.0.saturating_duration_since(began) < MINUTE {
            return;
        }
        let quantiles = quantiles(
            &snapshot.wait_times.since(&self.minute.wait),
            &snapshot.run_times.since(&self.minute.run),
        );
        self.past.end_minute(now.1, &quantiles);
        self.minute = Minute {
            began: Some(now.0),
            wait: snapshot.wait_times.clone(),
            run: snapshot.run_times.clone(),
        };
    }

    fn add_records(&mut self, (now, wall): (Instant, SystemTime), records: Vec<TaskRecord>) {
        for record in records {
            let age = now.saturating_duration_since(record.ended);
            self.recent.add(RecentTask {
                id: record.id,
                name: record.name,
                thread: record.thread,
                ended: wall.checked_sub(age).unwrap_or(wall),
                wait: record.wait,
                run: record.run,
                ending: record.ending,
                message: record.message,
            });
        }
        self.recent.trim(wall);
    }

    fn reading(&self, snapshot: &Snapshot) -> Reading {
        let (threads, queue) = (&snapshot.threads, &snapshot.queue);
        let fraction =
            |part: usize, whole: usize| (whole > 0).then(|| number(part) / number(whole));
        let added = |seconds, counter| self.window.added(Duration::from_secs(seconds), counter);
        let runs_over = self.thresholds.run_timeout.map_or(0, |limit| {
            let over = snapshot.running.iter().filter(|run| **run >= limit);
            // Of an executor that knows no more it is one.
            let oldest = snapshot.oldest_running.is_some_and(|run| run >= limit);
            (over.count() as u64).max(u64::from(oldest))
        });
        Reading {
            activity: fraction(threads.active, threads.max),
            capacity: queue
                .capacity
                .and_then(|capacity| fraction(queue.len, capacity)),
            queue_age: queue.oldest,
            rejected: (
                added(10, |counters| counters.rejected),
                added(60, |counters| counters.rejected),
            ),
            // Those that have not ended yet are counted too.
            run_timeouts: added(120, |counters| counters.run_timeouts) + runs_over,
            queue_timeouts: added(120, |counters| counters.queue_timeouts),
            oldest_running: snapshot.oldest_running,
            usual_run: snapshot.run_times.quantile(0.99),
            exits: added(60, |counters| counters.exits),
        }
    }
}

impl LastChange {
    /// Adds a later change, which is undone together with this one: to the first values, at the same time.
    pub(super) fn merge(&mut self, later: &mut Self) {
        for change in later.changes.drain(..) {
            let mut known = self.changes.iter_mut();
            match known.find(|known| known.field == change.field) {
                Some(known) => known.new = change.new,
                None => self.changes.push(change),
            }
        }
        self.changes.retain(|change| change.old != change.new);
        self.audit.append(&mut later.audit);
        if self.policy.is_none() {
            self.policy = later.policy.take();
        }
        self.revert_at = earlier(self.revert_at, later.revert_at);
    }
}

/// Returns the earlier of two times, or the only one.
pub(super) fn earlier(
    one: Option<(Instant, SystemTime)>,
    other: Option<(Instant, SystemTime)>,
) -> Option<(Instant, SystemTime)> {
    one.into_iter().chain(other).min_by_key(|(at, _)| *at)
}

impl Tuning {
    /// Compares the settings with those that were last seen; returns the change that the program has made.
    pub(super) fn observe(
        &mut self,
        name: &Arc<str>,
        wall: SystemTime,
        settings: &PoolSettings,
    ) -> Option<AuditEntry> {
        let changes = self.settings.differences(settings);
        if changes.is_empty() {
            return None;
        }
        self.settings = settings.clone();
        self.version += 1;
        self.reconfigured.code += 1;
        let mut entry = AuditEntry::new(name, wall, ChangeSource::Code, Action::Reconfigure);
        entry.changes = changes;
        Some(entry)
    }
}

fn rates(last: &Sampled, now: &Sampled) -> Rates {
    let seconds = now.at.saturating_duration_since(last.at).as_secs_f64();
    if seconds <= 0.0 {
        return Rates::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = |last: u64, now: u64| now.saturating_sub(last) as f64 / seconds;
    Rates {
        submitted: rate(last.submitted, now.submitted),
        completed: rate(last.completed, now.completed),
        failed: rate(last.failed, now.failed),
        rejected: rate(last.rejected, now.rejected),
        steals: rate(last.steals, now.steals),
    }
}

/// Returns the quantiles of a point of the past, in seconds.
fn quantiles(wait: &Histogram, run: &Histogram) -> [f64; SERIES.len() - FIRST_QUANTILE] {
    let of = |histogram: &Histogram, fraction| {
        let quantile = histogram.quantile(fraction);
        quantile.map_or(f64::NAN, |time| time.as_secs_f64())
    };
    [
        of(wait, 0.5),
        of(wait, 0.9),
        of(wait, 0.99),
        of(run, 0.5),
        of(run, 0.9),
        of(run, 0.99),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
const fn number(count: usize) -> f64 {
    count as f64
}
