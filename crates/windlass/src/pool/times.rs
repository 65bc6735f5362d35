//! When tasks are timed, and what each worker does right now.

use super::roster::Worker;
use super::shared::Shared;
use crate::executor::RunningTask;
use crate::sync::clock;
use crate::task::{Task, instant, nanos};
use crate::times::{Sampler, Writer};

/// What a worker keeps while it times a task. Only its thread uses it.
#[derive(Debug)]
pub(super) struct Stopwatch<'a> {
    sampler: &'a Sampler,
    activity: Writer<'a>,
}

impl<'a> Stopwatch<'a> {
    pub(super) fn new(pool: &'a Shared, worker: &'a Worker) -> Self {
        let stopwatch = Self {
            sampler: &pool.sampler,
            activity: worker.activity.writer(),
        };
        stopwatch.read_when_idle();
        stopwatch
    }

    /// Publishes which task begins; returns whether it is timed.
    #[inline]
    pub(super) fn begin(&mut self, task: &Task) -> bool {
        if let Some(name) = task.shared_name() {
            self.activity.set_name(name);
        }
        let timed = self.sampler.picks(task.id());
        if timed {
            self.start();
        }
        self.activity.begin(task.id());
        timed
    }

    /// Publishes that the task has ended.
    #[inline]
    pub(super) fn end(&mut self, timed: bool) {
        self.activity.end();
        if timed {
            self.stop();
        }
    }

    #[cold]
    fn start(&self) {
        self.activity.set_since(nanos(clock::now()));
    }

    #[cold]
    fn stop(&self) {
        let now = nanos(clock::now());
        self.activity.set_since(now);
        self.sampler.record(now);
    }

    /// Reads the clock after a wait for a task, so that the time of the wait does not count as that of an
    /// untimed task after it.
    #[cold]
    pub(super) fn read_when_idle(&self) {
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
        self.sampler.time_all(now);
        running
    }
}
