//! The client's side: submits tasks to a queue and returns futures.

use crate::client::{Client, SubmitError};
use crate::codec::Codec;
use crate::engine::{
    CancelMode, Cancelled, Engine, EngineError, MAX_BATCH, NewTask, Submitted, TaskRecord,
};
use crate::envelope::SigningKey;
use crate::future::RemoteFuture;
use crate::id::{InvalidName, QueueName, TaskId, check_name};
use crate::options::TaskOptions;
use crate::rejected::{Rejected, RejectedReason};
use crate::slot::Slot;
use crate::task::RemoteTask;
use crate::wire::Wire;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Submits tasks to a queue of an engine; [workers](crate::RemoteWorker), here or elsewhere, run them.
///
/// Shutting it down concerns this handle: its queue and other clients go on. Dropping it does nothing to its
/// tasks, and its futures stay usable.
///
/// ```
/// use windlass_remote::{RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError, TaskExecutorService};
/// use windlass_remote::engine::MemoryEngine;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Add(u32, u32);
///
/// impl RemoteTask for Add {
///     const NAME: &'static str = "math.add";
///     type Output = u32;
///     fn run(self, _: &TaskCx) -> Result<u32, TaskError> { Ok(self.0 + self.1) }
/// }
///
/// let engine = MemoryEngine::new();
/// let worker = RemoteWorker::builder(engine.clone())
///     .pool(windlass::executors::fixed_thread_pool(2)?)
///     .register::<Add>()
///     .start()?;
/// let executor = RemoteExecutor::new(engine);
/// assert_eq!(executor.submit_task(Add(1, 2))?.get()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RemoteExecutor {
    pub(crate) client: Arc<Client>,
    is_shutdown: AtomicBool,
}

impl fmt::Debug for RemoteExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteExecutor")
            .field("queue", &self.client.queue)
            .field("shutdown", &self.is_shut_down())
            .finish_non_exhaustive()
    }
}

/// Settings of a [`RemoteExecutor`].
///
/// ```
/// use windlass_remote::{RemoteExecutor, engine::MemoryEngine};
///
/// let executor = RemoteExecutor::builder(MemoryEngine::new()).queue("media").build()?;
/// # Ok::<(), windlass_remote::InvalidName>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct RemoteExecutorBuilder {
    engine: Arc<dyn Engine>,
    queue: String,
    wire: Wire,
    submit_timeout: Duration,
}

impl RemoteExecutorBuilder {
    /// Sets the queue; `default` if not set.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Sets the format of payloads; JSON if not set.
    pub const fn codec(mut self, codec: Codec) -> Self {
        self.wire.codec = codec;
        self
    }

    /// Signs payloads, and refuses results that are not signed with the same key.
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.wire.key = Some(key);
        self
    }

    /// Sets the largest payload in bytes; 256 KiB if not set.
    pub const fn max_payload(mut self, bytes: usize) -> Self {
        self.wire.max_payload = bytes;
        self
    }

    /// Sets how long a submission may wait for an engine that cannot be reached; 10 seconds if not set.
    pub const fn submit_timeout(mut self, limit: Duration) -> Self {
        self.submit_timeout = limit;
        self
    }

    /// Creates the executor. Nothing is connected before the first submission.
    ///
    /// # Errors
    ///
    /// If the queue's name is not one.
    pub fn build(self) -> Result<RemoteExecutor, InvalidName> {
        let queue: QueueName = self.queue.parse()?;
        let client = Client::new(self.engine, queue, self.wire, self.submit_timeout);
        Ok(RemoteExecutor {
            client,
            is_shutdown: AtomicBool::new(false),
        })
    }
}

/// A submission of many that was refused, and the futures of those that were taken.
pub(crate) type RejectedMany<T> = (
    Rejected<Vec<T>>,
    Vec<RemoteFuture<<T as RemoteTask>::Output>>,
);

/// Why [`RemoteExecutor::attach`] has no future.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// There is no record of such a task (any more).
    NotFound,
    /// The task is of another type.
    OtherType {
        /// The wire name of its type.
        name: String,
    },
    /// The engine does not answer.
    Engine(EngineError),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no record of the task"),
            Self::OtherType { name } => write!(f, "the task is a {name:?}"),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AttachError {}

impl RemoteExecutor {
    /// Creates an executor for the queue `default`.
    pub fn new(engine: impl Engine) -> Self {
        let (engine, queue): (Arc<dyn Engine>, _) = (Arc::new(engine), QueueName::default());
        let client = Client::new(engine, queue, Wire::default(), Duration::from_secs(10));
        Self {
            client,
            is_shutdown: AtomicBool::new(false),
        }
    }

    /// Creates an executor with other settings.
    pub fn builder(engine: impl Engine) -> RemoteExecutorBuilder {
        RemoteExecutorBuilder {
            engine: Arc::new(engine),
            queue: "default".into(),
            wire: Wire::default(),
            submit_timeout: Duration::from_secs(10),
        }
    }

    /// Returns the queue.
    pub fn queue(&self) -> &QueueName {
        &self.client.queue
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shutdown.load(Ordering::SeqCst)
    }

    pub(crate) fn shut_down(&self) {
        self.is_shutdown.store(true, Ordering::SeqCst);
    }

    /// Picks a task up by its id, whoever submitted it, while the engine has its record.
    ///
    /// The task does not become one of this handle: unless it was submitted here, [`shutdown_now`](crate::TaskExecutorService::shutdown_now)
    /// does not cancel it, and termination does not wait for it. Its future cancels it.
    ///
    /// # Errors
    ///
    /// See [`AttachError`].
    pub fn attach<T: RemoteTask>(
        &self,
        id: &TaskId,
    ) -> Result<RemoteFuture<T::Output>, AttachError> {
        let slot = self.client.attached_slot(id).map_err(AttachError::Engine)?;
        let record = match self.client.look_up(std::slice::from_ref(id)) {
            Ok(records) => records
                .into_iter()
                .next()
                .flatten()
                .ok_or(AttachError::NotFound),
            Err(error) => {
                self.abandon(&slot);
                Err(AttachError::Engine(error))
            }
        }?;
        slot.confirm();
        if record.name != T::NAME {
            // Other futures of this client may share the slot, so it stays.
            return Err(AttachError::OtherType { name: record.name });
        }
        Ok(RemoteFuture::new(slot, Arc::clone(&self.client), T::NAME))
    }

    /// Forgets a slot unless it is known to belong to a task.
    fn abandon(&self, slot: &Slot) {
        if !slot.is_confirmed() {
            self.client.forget(&slot.id);
        }
    }

    /// Returns what the engine knows of a task.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    pub fn record(&self, id: &TaskId) -> Result<Option<TaskRecord>, EngineError> {
        let ids = std::slice::from_ref(id);
        let records = self
            .client
            .engine()
            .look_up(&self.client.queue, ids, None)?;
        Ok(records.into_iter().next().flatten())
    }

    /// Submits a task with an id and rules of its own, to be ready after a delay.
    ///
    /// An id that the queue knows already is not submitted again: the future is that of the first task.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`].
    pub fn submit_with<T: RemoteTask>(
        &self,
        id: TaskId,
        task: T,
        options: TaskOptions,
        delay: Duration,
    ) -> Result<RemoteFuture<T::Output>, Rejected<T>> {
        let new = match self.new_task(&id, &task, options, delay) {
            Ok(new) => new,
            Err(reason) => return Err(Rejected::new(task, reason)),
        };
        match self.submit_new(std::slice::from_ref(&new), T::NAME) {
            Ok(mut futures) => match futures.pop() {
                Some(Ok(future)) => Ok(future),
                Some(Err(reason)) => Err(Rejected::new(task, reason)),
                None => Err(Rejected::new(task, RejectedReason::Closed)),
            },
            Err(reason) => Err(Rejected::new(task, reason)),
        }
    }

    /// Submits many tasks in few round trips, each with a new id. All are submitted, or those that are not come back.
    ///
    /// # Errors
    ///
    /// If the queue refuses one: with it come all that were not taken. Those that were taken before stay submitted
    /// unless the engine says otherwise; use [`invoke_all`](crate::TaskExecutorService::invoke_all) to have them cancelled.
    pub fn submit_all<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
    ) -> Result<Vec<RemoteFuture<T::Output>>, Rejected<Vec<T>>> {
        self.submit_many(tasks).map_err(|(rejected, _)| rejected)
    }

    pub(crate) fn submit_many<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
    ) -> Result<Vec<RemoteFuture<T::Output>>, RejectedMany<T>> {
        let mut futures = Vec::with_capacity(tasks.len());
        let mut left = tasks.into_iter();
        loop {
            let batch: Vec<T> = left.by_ref().take(MAX_BATCH).collect();
            if batch.is_empty() {
                return Ok(futures);
            }
            let mut back = Vec::new();
            let reason = self.submit_batch(batch, &mut futures, &mut back);
            if let Some(reason) = reason {
                back.extend(left);
                return Err((Rejected::new(back, reason), futures));
            }
        }
    }

    /// Submits at most [`MAX_BATCH`] tasks; what is not taken is added to `back`.
    fn submit_batch<T: RemoteTask>(
        &self,
        batch: Vec<T>,
        futures: &mut Vec<RemoteFuture<T::Output>>,
        back: &mut Vec<T>,
    ) -> Option<RejectedReason> {
        let options = T::options();
        let new = |task: &T| self.new_task(&TaskId::random(), task, options, Duration::ZERO);
        let answers = match batch.iter().map(new).collect::<Result<Vec<_>, _>>() {
            Ok(new) => self.submit_new(&new, T::NAME),
            Err(reason) => Err(reason),
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(reason) => {
                back.extend(batch);
                return Some(reason);
            }
        };
        let mut first_reason = None;
        for (task, answer) in batch.into_iter().zip(answers) {
            match answer {
                Ok(future) => futures.push(future),
                Err(reason) => {
                    back.push(task);
                    first_reason.get_or_insert(reason);
                }
            }
        }
        first_reason
    }

    pub(crate) fn new_task<T: RemoteTask>(
        &self,
        id: &TaskId,
        task: &T,
        options: TaskOptions,
        delay: Duration,
    ) -> Result<NewTask, RejectedReason> {
        if self.is_shut_down() {
            return Err(RejectedReason::Shutdown);
        }
        check_name(T::NAME).map_err(RejectedReason::Name)?;
        Ok(NewTask {
            payload: self.client.wire().seal_task(id, task)?,
            id: id.clone(),
            name: T::NAME.into(),
            version: T::VERSION,
            options,
            delay,
            reply_to: Some(Arc::clone(self.client.id())),
        })
    }

    /// Submits tasks and returns a future or a reason for each.
    fn submit_new<O>(
        &self,
        tasks: &[NewTask],
        name: &'static str,
    ) -> Result<Vec<Result<RemoteFuture<O>, RejectedReason>>, RejectedReason> {
        // The slots are there first: an outcome may come before the answer to the submission.
        let slots = tasks.iter().map(|task| self.client.slot(&task.id));
        let slots = slots
            .collect::<Result<Vec<_>, _>>()
            .map_err(RejectedReason::Engine)?;
        let answers = self.client.submit(tasks).map_err(|error| {
            slots.iter().for_each(|slot| self.abandon(slot));
            match error {
                SubmitError::Engine(error) => RejectedReason::Engine(error),
                SubmitError::Interrupted => RejectedReason::Interrupted,
            }
        })?;
        let mut known = Vec::new();
        let mut futures = Vec::with_capacity(slots.len());
        for (slot, answer) in slots.into_iter().zip(answers) {
            if let Submitted::Refused(refusal) = answer {
                self.abandon(&slot);
                futures.push(Err(refusal.into()));
                continue;
            }
            slot.confirm();
            if answer == Submitted::Duplicate {
                known.push(slot.id.clone());
            }
            futures.push(Ok(RemoteFuture::new(slot, Arc::clone(&self.client), name)));
        }
        if !known.is_empty() {
            // After an error here the next sweep looks them up: the tasks are there, and that is what counts.
            let _ = self.client.look_up(&known);
        }
        Ok(futures)
    }

    /// Cancels every task that was submitted through this handle that has no outcome; returns those that had not started.
    pub(crate) fn cancel_all(&self) -> Vec<TaskId> {
        self.cancel_ids(&self.client.pending_ids())
    }

    /// Cancels tasks, running ones too; returns those that had not started. Ends at the first error: an engine that does not answer is
    /// not asked for each batch.
    pub(crate) fn cancel_ids(&self, ids: &[TaskId]) -> Vec<TaskId> {
        let mut not_started = Vec::new();
        for ids in ids.chunks(MAX_BATCH) {
            let Ok(answers) = self.client.cancel(ids, CancelMode::Now) else {
                break;
            };
            let answers = ids.iter().zip(answers);
            let before = answers.filter(|(_, answer)| *answer == Cancelled::BeforeStart);
            not_started.extend(before.map(|(id, _)| id.clone()));
        }
        not_started
    }
}
