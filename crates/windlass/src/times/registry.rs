//! The times of a pool: the buckets of each worker, those of the workers that have ended, and the names
//! that have buckets of their own.

use std::fmt;
use std::sync::Arc;

use super::compute::{Compute, ComputeTotals};
use super::histogram::{Buckets, Histogram};
use crate::sync::Mutex;

/// How many names have times of their own.
const MAX_NAMES: usize = 64;

/// The name under which the times of tasks with further names are added up.
const OTHER: &str = "other";

/// How long the tasks of one name have waited and run.
///
/// The first 64 names that a pool has timed have figures of their own; further names share one, `other`.
/// Tasks without a name are in the figures of the pool only.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let report = pool.task().name("report").submit(|| ());
/// pool.close();
/// let times = pool.stats().task_times;
/// assert_eq!((&*times[0].name, times[0].run_times.count()), ("report", 1));
/// # drop(report);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskTimes {
    /// The name of the tasks.
    pub name: Arc<str>,
    /// How long they waited for a worker; scheduled tasks from when they were due.
    pub wait_times: Histogram,
    /// How long they ran.
    pub run_times: Histogram,
}

impl TaskTimes {
    fn new(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            wait_times: Histogram::default(),
            run_times: Histogram::default(),
        }
    }
}

impl fmt::Display for TaskTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            wait_times,
            run_times,
        } = self;
        write!(f, "{name}: waited {wait_times}; ran {run_times}")
    }
}

/// The times of a pool, added up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) wait_times: Histogram,
    pub(crate) run_times: Histogram,
    /// In the order of the names' first use.
    pub(crate) named: Vec<TaskTimes>,
    pub(crate) compute: ComputeTotals,
}

impl Totals {
    fn add(&mut self, times: &WorkerTimes) {
        times.all.wait.add_to(&mut self.wait_times);
        times.all.run.add_to(&mut self.run_times);
        times.compute.add_to(&mut self.compute);
        for (name, pair) in times.named.lock().iter() {
            let at = self.named.iter().position(|named| named.name == *name);
            let at = at.unwrap_or_else(|| {
                self.named.push(TaskTimes::new(name));
                self.named.len() - 1
            });
            pair.wait.add_to(&mut self.named[at].wait_times);
            pair.run.add_to(&mut self.named[at].run_times);
        }
    }
}

/// The times of a pool.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Registered>);

#[derive(Debug, Default)]
struct Registered {
    present: Vec<Arc<WorkerTimes>>,
    /// The sums over the workers that have ended.
    ended: Totals,
    /// The names that have buckets of their own.
    names: Vec<Arc<str>>,
}

/// The buckets of one worker.
#[derive(Debug, Default)]
struct WorkerTimes {
    all: Pair,
    compute: Compute,
    /// Extended by the worker when it times a task of a new name.
    named: Mutex<Vec<(Arc<str>, Arc<Pair>)>>,
}

#[derive(Debug, Default)]
struct Pair {
    wait: Buckets,
    run: Buckets,
}

/// A duration in nanoseconds, and how many tasks it stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) nanos: u64,
    pub(crate) weight: u64,
}

impl Registry {
    /// Returns all times so far.
    pub(crate) fn totals(&self) -> Totals {
        let registered = self.0.lock();
        let mut totals = registered.ended.clone();
        for times in &registered.present {
            totals.add(times);
        }
        totals
    }

    /// Returns how long all tasks so far have waited and run, without those of each name apart: these take
    /// no look at the names, of which each worker may have many.
    pub(crate) fn all_times(&self) -> (Histogram, Histogram) {
        let registered = self.0.lock();
        let mut wait = registered.ended.wait_times.clone();
        let mut run = registered.ended.run_times.clone();
        for times in &registered.present {
            times.all.wait.add_to(&mut wait);
            times.all.run.add_to(&mut run);
        }
        (wait, run)
    }

    /// Creates the recorder of a worker.
    pub(crate) fn recorder(self: &Arc<Self>) -> Recorder {
        let times = Arc::new(WorkerTimes::default());
        self.0.lock().present.push(Arc::clone(&times));
        Recorder {
            registry: Arc::clone(self),
            times,
            known: Vec::new(),
        }
    }

    /// Returns the name under which the times of this one are added up.
    fn registered(&self, name: &Arc<str>) -> Arc<str> {
        let mut registered = self.0.lock();
        if let Some(known) = registered.names.iter().find(|known| *known == name) {
            return Arc::clone(known);
        }
        if registered.names.len() == MAX_NAMES {
            return Arc::from(OTHER);
        }
        registered.names.push(Arc::clone(name));
        Arc::clone(name)
    }
}

/// Records the times of one worker. When it is dropped, they are added to those of the ended workers.
#[derive(Debug)]
pub(crate) struct Recorder {
    registry: Arc<Registry>,
    times: Arc<WorkerTimes>,
    /// The names that this worker has timed, with their buckets.
    known: Vec<(Arc<str>, Arc<Pair>)>,
}

impl Recorder {
    /// Records a run, and how long its task has waited, if that is known.
    pub(crate) fn record(&mut self, name: Option<&Arc<str>>, wait: Option<Sample>, run: Sample) {
        self.times.all.record(wait, run);
        if let Some(name) = name {
            self.pair(name).record(wait, run);
        }
    }

    /// Records how much of a run its thread computed, both in nanoseconds.
    pub(crate) fn record_compute(&self, elapsed: u64, computed: u64) {
        self.times.compute.record(elapsed, computed);
    }

    fn pair(&mut self, name: &Arc<str>) -> &Pair {
        let is_same = |known: &Arc<str>| Arc::ptr_eq(known, name) || known == name;
        let known = self.known.iter().position(|(known, _)| is_same(known));
        let at = known.unwrap_or_else(|| self.add(name));
        &self.known[at].1
    }

    /// Adds the buckets of a name; returns their index.
    #[cold]
    fn add(&mut self, name: &Arc<str>) -> usize {
        let name = self.registry.registered(name);
        let known = self.known.iter().position(|(known, _)| *known == name);
        known.unwrap_or_else(|| {
            let pair = Arc::new(Pair::default());
            self.known.push((Arc::clone(&name), Arc::clone(&pair)));
            self.times.named.lock().push((name, pair));
            self.known.len() - 1
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut registered = self.registry.0.lock();
        registered.ended.add(&self.times);
        let present = &mut registered.present;
        present.retain(|times| !Arc::ptr_eq(times, &self.times));
    }
}

impl Pair {
    fn record(&self, wait: Option<Sample>, run: Sample) {
        if let Some(wait) = wait {
            self.wait.record(wait.nanos, wait.weight);
        }
        self.run.record(run.nanos, run.weight);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;

    use super::{MAX_NAMES, OTHER, Registry, Sample};

    const ONE: Sample = Sample {
        nanos: 5_000,
        weight: 1,
    };

    #[test]
    fn the_times_of_a_worker_stay_when_it_has_ended() {
        let registry = Arc::new(Registry::default());
        let name: Arc<str> = Arc::from("report");
        let (mut first, mut second) = (registry.recorder(), registry.recorder());
        first.record(Some(&name), Some(ONE), ONE);
        second.record(Some(&Arc::from("report")), None, ONE);
        let check = || {
            let totals = registry.totals();
            assert_eq!(totals.run_times.count(), 2);
            assert_eq!(totals.wait_times.count(), 1);
            assert_eq!(totals.named.len(), 1);
            assert_eq!(totals.named[0].run_times, totals.run_times);
        };
        check();
        drop(first);
        check();
        drop(second);
        check();
    }

    /// WL-244
    #[test]
    fn names_beyond_the_bound_share_one() {
        let registry = Arc::new(Registry::default());
        let mut recorder = registry.recorder();
        for number in 0..3 * MAX_NAMES {
            recorder.record(Some(&Arc::from(format!("task-{number}"))), None, ONE);
        }
        let named = registry.totals().named;
        assert_eq!(named.len(), MAX_NAMES + 1);
        let other = &named[MAX_NAMES];
        assert_eq!(&*other.name, OTHER);
        assert_eq!(other.run_times.count(), 2 * MAX_NAMES as u64);
        assert!(recorder.known.len() <= MAX_NAMES + 1);
    }
}
