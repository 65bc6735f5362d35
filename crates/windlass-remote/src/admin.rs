//! Looking at queues and changing them: counts, workers, tasks, dead letters, pause, bounds and limits.

use crate::engine::{
    CancelMode, Cancelled, DeadAction, Engine, EngineError, MAX_BATCH, QueuePatch, QueueStats,
    QueueStatus, ScheduleRecord, TaskPage, TaskRecord, TaskState, TypeLimit, WorkerRecord,
};
use crate::id::{QueueName, TaskId, check_name};
use std::sync::Arc;
use std::time::Duration;

/// The administration of one queue.
///
/// ```
/// use windlass_remote::{QueueAdmin, engine::MemoryEngine};
///
/// let queue = QueueAdmin::new(MemoryEngine::new(), "media".parse()?);
/// queue.set_capacity(Some(10_000))?;
/// queue.pause()?;
/// assert!(queue.status()?.paused);
/// assert_eq!(queue.stats()?.ready, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueueAdmin {
    engine: Arc<dyn Engine>,
    queue: QueueName,
}

/// Most methods ask the engine; they fail if it does not answer.
impl QueueAdmin {
    /// Creates the administration of a queue.
    pub fn new(engine: impl Engine, queue: QueueName) -> Self {
        Self {
            engine: Arc::new(engine),
            queue,
        }
    }

    /// Returns the queue.
    pub const fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Returns all queues of the engine.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        self.engine.queues()
    }

    /// Returns the counts.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn stats(&self) -> Result<QueueStats, EngineError> {
        self.engine.stats(&self.queue)
    }

    /// Returns the workers.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn workers(&self) -> Result<Vec<WorkerRecord>, EngineError> {
        self.engine.workers(&self.queue)
    }

    /// Returns the schedules.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn schedules(&self) -> Result<Vec<ScheduleRecord>, EngineError> {
        self.engine.schedules(&self.queue)
    }

    /// Returns the record of a task, as long as the engine has it.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn task(&self, id: &TaskId) -> Result<Option<TaskRecord>, EngineError> {
        let records = self
            .engine
            .look_up(&self.queue, std::slice::from_ref(id), None)?;
        Ok(records.into_iter().next().flatten())
    }

    /// Returns the records of tasks, in order; `None` where the engine has none.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn tasks(&self, ids: &[TaskId]) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        let mut records = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_BATCH) {
            records.extend(self.engine.look_up(&self.queue, ids, None)?);
        }
        Ok(records)
    }

    /// Returns the ids of tasks in one of the states, or in any if none is named: those among about `count` records (at most 1,000) from where
    /// `after` says, which is the `next` of the page before. What a page promises is in [`Engine::list`].
    ///
    /// # Errors
    ///
    /// If the engine does not answer, or `after` is not from a page of this engine.
    pub fn list(
        &self,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        self.engine.list(&self.queue, states, after, count)
    }

    /// Cancels a task, whether it runs or not.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn cancel(&self, id: &TaskId) -> Result<Cancelled, EngineError> {
        let answers = self
            .engine
            .cancel(&self.queue, std::slice::from_ref(id), CancelMode::Now)?;
        Ok(answers.into_iter().next().unwrap_or(Cancelled::Finished))
    }

    /// Returns dead letters, the latest first: `count` of them (at most 200) after the first `skip`.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn dead_letters(&self, skip: usize, count: usize) -> Result<Vec<TaskRecord>, EngineError> {
        // An engine keeps a few thousand; a number that its server cannot read would be an error.
        let skip = skip.min(i32::MAX as usize);
        self.engine
            .dead_letters(&self.queue, skip, count.min(MAX_BATCH))
    }

    /// Makes dead letters ready again; returns how many.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn retry_dead(&self, ids: &[TaskId]) -> Result<usize, EngineError> {
        self.settle_dead(ids, DeadAction::Retry)
    }

    /// Forgets dead letters; returns how many.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn drop_dead(&self, ids: &[TaskId]) -> Result<usize, EngineError> {
        self.settle_dead(ids, DeadAction::Drop)
    }

    fn settle_dead(&self, ids: &[TaskId], action: DeadAction) -> Result<usize, EngineError> {
        ids.chunks(MAX_BATCH)
            .map(|ids| self.engine.settle_dead(&self.queue, ids, action))
            .sum()
    }

    /// Returns the settings.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn status(&self) -> Result<QueueStatus, EngineError> {
        self.engine.configure(&self.queue, &QueuePatch::default())
    }

    /// Lets workers fetch nothing until [`resume`](Self::resume). What runs runs on, and tasks can be submitted.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn pause(&self) -> Result<QueueStatus, EngineError> {
        self.patch(QueuePatch {
            paused: Some(true),
            ..QueuePatch::default()
        })
    }

    /// Ends a pause.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn resume(&self) -> Result<QueueStatus, EngineError> {
        self.patch(QueuePatch {
            paused: Some(false),
            ..QueuePatch::default()
        })
    }

    /// Rejects new tasks from everybody until [`open`](Self::open). Workers go on.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn close(&self) -> Result<QueueStatus, EngineError> {
        self.patch(QueuePatch {
            closed: Some(true),
            ..QueuePatch::default()
        })
    }

    /// Takes new tasks again.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn open(&self) -> Result<QueueStatus, EngineError> {
        self.patch(QueuePatch {
            closed: Some(false),
            ..QueuePatch::default()
        })
    }

    /// Sets how many tasks may wait; `None` for any number. More are rejected, whoever submits them.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn set_capacity(&self, capacity: Option<u64>) -> Result<QueueStatus, EngineError> {
        self.patch(QueuePatch {
            capacity: Some(capacity),
            ..QueuePatch::default()
        })
    }

    fn patch(&self, patch: QueuePatch) -> Result<QueueStatus, EngineError> {
        self.engine.configure(&self.queue, &patch)
    }

    /// Sets how many tasks of a type may run at a time, on all workers together; `None` for any number. Replaces
    /// all limits of the type.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn limit_concurrency(&self, name: &str, most: Option<u32>) -> Result<(), EngineError> {
        let limit = TypeLimit {
            concurrency: most,
            ..TypeLimit::default()
        };
        self.limit(name, limit)
    }

    /// Sets how often tasks of a type may start, on all workers together: once in `interval` on average, and `burst`
    /// at once after a quiet time. Replaces all limits of the type.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn limit_rate(
        &self,
        name: &str,
        interval: Duration,
        burst: u32,
    ) -> Result<(), EngineError> {
        let limit = TypeLimit {
            concurrency: None,
            interval: Some(interval),
            burst,
        };
        self.limit(name, limit)
    }

    /// Sets both limits of a type at once.
    ///
    /// # Errors
    ///
    /// If the engine does not answer, or the name cannot be one of a type ([`EngineError::Protocol`]).
    pub fn limit(&self, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        check_name(name).map_err(|error| EngineError::Protocol(error.to_string()))?;
        self.engine.limit(&self.queue, name, limit)
    }
}
