//! What a worker times its tasks with, and publishes what it does.
//!
//! A thread that waits for a task may run it inside another one. Both are timed then, each with its own
//! start, and the outer one is what the worker does.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::activity::{SharedActivity, Writer};
use super::compute::BETWEEN;
use super::record::{Ending, TaskRecord};
use super::records::Records;
use super::registry::{Recorder, Registry, Sample};
use super::sampler::Sampler;
use super::tracker::Tracker;
use crate::interrupt::ThreadContext;
use crate::sync::clock::Clock;
use crate::sync::{thread, thread_cpu_time};
use crate::task::{Task, TaskId, nanos};

/// What a worker times its tasks with. Only its thread uses it.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    sampler: Arc<Sampler>,
    activity: Writer,
    clock: Clock,
    /// What only timed runs use.
    timing: RefCell<Timing>,
}

#[derive(Debug)]
struct Timing {
    registry: Arc<Registry>,
    records: Arc<Records>,
    /// Created for the first timed run.
    recorder: Option<Recorder>,
    /// The runs that are timed, the innermost last.
    runs: Vec<Timed>,
    /// How long the timed run that ended last took, and its wait.
    last: Option<(u64, Option<Sample>)>,
    /// When the processor time is read next, as a timestamp; never on a test clock, which it has nothing
    /// to do with.
    next_cpu: u64,
    /// Reads the processor time of the thread.
    cpu_time: fn() -> Option<u64>,
}

/// The start of a run that is timed.
#[derive(Debug)]
struct Timed {
    id: TaskId,
    /// As a timestamp.
    start: u64,
    /// How many tasks it stands for.
    weight: u64,
    wait: Option<Sample>,
    name: Option<Arc<str>>,
    /// The processor time at the start, if it is measured.
    cpu: Option<u64>,
    /// Whether the task turned out not to run.
    is_skipped: bool,
}

/// A run that has begun. Two bytes, so that it stays in a register: it is kept during the run of every task.
#[derive(Debug, Clone, Copy)]
#[must_use = "the run has to be ended"]
pub(crate) struct BegunRun {
    is_timed: bool,
    /// Whether it is what the worker does: it is not inside another one.
    is_outermost: bool,
}

/// When a task was queued, and for how many tasks its wait stands.
type Queued = Option<(u64, u64)>;

impl Stopwatch {
    pub(crate) fn new(tracker: &Tracker, activity: &SharedActivity, clock: &Clock) -> Self {
        let is_system = matches!(clock, Clock::System);
        let stopwatch = Self {
            sampler: Arc::clone(&tracker.run),
            activity: Writer::new(activity),
            clock: clock.clone(),
            timing: RefCell::new(Timing {
                registry: Arc::clone(&tracker.registry),
                records: Arc::clone(&tracker.records),
                recorder: None,
                runs: Vec::new(),
                last: None,
                next_cpu: if is_system { 0 } else { u64::MAX },
                cpu_time: thread_cpu_time,
            }),
        };
        stopwatch.read_clock();
        stopwatch
    }

    /// Publishes which task begins, and times it if it is one of those that are.
    #[inline]
    pub(crate) fn begin(&self, task: &Task) -> BegunRun {
        let queued = || match task.timer() {
            Some(timer) => Some((timer.place().due(), 1)),
            None => task.stamp().map(|stamp| (stamp.nanos(), stamp.weight())),
        };
        self.begin_run(task.id(), task.shared_name(), queued)
    }

    /// Publishes which task begins if it runs inside no other, is not timed and has no name; returns
    /// whether that was so. For such a run nothing has to be kept.
    #[inline]
    pub(crate) fn begin_plain(&self, task: &Task) -> bool {
        let id = task.id();
        let is_plain = !self.sampler.picks(id) && task.shared_name().is_none();
        if is_plain {
            self.activity.begin(id);
        }
        is_plain
    }

    /// Publishes that a task has ended for which [`begin_plain`](Self::begin_plain) returned true.
    #[inline]
    pub(crate) fn end_plain(&self) {
        self.activity.end();
    }

    /// Describes a task that has failed, for which [`begin_plain`](Self::begin_plain) returned true.
    #[cold]
    pub(crate) fn describe_plain(&self, ending: Ending) -> TaskRecord {
        let run = BegunRun {
            is_timed: false,
            is_outermost: true,
        };
        self.describe(run, self.last_task(), ending)
    }

    /// As [`begin`](Self::begin), for a task that is run through its handle: when it was queued is not
    /// known.
    pub(crate) fn begin_by_handle(&self, id: TaskId, name: Option<&Arc<str>>) -> BegunRun {
        self.begin_run(id, name, || None)
    }

    #[inline]
    fn begin_run(
        &self,
        id: TaskId,
        name: Option<&Arc<str>>,
        queued: impl FnOnce() -> Queued,
    ) -> BegunRun {
        let is_outermost = !self.activity.is_running();
        if let Some(name) = name.filter(|_| is_outermost) {
            self.activity.set_name(name);
        }
        let weight = self.sampler.weight(id);
        if let Some(weight) = weight {
            let start = self.start((id, name), weight, queued());
            if is_outermost {
                self.activity.set_since(start);
            }
        }
        if is_outermost {
            self.activity.begin(id);
        }
        BegunRun {
            is_timed: weight.is_some(),
            is_outermost,
        }
    }

    /// Takes back that the run is timed: the task was cancelled before, or is done.
    pub(crate) fn skip(&self, run: BegunRun) {
        if !run.is_timed {
            return;
        }
        if let Some(timed) = self.timing.borrow_mut().runs.last_mut() {
            timed.is_skipped = true;
        }
    }

    /// Publishes that the task has ended. Runs end in the reverse order of their begin.
    #[inline]
    pub(crate) fn end(&self, run: BegunRun) {
        if run.is_outermost {
            self.activity.end();
        }
        if run.is_timed {
            let now = self.stop(run);
            if run.is_outermost {
                self.activity.set_since(now);
            }
        }
    }

    /// Reads the clock, and keeps it as the start of a run; returns it.
    ///
    /// The processor time is read outside of what is timed: that is a system call, in which the thread may
    /// lose its processor for milliseconds.
    #[cold]
    fn start(&self, (id, name): (TaskId, Option<&Arc<str>>), weight: u64, queued: Queued) -> u64 {
        let taken = nanos(self.clock.now());
        let mut timing = self.timing.borrow_mut();
        let cpu = timing.read_cpu(taken);
        let start = cpu.map_or(taken, |_| nanos(self.clock.now()));
        timing.runs.push(Timed {
            id,
            start,
            weight,
            wait: queued.map(|(queued, picked)| Sample {
                nanos: taken.saturating_sub(queued),
                weight: weight.max(picked),
            }),
            name: name.cloned(),
            cpu,
            is_skipped: false,
        });
        start
    }

    /// Reads the clock, and records the innermost run; returns the time.
    #[cold]
    fn stop(&self, begun: BegunRun) -> u64 {
        let ended = self.clock.now();
        let now = nanos(ended);
        let mut timing = self.timing.borrow_mut();
        let run = timing.runs.pop().filter(|run| !run.is_skipped);
        if let Some(run) = run {
            timing.record(&run, now);
            let ran = now.saturating_sub(run.start);
            if timing.records.wants(ran) {
                let mut slow = self.record_of(begun, run.id, ended, Ending::Ok);
                slow.set_times(ran, run.wait);
                timing.records.add_slow(slow);
            }
            timing.last = Some((ran, run.wait));
        }
        self.sampler.record(now);
        now
    }

    /// Returns the task that this worker runs, or ran last, not inside another one.
    pub(crate) fn last_task(&self) -> TaskId {
        self.activity.task()
    }

    /// Describes a task that has failed; its run has just ended, or is about to.
    #[cold]
    pub(crate) fn describe(&self, run: BegunRun, id: TaskId, ending: Ending) -> TaskRecord {
        let ended = self.clock.now();
        let mut record = self.record_of(run, id, ended, ending);
        let timing = self.timing.borrow();
        if run.is_timed {
            let open = timing.runs.last();
            let open = open.map(|open| (nanos(ended).saturating_sub(open.start), open.wait));
            if let Some((ran, wait)) = open.or(timing.last) {
                record.set_times(ran, wait);
            }
        }
        record
    }

    fn record_of(&self, run: BegunRun, id: TaskId, ended: Instant, ending: Ending) -> TaskRecord {
        let mut record = TaskRecord::new(id, ended, ending);
        record.name = run.is_outermost.then(|| self.activity.name()).flatten();
        record.thread = thread::current().name().map(Arc::from);
        record
    }

    /// Reads the clock after a long wait for a task, so that the time of the wait does not count as that
    /// of an untimed task after it. A wait without parking is short.
    #[cold]
    pub(crate) fn wait_ended(&self, me: &ThreadContext) {
        if me.take_has_parked() {
            self.read_clock();
        }
    }

    fn read_clock(&self) {
        if !self.sampler.is_off() && self.sampler.every() > 1 {
            let now = nanos(self.clock.now());
            self.activity.set_since(now);
            self.sampler.record_wait(now);
        }
    }
}

impl Timing {
    /// Reads the processor time, unless it was read a short time ago.
    fn read_cpu(&mut self, now: u64) -> Option<u64> {
        if now < self.next_cpu {
            return None;
        }
        self.next_cpu = now.saturating_add(BETWEEN);
        (self.cpu_time)()
    }

    fn record(&mut self, run: &Timed, now: u64) {
        let computed = run.cpu.zip(run.cpu.and_then(|_| (self.cpu_time)()));
        let registry = &self.registry;
        let recorder = self.recorder.get_or_insert_with(|| registry.recorder());
        let ran = Sample {
            nanos: now.saturating_sub(run.start),
            weight: run.weight,
        };
        recorder.record(run.name.as_ref(), run.wait, ran);
        if let Some((before, after)) = computed {
            recorder.record_compute(ran.nanos, after.saturating_sub(before));
        }
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crossbeam_utils::CachePadded;

    use super::Stopwatch;
    use crate::sync::clock::{Clock, TestClock};
    use crate::task::TaskBuilder;
    use crate::times::{Activity, Times, Tracker};

    const SECOND: Duration = Duration::from_secs(1);

    /// WL-253
    #[test]
    fn a_run_inside_another_is_timed_and_the_outer_one_is_shown() {
        let clock = TestClock::new();
        let tracker = Tracker::new(Times::Every);
        let activity = Arc::new(CachePadded::new(Activity::default()));
        let stopwatch = Stopwatch::new(&tracker, &activity, &Clock::Test(clock.clone()));
        let task = |name: &str| TaskBuilder::new().name(name).build(|| ());
        let (outer, inner, done) = (task("outer"), task("inner"), task("done"));
        let outer_run = stopwatch.begin(&outer);
        clock.advance(SECOND);
        let inner_run = stopwatch.begin(&inner);
        clock.advance(SECOND);
        let running = activity.running().unwrap();
        assert_eq!(
            (running.task, running.name.as_deref()),
            (outer.id(), Some("outer"))
        );
        let skipped_run = stopwatch.begin(&done);
        stopwatch.skip(skipped_run);
        stopwatch.end(skipped_run);
        stopwatch.end(inner_run);
        assert_eq!(activity.running(), Some(running));
        stopwatch.end(outer_run);
        assert_eq!(activity.running(), None);
        let named = tracker.registry.totals().named;
        let times = named
            .iter()
            .map(|times| (&*times.name, times.run_times.sum()));
        assert_eq!(
            times.collect::<Vec<_>>(),
            [("inner", SECOND), ("outer", 2 * SECOND)]
        );
    }

    /// WL-260
    #[test]
    fn reading_the_processor_time_is_not_part_of_a_run() {
        let clock = TestClock::new();
        let tracker = Tracker::new(Times::Every);
        let activity = Arc::new(CachePadded::new(Activity::default()));
        let stopwatch = Stopwatch::new(&tracker, &activity, &Clock::Test(clock.clone()));
        {
            let mut timing = stopwatch.timing.borrow_mut();
            timing.next_cpu = 0;
            // It takes an hour on the clock, and none of the processor.
            timing.cpu_time = || {
                if let Clock::Test(clock) = Clock::current() {
                    clock.advance(3_600 * SECOND);
                }
                Some(0)
            };
        }
        let task = TaskBuilder::new().build(|| ());
        let task = task.set_queued_at(clock.now(), 1);
        clock.advance(SECOND);
        clock.enter(|| {
            let run = stopwatch.begin(&task);
            clock.advance(2 * SECOND);
            stopwatch.end(run);
        });
        let totals = tracker.registry.totals();
        assert_eq!(totals.compute.runs, 1);
        assert_eq!(totals.wait_times.max(), Some(SECOND));
        assert_eq!(totals.run_times.max(), Some(2 * SECOND));
    }
}
