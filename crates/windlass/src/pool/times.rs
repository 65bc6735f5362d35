//! When tasks are timed, and what each worker does right now.

use std::sync::Arc;
use std::time::Duration;

use super::roster::Worker;
use super::shared::Shared;
use super::stats::PoolStats;
use crate::executor::RunningTask;
use crate::interrupt::ThreadContext;
use crate::sync::clock::{self, Clock};
use crate::sync::thread_cpu_time;
use crate::task::{Task, instant, nanos};
use crate::times::{BETWEEN, Ending, Recorder, Records, Sample, Sampler, TaskRecord, Writer};

/// What a worker times its tasks with. Only its thread uses it.
#[derive(Debug)]
pub(super) struct Stopwatch<'a> {
    sampler: &'a Sampler,
    activity: Writer<'a>,
    recorder: Recorder<'a>,
    records: &'a Records,
    worker: &'a Worker,
    /// The run that is timed.
    timed: Timed,
    /// When the processor time is read next, as a timestamp; never on a test clock, which it has nothing
    /// to do with.
    next_cpu: u64,
}

/// The start of a run that is timed.
#[derive(Debug, Default)]
struct Timed {
    /// As a timestamp.
    start: u64,
    /// How many tasks it stands for.
    weight: u64,
    wait: Option<Sample>,
    /// As a timestamp; zero while it runs.
    end: u64,
    name: Option<Arc<str>>,
    /// The processor time at the start, if it is measured.
    cpu: Option<u64>,
}

impl<'a> Stopwatch<'a> {
    pub(super) fn new(pool: &'a Shared, worker: &'a Worker) -> Self {
        let stopwatch = Self {
            sampler: &pool.tracker.run,
            activity: worker.activity.writer(),
            recorder: pool.tracker.registry.recorder(),
            records: &pool.tracker.records,
            worker,
            timed: Timed::default(),
            next_cpu: if Clock::is_system() { 0 } else { u64::MAX },
        };
        stopwatch.read_clock();
        stopwatch
    }

    /// Publishes which task begins; returns whether it is timed.
    #[inline]
    pub(super) fn begin(&mut self, task: &Task) -> bool {
        let name = task.shared_name();
        if let Some(name) = name {
            self.activity.set_name(name);
        }
        let weight = self.sampler.weight(task.id());
        if let Some(weight) = weight {
            self.start(task, name, weight);
        }
        self.activity.begin(task.id());
        weight.is_some()
    }

    /// Publishes that the task has ended.
    #[inline]
    pub(super) fn end(&mut self, is_timed: bool) {
        self.activity.end();
        if is_timed {
            self.stop();
        }
    }

    #[cold]
    fn start(&mut self, task: &Task, name: Option<&Arc<str>>, weight: u64) {
        let start = nanos(clock::now());
        self.activity.set_since(start);
        let queued = match task.timer() {
            Some(timer) => Some((timer.place().due(), 1)),
            None => task.stamp().map(|stamp| (stamp.nanos(), stamp.weight())),
        };
        self.timed = Timed {
            start,
            weight,
            wait: queued.map(|(queued, picked)| Sample {
                nanos: start.saturating_sub(queued),
                weight: weight.max(picked),
            }),
            end: 0,
            name: name.cloned(),
            cpu: self.read_cpu(start),
        };
    }

    #[cold]
    fn stop(&mut self) {
        let now = nanos(clock::now());
        self.activity.set_since(now);
        self.timed.end = now;
        let Timed {
            start,
            weight,
            wait,
            ref name,
            cpu,
            ..
        } = self.timed;
        let run = Sample {
            nanos: now.saturating_sub(start),
            weight,
        };
        self.recorder.record(name.as_ref(), wait, run);
        if self.records.wants(run.nanos) {
            self.record_slow();
        }
        if let (Some(before), Some(after)) = (cpu, cpu.and_then(|_| thread_cpu_time())) {
            let computed = after.saturating_sub(before);
            self.recorder.record_compute(run.nanos, computed);
        }
        self.sampler.record(now);
    }

    #[cold]
    fn record_slow(&self) {
        if let Some(record) = self.describe(true, Ending::Ok) {
            self.records.add_slow(record);
        }
    }

    /// Describes the task that ran last, which was timed or not; `None` if there was none.
    #[cold]
    pub(super) fn describe(&self, is_timed: bool, ending: Ending) -> Option<TaskRecord> {
        let (id, name) = self.activity.last()?;
        let mut record = TaskRecord::new(id, clock::now(), ending);
        record.name = name;
        record.thread = self.worker.thread_name().map(Arc::from);
        if is_timed {
            let Timed {
                start, end, wait, ..
            } = self.timed;
            record.run = Some(Duration::from_nanos(end.saturating_sub(start)));
            record.wait = wait.map(|wait| Duration::from_nanos(wait.nanos));
        }
        Some(record)
    }

    /// Reads the processor time, unless it was read a short time ago.
    fn read_cpu(&mut self, now: u64) -> Option<u64> {
        if now < self.next_cpu {
            return None;
        }
        self.next_cpu = now.saturating_add(BETWEEN);
        thread_cpu_time()
    }

    /// Reads the clock after a long wait for a task, so that the time of the wait does not count as that
    /// of an untimed task after it. A wait without parking is short.
    #[cold]
    pub(super) fn wait_ended(&self, me: &ThreadContext) {
        if me.take_has_parked() {
            self.read_clock();
        }
    }

    fn read_clock(&self) {
        if !self.sampler.is_off() && self.sampler.every() > 1 {
            let now = nanos(clock::now());
            self.activity.set_since(now);
            self.sampler.record_wait(now);
        }
    }
}

impl Shared {
    /// Returns what each worker does.
    pub(crate) fn running_tasks(&self) -> Vec<RunningTask> {
        let workers = self.roster.present();
        let now = nanos(self.clock().now());
        let running = workers.iter().filter_map(|worker| {
            let running = worker.activity.running()?;
            let since = match running.since {
                0 => worker.first_seen(&running, now),
                since => since,
            };
            let thread = worker.thread_name();
            let since = instant(since);
            let task = RunningTask::new(running.task, running.name, since, thread.as_deref());
            Some(task)
        });
        let running = running.collect();
        // Those that begin from now on have an exact time.
        self.tracker.run.time_all(now);
        running
    }

    /// Returns the figures of the pool with its times.
    pub(crate) fn stats_with_times(&self) -> PoolStats {
        let mut stats = self.stats();
        let totals = self.tracker.registry.totals();
        stats.wait_times = totals.wait_times;
        stats.run_times = totals.run_times;
        stats.task_times = totals.named;
        stats
    }
}
