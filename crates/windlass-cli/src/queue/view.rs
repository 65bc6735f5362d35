//! What is printed as JSON, and read by the text for people.

use serde::Serialize;
use windlass_remote::engine::{Outcome, QueueStats, QueueStatus, TaskRecord, WorkerRecord};
use windlass_remote::envelope::{self, Subject};
use windlass_remote::{QueueName, RemoteTask as _};

use crate::engine::{Bytes, CommandReport, CommandTask};

/// A queue.
#[derive(Debug, Serialize)]
pub(super) struct QueueView {
    pub(super) queue: String,
    pub(super) paused: bool,
    pub(super) closed: bool,
    pub(super) capacity: Option<u64>,
    pub(super) ready: u64,
    pub(super) scheduled: u64,
    pub(super) running: u64,
    pub(super) dead_letters: u64,
    pub(super) workers: usize,
    pub(super) slots: u64,
    pub(super) submitted: u64,
    pub(super) refused: u64,
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) dead: u64,
    pub(super) retried: u64,
    pub(super) redelivered: u64,
    pub(super) stale: u64,
}

impl QueueView {
    pub(super) fn new(
        queue: &QueueName,
        stats: &QueueStats,
        status: QueueStatus,
        workers: &[WorkerRecord],
    ) -> Self {
        Self {
            queue: queue.to_string(),
            paused: status.paused,
            closed: status.closed,
            capacity: status.capacity,
            ready: stats.ready,
            scheduled: stats.scheduled,
            running: stats.running,
            dead_letters: stats.dead_letters,
            workers: workers.len(),
            slots: workers.iter().map(|worker| u64::from(worker.slots)).sum(),
            submitted: stats.submitted,
            refused: stats.refused,
            done: stats.done,
            failed: stats.failed,
            cancelled: stats.cancelled,
            dead: stats.dead,
            retried: stats.retried,
            redelivered: stats.redelivered,
            stale: stats.stale,
        }
    }

    pub(super) const fn state(&self) -> &'static str {
        match (self.paused, self.closed) {
            (true, true) => "paused, closed",
            (true, false) => "paused",
            (false, true) => "closed",
            (false, false) => "open",
        }
    }
}

/// A worker.
#[derive(Debug, Serialize)]
pub(super) struct WorkerView {
    pub(super) id: String,
    pub(super) queue: String,
    pub(super) host: String,
    pub(super) pid: u32,
    pub(super) slots: u32,
    pub(super) busy: u32,
    pub(super) silent_seconds: f64,
    pub(super) tasks: Vec<String>,
}

impl WorkerView {
    pub(super) fn new(queue: &QueueName, record: WorkerRecord) -> Self {
        Self {
            id: record.id,
            queue: queue.to_string(),
            host: record.host,
            pid: record.pid,
            slots: record.slots,
            busy: record.busy,
            silent_seconds: record.silent_for.as_secs_f64(),
            tasks: record.tasks,
        }
    }
}

/// A task, and if it is a command, what was and became of that.
#[derive(Debug, Serialize)]
pub(super) struct TaskView {
    pub(super) id: String,
    pub(super) queue: String,
    pub(super) name: String,
    pub(super) version: u16,
    pub(super) state: String,
    pub(super) deliveries: u64,
    pub(super) failures: u32,
    pub(super) worker_deaths: u32,
    pub(super) worker: Option<String>,
    pub(super) failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<Vec<Bytes>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<CommandReport>,
}

impl TaskView {
    pub(super) fn new(queue: &QueueName, record: &TaskRecord) -> Self {
        Self {
            id: record.id.to_string(),
            queue: queue.to_string(),
            name: record.name.clone(),
            version: record.version,
            state: record.state.to_string(),
            deliveries: record.deliveries,
            failures: record.failures,
            worker_deaths: record.worker_deaths,
            worker: record.worker.clone(),
            failure: record.failure.as_ref().map(ToString::to_string),
            command: command(record),
            report: report(record),
        }
    }
}

fn command(record: &TaskRecord) -> Option<Vec<Bytes>> {
    let sealed = record.payload.as_deref()?;
    let task: CommandTask = unseal(record, "task", record.version, sealed)?;
    Some(task.argv)
}

fn report(record: &TaskRecord) -> Option<CommandReport> {
    match record.outcome.as_ref()? {
        Outcome::Done(sealed) => unseal(record, "result", 0, sealed),
        _ => None,
    }
}

/// Reads what belongs to a command, whether it is signed or not: it is shown, not obeyed.
fn unseal<T: serde::de::DeserializeOwned>(
    record: &TaskRecord,
    role: &str,
    version: u16,
    sealed: &[u8],
) -> Option<T> {
    if record.name != CommandTask::NAME {
        return None;
    }
    let subject = Subject {
        role,
        id: record.id.as_str(),
        name: &record.name,
        version,
    };
    let (codec, body) = envelope::open(sealed, subject, None).ok()?;
    codec.decode(body).ok()
}
