//! An engine behind an [`Arc`], for programs that choose theirs when they start.

use super::{
    Backlog, Beat, CancelMode, Cancelled, ControlFeed, DeadAction, Engine, EngineError,
    EngineFigures, Fire, Lease, NewTask, QueuePatch, QueueStats, QueueStatus, Renewed, ReplyFeed,
    Report, Reported, ScheduleRecord, Submitted, TaskFeed, TaskPage, TaskRecord, TaskState, Tick,
    TypeLimit, WorkerRecord,
};
use crate::id::{QueueName, TaskId};
use std::sync::Arc;
use std::time::Duration;

/// A shared engine is that engine.
///
/// ```
/// use std::sync::Arc;
/// use windlass_remote::{QueueAdmin, engine::{Engine, MemoryEngine}};
///
/// let chosen: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
/// let queue = QueueAdmin::new(chosen.clone(), "media".parse()?);
/// queue.pause()?;
/// assert_eq!(chosen.queues()?, ["media".parse()?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<E: Engine + ?Sized> Engine for Arc<E> {
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
        (**self).submit(queue, tasks)
    }

    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError> {
        (**self).report(queue, reports)
    }

    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        (**self).cancel(queue, ids, mode)
    }

    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        (**self).look_up(queue, ids, watcher)
    }

    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError> {
        (**self).beat(queue, beat)
    }

    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError> {
        (**self).save_checkpoint(queue, lease, bytes)
    }

    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        (**self).last_checkpoint(queue, id)
    }

    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError> {
        (**self).leave(queue, worker)
    }

    fn tick(
        &self,
        queue: &QueueName,
        lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError> {
        (**self).tick(queue, lease, silence)
    }

    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError> {
        (**self).tasks(queue, worker)
    }

    fn replies(&self, queue: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError> {
        (**self).replies(queue, client)
    }

    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError> {
        (**self).control(queue)
    }

    fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: &ScheduleRecord,
    ) -> Result<(), EngineError> {
        (**self).put_schedule(queue, schedule)
    }

    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError> {
        (**self).remove_schedule(queue, name)
    }

    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError> {
        (**self).schedules(queue)
    }

    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError> {
        (**self).fire(queue, fire)
    }

    fn now(&self) -> Result<u64, EngineError> {
        (**self).now()
    }

    fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        (**self).queues()
    }

    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError> {
        (**self).stats(queue)
    }

    fn backlog(&self, queue: &QueueName) -> Result<Vec<Backlog>, EngineError> {
        (**self).backlog(queue)
    }

    fn figures(&self) -> Option<EngineFigures> {
        (**self).figures()
    }

    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError> {
        (**self).workers(queue)
    }

    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError> {
        (**self).configure(queue, patch)
    }

    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        (**self).limit(queue, name, limit)
    }

    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        (**self).list(queue, states, after, count)
    }

    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError> {
        (**self).dead_letters(queue, skip, count)
    }

    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError> {
        (**self).settle_dead(queue, ids, action)
    }
}
