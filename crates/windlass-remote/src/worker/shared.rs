//! What the threads of one worker share.

use super::registry::Registry;
use super::reporter::Outbox;
use super::room::Room;
use super::run_limits::RunLimits;
use crate::context::{States, StopFlag};
use crate::engine::{Engine, EngineError, Lease, WorkerRecord};
use crate::id::{QueueName, TaskId};
use crate::options::TaskOptions;
use crate::wire::Wire;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use windlass::ThreadPoolExecutor;

/// The times of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// How long a delivery is ours without renewal.
    pub(crate) lease: Duration,
    /// How often we give a sign of life.
    pub(crate) beat: Duration,
    /// After how long without one a worker is taken to have vanished.
    pub(crate) silence: Duration,
    /// When a task of an unknown type is tried again.
    pub(crate) unknown_put_back: Duration,
    /// When a task that nobody knows becomes a dead letter.
    pub(crate) unknown_dead: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(10),
            beat: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            unknown_put_back: Duration::from_secs(5),
            unknown_dead: Duration::from_secs(3600),
        }
    }
}

/// How far a worker is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Working,
    /// Fetches nothing more; what runs runs on.
    Draining,
    /// Gives back what still runs.
    Leaving,
    Ended,
}

/// The stage of a worker, and who waits for its end.
#[derive(Debug, Default)]
pub(crate) struct Life {
    stage: AtomicU8,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Life {
    pub(crate) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::SeqCst) {
            0 => Stage::Working,
            1 => Stage::Draining,
            2 => Stage::Leaving,
            _ => Stage::Ended,
        }
    }

    /// Goes on to a stage; never back.
    pub(crate) fn advance(&self, stage: Stage) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.stage.fetch_max(stage as u8, Ordering::SeqCst);
        drop(lock);
        self.changed.notify_all();
    }

    /// Waits for the end; returns whether it has come.
    pub(crate) fn wait_ended(&self, limit: Duration) -> bool {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(lock, limit, |()| self.stage() != Stage::Ended);
        drop(waited);
        self.stage() == Stage::Ended
    }

    /// Waits for a change of stage or a [nudge](Self::nudge), no longer than `limit`.
    pub(crate) fn wait_change(&self, limit: Duration) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout(lock, limit));
    }

    /// Ends waits without a change of stage.
    pub(crate) fn nudge(&self) {
        self.changed.notify_all();
    }
}

/// A delivery that runs here.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) lease: Lease,
    pub(crate) options: TaskOptions,
    /// How often it has failed before.
    pub(crate) failures: u32,
    pub(crate) stop: Arc<StopFlag>,
    pub(crate) deadline: Option<Instant>,
}

/// What a worker has done so far.
///
/// ```
/// # use windlass_remote::{RemoteWorker, engine::MemoryEngine};
/// # let worker = RemoteWorker::builder(MemoryEngine::new())
/// #     .pool(windlass::executors::fixed_thread_pool(1)?).start()?;
/// assert_eq!(worker.stats().started, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Deliveries that were started.
    pub started: u64,
    /// Reports that the engine took.
    pub reported: u64,
    /// Reports that came too late.
    pub stale: u64,
    /// Deliveries that were given back: unknown type, newer version, shutdown.
    pub put_back: u64,
    /// Calls to the engine that failed; each was made again.
    pub engine_errors: u64,
    /// The last of those errors.
    pub last_engine_error: Option<EngineError>,
    /// Deliveries that run now.
    pub running: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) started: AtomicU64,
    pub(crate) reported: AtomicU64,
    pub(crate) stale: AtomicU64,
    pub(crate) put_back: AtomicU64,
    engine_errors: AtomicU64,
    last_error: Mutex<Option<EngineError>>,
}

impl Counts {
    pub(crate) fn add(count: &AtomicU64, n: u64) {
        count.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn engine_failed(&self, error: EngineError) {
        Self::add(&self.engine_errors, 1);
        *self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

pub(crate) struct Shared {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) queue: QueueName,
    pub(crate) record: WorkerRecord,
    pub(crate) registry: Arc<Registry>,
    pub(crate) states: Arc<States>,
    pub(crate) wire: Wire,
    pub(crate) times: Times,
    pub(crate) pool: ThreadPoolExecutor,
    pub(crate) room: Room,
    pub(crate) outbox: Outbox,
    pub(crate) life: Life,
    pub(crate) limits: RunLimits,
    pub(crate) counts: Counts,
    /// Whether the fetcher may still bring tasks.
    pub(crate) fetching: AtomicBool,
    /// By id and fence: a task whose lease ended may come back to the worker that still runs it.
    running: Mutex<HashMap<(TaskId, u64), Running>>,
}

/// What a [`Shared`] is made of, apart from what it starts with.
pub(crate) struct Parts {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) queue: QueueName,
    pub(crate) record: WorkerRecord,
    pub(crate) registry: Arc<Registry>,
    pub(crate) states: Arc<States>,
    pub(crate) wire: Wire,
    pub(crate) times: Times,
    pub(crate) pool: ThreadPoolExecutor,
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            room: Room::new(parts.record.slots as usize),
            engine: parts.engine,
            queue: parts.queue,
            record: parts.record,
            registry: parts.registry,
            states: parts.states,
            wire: parts.wire,
            times: parts.times,
            pool: parts.pool,
            outbox: Outbox::default(),
            life: Life::default(),
            limits: RunLimits::default(),
            counts: Counts::default(),
            fetching: AtomicBool::new(true),
            running: Mutex::default(),
        })
    }

    pub(crate) fn with_running<R>(
        &self,
        act: impl FnOnce(&mut HashMap<(TaskId, u64), Running>) -> R,
    ) -> R {
        act(&mut self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the leases that have to be renewed: of what runs, and of what has ended and is not reported yet.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        // In this order: a report is in the outbox before its delivery leaves the list of those that run.
        let mut leases: Vec<Lease> =
            self.with_running(|running| running.values().map(|r| r.lease.clone()).collect());
        leases.extend(self.outbox.leases());
        leases
    }

    /// Returns whether a worker that fetches nothing more has nothing left to do.
    pub(crate) fn is_idle(&self) -> bool {
        let fetching = self.fetching.load(Ordering::SeqCst);
        !fetching && self.with_running(|running| running.is_empty()) && self.outbox.is_empty()
    }

    pub(crate) fn stats(&self) -> WorkerStats {
        let counts = &self.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        WorkerStats {
            started: read(&counts.started),
            reported: read(&counts.reported),
            stale: read(&counts.stale),
            put_back: read(&counts.put_back),
            engine_errors: read(&counts.engine_errors),
            last_engine_error: counts
                .last_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            running: self.with_running(|running| running.len()),
        }
    }
}
