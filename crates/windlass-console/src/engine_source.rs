//! The queues of a `windlass-remote` engine, as the console asks for them.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_remote::engine::{
    Backlog, CancelMode, Cancelled, DeadAction, Distribution, Engine, EngineError, MeasuredEngine,
    QueuePatch, TaskRecord, TaskState, WorkerRecord,
};
use windlass_remote::{QueueName, TaskId};

use crate::remote::{self, DeadPage, Overview, Queue, RemoteError, RemoteSource, RemoteTask};

/// A worker that was silent for longer is not shown: its tasks are with others by then.
const SILENCE: Duration = Duration::from_secs(10);
/// How many dead letters are on a page.
const PAGE: usize = 50;

/// Shows an engine of `windlass-remote` on a console.
///
/// An engine that is not [measured](MeasuredEngine) is measured from here on, which covers the calls of the console alone. Give
/// clones of one `MeasuredEngine` to the executors, the workers and this source, and the metrics have the times and errors of all
/// calls of the process, the round trips of its tasks and the sizes of payloads.
///
/// The console waits two seconds for an answer, so an engine that is asked over a network should give up
/// before that: `RedisEngine::builder(address).connect_timeout(..).call_timeout(..)`. An engine that
/// cannot be reached is shown as down.
///
/// ```
/// use windlass_console::{Console, remote::EngineSource};
/// use windlass_remote::engine::MemoryEngine;
///
/// let engine = MemoryEngine::new();
/// let console = Console::builder()
///     .bind("127.0.0.1:0")
///     .announce(false)
///     .remote(EngineSource::new("memory", engine.clone()))
///     .start()
///     .unwrap();
/// console.shutdown();
/// ```
pub struct EngineSource {
    kind: String,
    engine: Arc<dyn Engine>,
}

impl fmt::Debug for EngineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineSource")
            .field("kind", &self.kind)
            .field("engine", &self.engine)
            .finish()
    }
}

impl EngineSource {
    /// Creates the source of an engine. The kind is what the page calls it: `redis`, `postgres`, `memory`.
    pub fn new(kind: impl Into<String>, engine: impl Engine) -> Self {
        let engine: Arc<dyn Engine> = match engine.figures() {
            Some(_) => Arc::new(engine),
            None => Arc::new(MeasuredEngine::new(engine)),
        };
        Self {
            kind: kind.into(),
            engine,
        }
    }

    fn is_up(&self, up: bool, latency: Option<Duration>) -> remote::Engine {
        remote::Engine {
            kind: self.kind.clone(),
            up,
            latency_seconds: latency.map(|latency| latency.as_secs_f64()),
        }
    }

    fn queue(&self, name: &QueueName) -> Result<(Queue, Vec<remote::Worker>), EngineError> {
        let stats = self.engine.stats(name)?;
        let status = self.engine.configure(name, &QueuePatch::default())?;
        let levels = self.levels(name)?;
        let mut workers = self.engine.workers(name)?;
        workers.retain(|worker| worker.silent_for <= SILENCE);
        let workers: Vec<_> = workers.iter().map(|of| worker(name, of)).collect();
        let queue = Queue {
            name: name.to_string(),
            ready: vec![stats.ready],
            scheduled: stats.scheduled,
            running: stats.running,
            dead: stats.dead_letters,
            oldest_ready_seconds: levels
                .iter()
                .filter_map(|level| level.oldest_ready_seconds)
                .reduce(f64::max),
            levels,
            paused: status.paused,
            workers: workers.len() as u64,
            slots: workers.iter().map(|worker| worker.slots).sum(),
            slots_free: workers.iter().map(|worker| worker.free).sum(),
            totals: Some(remote::QueueTotals {
                submitted: stats.submitted,
                done: stats.done,
                failed: stats.failed,
                cancelled: stats.cancelled,
                dead: stats.dead,
                retried: stats.retried,
                redelivered: stats.redelivered,
                stale: stats.stale,
            }),
        };
        Ok((queue, workers))
    }

    /// Returns what waits at each priority. It is left out where the user of the engine may not ask for it.
    fn levels(&self, name: &QueueName) -> Result<Vec<remote::Level>, EngineError> {
        let backlog = match self.engine.backlog(name) {
            Err(error) if !error.is_transient() => Vec::new(),
            answer => answer?,
        };
        let level = |of: &Backlog| remote::Level {
            ready: of.ready,
            oldest_ready_seconds: of.oldest.map(|age| age.as_secs_f64()),
        };
        Ok(backlog.iter().map(level).collect())
    }

    fn queues(&self) -> Result<Vec<QueueName>, RemoteError> {
        self.engine.queues().map_err(unavailable)
    }

    /// Returns the queue of this name, if the engine has it: asking for one must not make one.
    fn known(&self, name: &str) -> Result<QueueName, RemoteError> {
        let known = self.queues()?.into_iter().find(|q| q.as_str() == name);
        known.ok_or(RemoteError::NotFound)
    }

    /// Finds a task in one queue, or in all of them.
    fn find(
        &self,
        queue: Option<&str>,
        id: &str,
    ) -> Result<(QueueName, TaskId, TaskRecord), RemoteError> {
        let id: TaskId = id.parse().map_err(|_| RemoteError::NotFound)?;
        let queues = match queue {
            Some(name) => vec![self.known(name)?],
            None => self.queues()?,
        };
        for queue in queues {
            let ids = std::slice::from_ref(&id);
            let found = self.engine.look_up(&queue, ids, None);
            if let Some(record) = found.map_err(unavailable)?.into_iter().flatten().next() {
                return Ok((queue, id, record));
            }
        }
        Err(RemoteError::NotFound)
    }

    fn settle(&self, id: &str, action: DeadAction) -> Result<(), RemoteError> {
        let (queue, id, record) = self.find(None, id)?;
        if record.state != TaskState::Dead {
            return Err(is_in(record.state));
        }
        let settled = self.engine.settle_dead(&queue, &[id], action);
        match settled.map_err(unavailable)? {
            // Somebody else was faster.
            0 => Err(RemoteError::NotFound),
            _ => Ok(()),
        }
    }

    fn set_paused(&self, queue: &str, paused: bool) -> Result<(), RemoteError> {
        let queue = self.known(queue)?;
        let patch = QueuePatch {
            paused: Some(paused),
            ..QueuePatch::default()
        };
        let set = self.engine.configure(&queue, &patch);
        set.map(drop).map_err(unavailable)
    }
}

impl RemoteSource for EngineSource {
    fn overview(&self) -> Result<Overview, RemoteError> {
        let asked = Instant::now();
        let names = match self.engine.queues() {
            Ok(names) => names,
            Err(EngineError::Unavailable(_)) => {
                return Ok(Overview {
                    engine: self.is_up(false, None),
                    queues: Vec::new(),
                    workers: Vec::new(),
                });
            }
            Err(error) => return Err(unavailable(error)),
        };
        let engine = self.is_up(true, Some(asked.elapsed()));
        let (mut queues, mut workers) = (Vec::new(), Vec::new());
        for name in names {
            let (queue, its_workers) = self.queue(&name).map_err(unavailable)?;
            queues.push(queue);
            workers.extend(its_workers);
        }
        Ok(Overview {
            engine,
            queues,
            workers,
        })
    }

    fn task(&self, queue: Option<&str>, id: &str) -> Result<RemoteTask, RemoteError> {
        let (queue, _, record) = self.find(queue, id)?;
        Ok(task(&queue, &record))
    }

    /// Without a queue, the letters come queue by queue: an engine does not say when a task has died. The
    /// cursor is a queue and how many of its letters were shown.
    fn dead(&self, queue: Option<&str>, cursor: Option<&str>) -> Result<DeadPage, RemoteError> {
        let cursor = cursor.map(parse_cursor).transpose()?;
        let queues = match queue {
            Some(name) => vec![self.known(name)?],
            None => self.queues()?,
        };
        let (first, mut skip) = cursor.unwrap_or_default();
        let mut tasks: Vec<RemoteTask> = Vec::new();
        for queue in queues.iter().filter(|queue| queue.as_str() >= &*first) {
            if queue.as_str() != first {
                skip = 0;
            }
            // One more than is shown says whether there is more.
            let wanted = PAGE - tasks.len();
            let letters = self.engine.dead_letters(queue, skip, wanted + 1);
            let mut letters = letters.map_err(unavailable)?;
            let next = (letters.len() > wanted).then(|| format!("{queue}:{}", skip + wanted));
            letters.truncate(wanted);
            tasks.extend(letters.iter().map(|letter| task(queue, letter)));
            if next.is_some() {
                return Ok(DeadPage { tasks, next });
            }
        }
        Ok(DeadPage { tasks, next: None })
    }

    fn cancel(&self, id: &str) -> Result<(), RemoteError> {
        let (queue, id, record) = self.find(None, id)?;
        let answers = self.engine.cancel(&queue, &[id], CancelMode::Now);
        match answers.map_err(unavailable)?.first() {
            Some(Cancelled::BeforeStart | Cancelled::WhileRunning) => Ok(()),
            _ => Err(is_in(record.state)),
        }
    }

    fn retry_dead(&self, id: &str) -> Result<(), RemoteError> {
        self.settle(id, DeadAction::Retry)
    }

    fn delete_dead(&self, id: &str) -> Result<(), RemoteError> {
        self.settle(id, DeadAction::Drop)
    }

    fn pause(&self, queue: &str) -> Result<(), RemoteError> {
        self.set_paused(queue, true)
    }

    fn resume(&self, queue: &str) -> Result<(), RemoteError> {
        self.set_paused(queue, false)
    }

    fn figures(&self) -> Option<remote::Figures> {
        let figures = self.engine.figures()?;
        let operations = figures.operations.into_iter().map(|of| remote::Operation {
            name: of.operation.to_owned(),
            seconds: distribution(of.seconds),
            errors: of.errors,
        });
        let traffic = figures.queues.into_iter().map(|of| remote::Traffic {
            queue: of.queue.to_string(),
            round_trips: distribution(of.round_trips),
            sent: distribution(of.sent),
            received: distribution(of.received),
        });
        Some(remote::Figures {
            operations: operations.collect(),
            traffic: traffic.collect(),
        })
    }
}

fn distribution(of: Distribution) -> remote::Distribution {
    remote::Distribution {
        buckets: of.buckets,
        count: of.count,
        sum: of.sum,
    }
}

fn parse_cursor(text: &str) -> Result<(String, usize), RemoteError> {
    let parsed = text
        .rsplit_once(':')
        .and_then(|(queue, skip)| Some((queue.to_owned(), skip.parse().ok()?)));
    parsed.ok_or_else(|| RemoteError::Refused("the cursor is none of this console".to_owned()))
}

fn is_in(state: TaskState) -> RemoteError {
    RemoteError::Refused(format!("the task is {state}"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is an argument of map_err"
)]
fn unavailable(error: EngineError) -> RemoteError {
    RemoteError::Unavailable(error.to_string())
}

fn worker(queue: &QueueName, record: &WorkerRecord) -> remote::Worker {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seen = now.saturating_sub(record.silent_for);
    remote::Worker {
        id: record.id.clone(),
        queue: queue.to_string(),
        host: record.host.clone(),
        pid: record.pid,
        slots: record.slots.into(),
        free: record.slots.saturating_sub(record.busy).into(),
        seen_ms: u64::try_from(seen.as_millis()).unwrap_or(u64::MAX),
    }
}

fn task(queue: &QueueName, record: &TaskRecord) -> RemoteTask {
    RemoteTask {
        id: record.id.to_string(),
        queue: queue.to_string(),
        name: record.name.clone(),
        state: record.state.to_string(),
        attempts: u32::try_from(record.deliveries).unwrap_or(u32::MAX),
        worker: record.worker.clone(),
        submitted_ms: None,
        started_ms: None,
        ended_ms: None,
        error: record.failure.as_ref().map(ToString::to_string),
    }
}
