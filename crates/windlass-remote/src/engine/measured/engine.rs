//! An engine whose calls are measured.

use super::super::{
    Backlog, Beat, CancelMode, Cancelled, ControlFeed, DeadAction, Engine, EngineError,
    EngineFigures, Fire, Lease, NewTask, Outcome, QueuePatch, QueueStats, QueueStatus, Renewed,
    ReplyFeed, Report, Reported, ScheduleRecord, Submitted, TaskFeed, TaskPage, TaskRecord,
    TaskState, Tick, TypeLimit, Verdict, WorkerRecord,
};
use super::feeds::Measured;
use super::meter::Meter;
use crate::id::{QueueName, TaskId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Measures the calls to an engine: how long they take and which fail, how long tasks take from their submission to
/// their outcome, and how large payloads and results are.
///
/// It does what the engine in it does. A clone is the same engine with the same figures, so give clones of one to the executors, the
/// workers and the console of a process. Each call then costs two readings of the clock and a lock that is held for a few
/// instructions, which is little beside a call to a server.
///
/// ```
/// use windlass_remote::RemoteExecutor;
/// use windlass_remote::engine::{Engine, MeasuredEngine, MemoryEngine};
///
/// let engine = MeasuredEngine::new(MemoryEngine::new());
/// let executor = RemoteExecutor::new(engine.clone());
/// assert!(engine.figures().is_some_and(|figures| figures.queues.is_empty()));
/// ```
#[derive(Clone)]
pub struct MeasuredEngine {
    engine: Arc<dyn Engine>,
    meter: Arc<Meter>,
}

impl fmt::Debug for MeasuredEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MeasuredEngine").field(&self.engine).finish()
    }
}

impl MeasuredEngine {
    /// Measures an engine from now on.
    pub fn new(engine: impl Engine) -> Self {
        Self {
            engine: Arc::new(engine),
            meter: Arc::default(),
        }
    }

    fn measured<F: ?Sized>(&self, queue: &QueueName, feed: Box<F>) -> Measured<F> {
        Measured {
            meter: Arc::clone(&self.meter),
            queue: queue.clone(),
            feed,
        }
    }
}

/// Whether the way of a task from its submission to its outcome is measured.
fn is_awaited(task: &NewTask) -> bool {
    task.reply_to.is_some() && task.delay.is_zero()
}

impl Engine for MeasuredEngine {
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
        let begun = Instant::now();
        // Before the call: an outcome may come before the answer to it.
        self.meter.note(queue, |traffic| {
            for task in tasks.iter().filter(|task| is_awaited(task)) {
                traffic.submitted(&task.id, begun);
            }
        });
        let answer = self
            .meter
            .timed("submit", || self.engine.submit(queue, tasks));
        let answers = answer.as_deref().unwrap_or_default();
        self.meter.note(queue, |traffic| {
            for task in tasks {
                traffic.sent(task.payload.len());
            }
            for (task, answer) in tasks.iter().zip(answers) {
                if matches!(answer, Submitted::Refused(_)) {
                    traffic.refused(&task.id);
                }
            }
        });
        answer
    }

    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError> {
        self.meter.note(queue, |traffic| {
            for report in reports {
                if let Verdict::Done(result) = &report.verdict {
                    traffic.sent(result.len());
                }
            }
        });
        self.meter
            .timed("report", || self.engine.report(queue, reports))
    }

    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        let records = self
            .meter
            .timed("look_up", || self.engine.look_up(queue, ids, watcher))?;
        let now = Instant::now();
        // A client has found out that way, unless it has heard of it before.
        let ended = records.iter().flatten().filter(|_| watcher.is_some());
        self.meter.note(queue, |traffic| {
            for record in ended {
                if record.outcome.is_some() {
                    traffic.ended(&record.id, now);
                }
                if let Some(Outcome::Done(result)) = &record.outcome {
                    traffic.received(result.len());
                }
            }
        });
        Ok(records)
    }

    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError> {
        let feed = self
            .meter
            .timed("tasks", || self.engine.tasks(queue, worker))?;
        Ok(Box::new(self.measured(queue, feed)))
    }

    fn replies(&self, queue: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError> {
        let feed = self
            .meter
            .timed("replies", || self.engine.replies(queue, client))?;
        Ok(Box::new(self.measured(queue, feed)))
    }

    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError> {
        let feed = self.meter.timed("control", || self.engine.control(queue))?;
        Ok(Box::new(self.measured(queue, feed)))
    }

    fn figures(&self) -> Option<EngineFigures> {
        Some(self.meter.read())
    }

    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        self.meter
            .timed("cancel", || self.engine.cancel(queue, ids, mode))
    }

    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError> {
        self.meter.timed("beat", || self.engine.beat(queue, beat))
    }

    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError> {
        self.meter.timed("save_checkpoint", || {
            self.engine.save_checkpoint(queue, lease, bytes)
        })
    }

    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.meter
            .timed("last_checkpoint", || self.engine.last_checkpoint(queue, id))
    }

    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError> {
        self.meter
            .timed("leave", || self.engine.leave(queue, worker))
    }

    fn tick(
        &self,
        queue: &QueueName,
        lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError> {
        self.meter
            .timed("tick", || self.engine.tick(queue, lease, silence))
    }

    fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: &ScheduleRecord,
    ) -> Result<(), EngineError> {
        self.meter
            .timed("put_schedule", || self.engine.put_schedule(queue, schedule))
    }

    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError> {
        self.meter.timed("remove_schedule", || {
            self.engine.remove_schedule(queue, name)
        })
    }

    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError> {
        self.meter
            .timed("schedules", || self.engine.schedules(queue))
    }

    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError> {
        self.meter.timed("fire", || self.engine.fire(queue, fire))
    }

    fn now(&self) -> Result<u64, EngineError> {
        self.meter.timed("now", || self.engine.now())
    }

    fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        self.meter.timed("queues", || self.engine.queues())
    }

    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError> {
        self.meter.timed("stats", || self.engine.stats(queue))
    }

    fn backlog(&self, queue: &QueueName) -> Result<Vec<Backlog>, EngineError> {
        self.meter.timed("backlog", || self.engine.backlog(queue))
    }

    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError> {
        self.meter.timed("workers", || self.engine.workers(queue))
    }

    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError> {
        self.meter
            .timed("configure", || self.engine.configure(queue, patch))
    }

    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        self.meter
            .timed("limit", || self.engine.limit(queue, name, limit))
    }

    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        self.meter
            .timed("list", || self.engine.list(queue, states, after, count))
    }

    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError> {
        self.meter.timed("dead_letters", || {
            self.engine.dead_letters(queue, skip, count)
        })
    }

    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError> {
        self.meter.timed("settle_dead", || {
            self.engine.settle_dead(queue, ids, action)
        })
    }
}
