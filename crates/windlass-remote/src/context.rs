//! What a running task knows of itself.

use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::id::{QueueName, TaskId};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use windlass::interrupt::InterruptHandle;

/// The values that a worker shares with its tasks, by type.
pub(crate) type States = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Handed to [`RemoteTask::run`](crate::RemoteTask::run).
///
/// A task that is cancelled or runs too long is asked to stop: [`is_cancelled`](Self::is_cancelled) becomes true,
/// and its thread is [interrupted](windlass::interrupt), which ends the waits of Windlass. What it returns after
/// that is dropped.
pub struct TaskCx {
    pub(crate) id: TaskId,
    pub(crate) queue: QueueName,
    pub(crate) attempt: u32,
    pub(crate) deadline: Option<Instant>,
    pub(crate) stop: Arc<StopFlag>,
    pub(crate) states: Arc<States>,
    pub(crate) checkpoints: Checkpoints,
}

impl TaskCx {
    /// Returns the id of the task: the same in every run of it, so that effects can be made once.
    pub const fn id(&self) -> &TaskId {
        &self.id
    }

    /// Returns the queue that the task came from.
    pub const fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Returns 1 in the first run, and one more after each failure and each vanished worker.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns whether the task should stop, since nobody wants its result.
    pub fn is_cancelled(&self) -> bool {
        self.stop.is_raised()
    }

    /// Returns the time left until the run limit; `None` without one.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Keeps bytes for the next delivery of this task, should this one end without an outcome: the worker vanishes, or the run fails and
    /// is repeated. They take the place of those kept before, and are gone with the outcome.
    ///
    /// Each call is a round trip to the engine: call it now and then, not for each step.
    ///
    /// ```
    /// # use windlass_remote::{LocalExecutor, RemoteTask, TaskCx, TaskError, TaskExecutorService};
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Sum(Vec<u32>);
    ///
    /// impl RemoteTask for Sum {
    ///     const NAME: &'static str = "math.sum";
    ///     type Output = u32;
    ///     fn run(self, cx: &TaskCx) -> Result<u32, TaskError> {
    ///         let (mut done, mut sum) = match cx.last_checkpoint()? {
    ///             Some(bytes) => serde_json::from_slice(&bytes)?,
    ///             None => (0, 0),
    ///         };
    ///         for batch in self.0[done..].chunks(1000) {
    ///             sum += batch.iter().sum::<u32>();
    ///             done += batch.len();
    ///             cx.checkpoint(&serde_json::to_vec(&(done, sum))?)?;
    ///         }
    ///         Ok(sum)
    ///     }
    /// }
    /// # let executor = LocalExecutor::fixed(1)?;
    /// assert_eq!(executor.submit_task(Sum(vec![1; 2500]))?.get()?, 2500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`CheckpointError`]. A run may well go on after one.
    pub fn checkpoint(&self, bytes: &[u8]) -> Result<(), CheckpointError> {
        self.checkpoints.save(&self.queue, bytes)
    }

    /// Returns what an earlier delivery of this task has [kept](Self::checkpoint), or this one.
    ///
    /// # Errors
    ///
    /// If the engine does not answer, or the bytes are not signed as required.
    pub fn last_checkpoint(&self) -> Result<Option<Vec<u8>>, CheckpointError> {
        self.checkpoints.last(&self.queue)
    }

    /// Returns the value of this type that the worker was [given](crate::RemoteWorkerBuilder::state).
    pub fn state<S: Send + Sync + 'static>(&self) -> Option<&S> {
        self.states
            .get(&TypeId::of::<S>())
            .and_then(|state| state.downcast_ref())
    }
}

impl fmt::Debug for TaskCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskCx")
            .field("id", &self.id)
            .field("queue", &self.queue)
            .field("attempt", &self.attempt)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Asks one run to stop, and interrupts its thread while it runs, never after.
#[derive(Debug, Default)]
pub(crate) struct StopFlag {
    raised: AtomicBool,
    /// The thread that runs the task. An interrupt is sent under this lock, so that none reaches the next task
    /// of the thread.
    thread: Mutex<Option<InterruptHandle>>,
}

impl StopFlag {
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    pub(crate) fn raise(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        self.raised.store(true, Ordering::SeqCst);
        if let Some(thread) = &*thread {
            thread.interrupt();
        }
    }

    /// Names the current thread as the one to interrupt until [`leave`](Self::leave).
    pub(crate) fn enter(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *thread = Some(windlass::interrupt::current());
        if self.is_raised() {
            windlass::interrupt::current().interrupt();
        }
    }

    /// Ends what `enter` began, and clears an interrupt that was meant for this run.
    pub(crate) fn leave(&self) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_raised() {
            // Nobody else can be meant: the flag was raised for this run, on this thread.
            let _ = windlass::interrupt::interrupted();
        }
    }
}
