//! Settings of a worker, checked once at its start.

use super::registry::{RegisterError, Registry};
use super::shared::{Parts, Shared, Times};
use super::{RemoteWorker, fetcher, keeper, reporter, run_limits};
use crate::codec::Codec;
use crate::context::States;
use crate::engine::{Engine, WorkerRecord};
use crate::envelope::SigningKey;
use crate::id::{InvalidName, QueueName, TaskId, check_name};
use crate::task::RemoteTask;
use crate::wire::Wire;
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use windlass::ThreadPoolExecutor;

/// Why a worker did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A name (of the queue, the worker, or a task type) is not one.
    Name(InvalidName),
    /// Two task types have this wire name.
    DuplicateTask(&'static str),
    /// There is no pool to run tasks on.
    NoPool,
    /// The lease must be longer than 30 ms, and the silence longer than the time between two signs of life.
    Times,
    /// A thread could not be started.
    Thread(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::DuplicateTask(name) => write!(f, "two task types have the name {name:?}"),
            Self::NoPool => f.write_str("a worker needs a pool"),
            Self::Times => f.write_str("the lease or the silence of the worker is too short"),
            Self::Thread(error) => write!(f, "a thread could not be started: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Settings of a [`RemoteWorker`]; see there for an example.
#[must_use]
pub struct RemoteWorkerBuilder {
    engine: Arc<dyn Engine>,
    queue: String,
    name: String,
    pool: Option<ThreadPoolExecutor>,
    slots: Option<usize>,
    registry: Arc<Registry>,
    error: Option<StartError>,
    states: States,
    wire: Wire,
    times: Times,
}

impl fmt::Debug for RemoteWorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteWorkerBuilder")
            .field("queue", &self.queue)
            .field("name", &self.name)
            .field("tasks", &self.registry.list())
            .finish_non_exhaustive()
    }
}

impl RemoteWorkerBuilder {
    pub(crate) fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            queue: "default".into(),
            name: "worker".into(),
            pool: None,
            slots: None,
            registry: Arc::default(),
            error: None,
            states: States::new(),
            wire: Wire::default(),
            times: Times::default(),
        }
    }

    /// Sets the queue; `default` if not set.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Sets the name; `worker` if not set. Workers may share a name: each adds something random to it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the pool that runs the tasks. The worker shuts it down at its own end.
    pub fn pool(mut self, pool: ThreadPoolExecutor) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Sets how many tasks the worker takes at a time; the maximum pool size if not set, and at most 10,000.
    pub const fn slots(mut self, slots: usize) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Adds a task type. Two types of one name are an error at the start.
    pub fn register<T: RemoteTask>(mut self) -> Self {
        match self.registry.add::<T>() {
            Ok(()) => {}
            Err(RegisterError::Name(error)) => self.error = Some(StartError::Name(error)),
            Err(RegisterError::Twice(name)) => self.error = Some(StartError::DuplicateTask(name)),
        }
        self
    }

    pub(crate) fn registry(mut self, registry: Arc<Registry>) -> Self {
        self.registry = registry;
        self
    }

    /// Adds a value that tasks get by its type: [`TaskCx::state`](crate::TaskCx::state).
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        self.states.insert(TypeId::of::<S>(), Arc::new(state));
        self
    }

    /// Sets the format of results; JSON if not set. Payloads of any format are read.
    pub const fn codec(mut self, codec: Codec) -> Self {
        self.wire.codec = codec;
        self
    }

    /// Signs results, and refuses payloads that are not signed with the same key.
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.wire.key = Some(key);
        self
    }

    /// Sets the largest payload that is read; 256 KiB if not set.
    pub const fn max_payload(mut self, bytes: usize) -> Self {
        self.wire.max_payload = bytes;
        self
    }

    /// Sets the largest result; 1 MiB if not set.
    pub const fn max_result(mut self, bytes: usize) -> Self {
        self.wire.max_result = bytes;
        self
    }

    /// Sets how long a delivery belongs to the worker unless it is renewed, which happens three times in this time; 10 seconds
    /// if not set. All workers of a queue should have the same.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.times.lease = lease;
        self
    }

    /// Sets how often the worker gives a sign of life (1 s), and after how long without one others take its tasks (3 s).
    pub const fn heartbeat(mut self, every: Duration, silence: Duration) -> Self {
        self.times.beat = every;
        self.times.silence = silence;
        self
    }

    /// Sets what happens to tasks whose type or version the worker does not know: they are put back for this time (5 s), and
    /// are dead letters after nobody knew them for that time (1 h).
    pub const fn unknown_tasks(mut self, put_back: Duration, dead: Duration) -> Self {
        self.times.unknown_put_back = put_back;
        self.times.unknown_dead = dead;
        self
    }

    /// Starts the worker. The engine need not be there yet.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start(self) -> Result<RemoteWorker, StartError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let queue: QueueName = self.queue.parse().map_err(StartError::Name)?;
        check_name(&self.name).map_err(StartError::Name)?;
        let pool = self.pool.ok_or(StartError::NoPool)?;
        let times = self.times;
        if times.lease < Duration::from_millis(30) || times.silence <= times.beat {
            return Err(StartError::Times);
        }
        let slots = self
            .slots
            .unwrap_or_else(|| pool.maximum_pool_size())
            .clamp(1, 10_000);
        let record = WorkerRecord {
            id: format!("{}.{}", self.name, TaskId::random()),
            host: host_name(),
            pid: std::process::id(),
            slots: slots as u32,
            ..WorkerRecord::default()
        };
        let (engine, registry, wire) = (self.engine, self.registry, self.wire);
        let states = Arc::new(self.states);
        let parts = Parts {
            engine,
            queue,
            record,
            registry,
            states,
            wire,
            times,
            pool,
        };
        let worker = RemoteWorker {
            shared: Shared::new(parts),
        };
        worker.start_threads().inspect_err(|_| {
            // Dropping the worker ends the threads that were started, once nobody can bring tasks.
            worker.shared.fetching.store(false, Ordering::SeqCst);
        })?;
        Ok(worker)
    }
}

impl RemoteWorker {
    fn start_threads(&self) -> Result<(), StartError> {
        spawn("windlass-keep", &self.shared, |shared| {
            keeper::run(&shared);
        })?;
        spawn("windlass-report", &self.shared, |shared| {
            reporter::run(&shared);
        })?;
        spawn("windlass-limit", &self.shared, |shared| {
            run_limits::run(&shared);
        })?;
        spawn("windlass-fetch", &self.shared, |shared| {
            fetcher::run(&shared);
        })
    }
}

fn spawn(name: &str, shared: &Arc<Shared>, body: fn(Arc<Shared>)) -> Result<(), StartError> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name(name.into());
    thread
        .spawn(move || body(shared))
        .map(drop)
        .map_err(StartError::Thread)
}

/// Returns the name of this machine as far as the environment or the kernel tell it.
fn host_name() -> String {
    let told = std::env::var("HOSTNAME").ok();
    let told = told.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let told = told.map(|name| name.trim().chars().take(100).collect::<String>());
    told.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".into())
}
