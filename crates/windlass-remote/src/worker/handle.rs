//! `RemoteWorker`: the handle of a running worker.

use super::builder::RemoteWorkerBuilder;
use super::shared::{Shared, Stage, WorkerStats};
use crate::engine::Engine;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Runs the tasks of a queue on a local [`ThreadPoolExecutor`](windlass::ThreadPoolExecutor).
///
/// It takes no more tasks than its pool has room for, renews its claim on them while they run, and takes over those of
/// workers that vanished. It survives the engine's absence: what runs runs on, reports wait, and it never ends by
/// itself. Dropping it lets it drain in the background; [`shutdown`](Self::shutdown) waits for that.
///
/// **Delivery is at least once**: see [`RemoteTask`](crate::RemoteTask).
///
/// ```
/// # use windlass_remote::{RemoteTask, TaskCx, TaskError};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Thumbnail;
/// # impl RemoteTask for Thumbnail {
/// #     const NAME: &'static str = "media.thumbnail";
/// #     type Output = ();
/// #     fn run(self, _: &TaskCx) -> Result<(), TaskError> { Ok(()) }
/// # }
/// use std::time::Duration;
/// use windlass_remote::{RemoteWorker, engine::MemoryEngine};
///
/// let worker = RemoteWorker::builder(MemoryEngine::new())
///     .queue("media")
///     .pool(windlass::executors::fixed_thread_pool(4)?)
///     .register::<Thumbnail>()
///     .start()?;
/// assert!(worker.shutdown(Duration::from_secs(10)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RemoteWorker {
    pub(super) shared: Arc<Shared>,
}

impl fmt::Debug for RemoteWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteWorker")
            .field("id", &self.shared.record.id)
            .field("queue", &self.shared.queue)
            .field("slots", &self.shared.record.slots)
            .finish_non_exhaustive()
    }
}

impl RemoteWorker {
    /// Creates the settings of a worker.
    pub fn builder(engine: impl Engine) -> RemoteWorkerBuilder {
        RemoteWorkerBuilder::new(Arc::new(engine))
    }

    /// Returns the id under which the engine knows this worker.
    pub fn id(&self) -> &str {
        &self.shared.record.id
    }

    /// Returns what the worker has done so far.
    pub fn stats(&self) -> WorkerStats {
        self.shared.stats()
    }

    /// Returns the pool that runs the tasks, to be looked at or tuned.
    pub fn pool(&self) -> &windlass::ThreadPoolExecutor {
        &self.shared.pool
    }

    /// Fetches nothing more and waits for what runs, no longer than `grace`; then tells what still runs to stop and
    /// gives it back to the queue, for others at once; [at-most-once](crate::TaskOptions::at_most_once) tasks fail. Returns whether
    /// everything had ended in time.
    pub fn shutdown(&self, grace: Duration) -> bool {
        self.shared.life.advance(Stage::Draining);
        let in_time = self.shared.life.wait_ended(grace);
        if !in_time {
            self.shared.life.advance(Stage::Leaving);
            // One call to the engine, which bounds its own wait.
            self.shared.life.wait_ended(Duration::from_secs(5));
        }
        in_time
    }

    /// Returns whether the worker was told to end: it fetches nothing more.
    pub fn is_shutdown(&self) -> bool {
        self.shared.life.stage() != Stage::Working
    }

    /// Returns whether the worker has ended.
    pub fn is_terminated(&self) -> bool {
        self.shared.life.stage() == Stage::Ended
    }
}

impl Drop for RemoteWorker {
    fn drop(&mut self) {
        self.shared.life.advance(Stage::Draining);
    }
}
