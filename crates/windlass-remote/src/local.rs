//! The same verbs on a local pool.

use crate::engine::MemoryEngine;
use crate::executor::RemoteExecutor;
use crate::id::TaskId;
use crate::service::TaskExecutorService;
use crate::task::RemoteTask;
use crate::worker::{Registry, RemoteWorker, StartError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use windlass::ThreadPoolExecutor;

/// Runs [`RemoteTask`]s on a [`ThreadPoolExecutor`] of this process.
///
/// It is a [`MemoryEngine`] with a worker and a client, so everything that holds for a distributed queue holds here: payloads
/// and results go through the codec (and its faults show in a unit test), ids, priorities, repetition, time limits and
/// schedules work. Task types need no registration.
///
/// Dropping it rejects new tasks and lets those submitted run on, as for a pool; schedules end.
///
/// ```
/// # use windlass_remote::{RemoteTask, TaskCx, TaskError};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Double(u32);
/// # impl RemoteTask for Double {
/// #     const NAME: &'static str = "double";
/// #     type Output = u32;
/// #     fn run(self, _: &TaskCx) -> Result<u32, TaskError> { Ok(self.0 * 2) }
/// # }
/// use windlass_remote::{LocalExecutor, TaskExecutorService};
///
/// let executor = LocalExecutor::new(windlass::executors::fixed_thread_pool(2)?)?;
/// assert_eq!(executor.submit_task(Double(21))?.get()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LocalExecutor {
    remote: RemoteExecutor,
    registry: Arc<Registry>,
    engine: MemoryEngine,
    worker: Option<RemoteWorker>,
}

impl fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

impl LocalExecutor {
    /// Creates an executor that runs its tasks on a pool.
    ///
    /// # Errors
    ///
    /// If a thread could not be started.
    pub fn new(pool: ThreadPoolExecutor) -> Result<Self, StartError> {
        let engine = MemoryEngine::new();
        let registry = Arc::<Registry>::default();
        let worker = RemoteWorker::builder(engine.clone());
        let worker = worker.pool(pool).registry(Arc::clone(&registry)).start()?;
        let remote = RemoteExecutor::new(engine.clone());
        Ok(Self {
            remote,
            registry,
            engine,
            worker: Some(worker),
        })
    }

    /// Creates an executor with a pool of so many threads.
    ///
    /// # Errors
    ///
    /// If the number is 0 or a thread could not be started.
    pub fn fixed(threads: usize) -> Result<Self, StartError> {
        let pool =
            windlass::executors::fixed_thread_pool(threads).map_err(|_| StartError::NoPool)?;
        Self::new(pool)
    }

    /// Returns the engine, for [administration](crate::QueueAdmin) or further clients.
    pub const fn engine(&self) -> &MemoryEngine {
        &self.engine
    }
}

impl TaskExecutorService for LocalExecutor {
    fn remote<T: RemoteTask>(&self) -> &RemoteExecutor {
        if !self.registry.knows(T::NAME) {
            // A name that is not one is rejected by the submission; a name that was added meanwhile is what we want.
            let _ = self.registry.add::<T>();
        }
        &self.remote
    }

    fn shutdown(&self) {
        self.remote.shutdown();
    }

    fn shutdown_now(&self) -> Vec<TaskId> {
        self.remote.shutdown_now()
    }

    fn is_shutdown(&self) -> bool {
        self.remote.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.remote.is_terminated()
    }

    fn await_termination(&self, limit: Duration) -> bool {
        self.remote.await_termination(limit)
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        self.remote.shut_down();
        let client = Arc::clone(&self.remote.client);
        if client.is_drained() {
            return;
        }
        let worker = self.worker.take();
        // The worker fetches until every task has its outcome. If no thread can be started, the closure is dropped, and the
        // worker drains what it has already.
        let thread = std::thread::Builder::new().name("windlass-drain".into());
        let _ = thread.spawn(move || {
            while !client.wait_drained(Duration::from_secs(60)) {}
            drop(worker);
        });
    }
}
