//! Reading the rows that functions return.

use super::super::{
    Delivery, EngineError, Lease, NewTask, Outcome, Overlap, QueueStats, Reply, ScheduleRecord,
    TaskRecord, TaskState, WorkerRecord,
};
use crate::failure::Failure;
use crate::id::TaskId;
use crate::options::TaskOptions;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

/// Reads a column. A schema of another version may have others.
pub(super) fn read<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, EngineError> {
    row.try_get(column)
        .map_err(|error| EngineError::Protocol(error.to_string()))
}

pub(super) fn task_id(text: &str) -> Result<TaskId, EngineError> {
    text.parse()
        .map_err(|error| EngineError::Protocol(format!("{error}")))
}

pub(super) fn time(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn small(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

fn failure(wire: &[u8]) -> Failure {
    Failure::from_wire(&String::from_utf8_lossy(wire))
}

fn version(row: &Row) -> Result<u16, EngineError> {
    let version: i32 = read(row, "version")?;
    u16::try_from(version).map_err(|_| EngineError::Protocol(format!("version {version}")))
}

/// Reads a row of `take`.
pub(super) fn delivery(row: &Row) -> Result<Delivery, EngineError> {
    let version: i32 = read(row, "o_version")?;
    let fence: i64 = read(row, "o_fence")?;
    Ok(Delivery {
        lease: Lease {
            id: task_id(read(row, "o_id")?)?,
            fence: fence as u64,
            entry: String::new(),
        },
        name: read(row, "o_name")?,
        version: u16::try_from(version).unwrap_or(u16::MAX),
        payload: read(row, "o_payload")?,
        options: TaskOptions::from_wire(read(row, "o_options")?),
        failures: small(read(row, "o_failures")?),
        worker_deaths: small(read(row, "o_deaths")?),
        unknown_for: time(read(row, "o_unknown")?),
    })
}

/// Reads the outcome of a task from the letter of its state and its data.
fn outcome(state: char, data: &[u8]) -> Option<Outcome> {
    match state {
        'd' => Some(Outcome::Done(data.to_vec())),
        'f' | 'b' => Some(Outcome::Failed(failure(data))),
        'c' => Some(Outcome::Cancelled),
        _ => None,
    }
}

fn letter(text: &str) -> char {
    text.chars().next().unwrap_or(' ')
}

/// Reads a row of `look_up`.
pub(super) fn record(row: &Row) -> Result<TaskRecord, EngineError> {
    let code = letter(read(row, "state")?);
    let state = TaskState::from_code(code)
        .ok_or_else(|| EngineError::Protocol(format!("state {code:?}")))?;
    let id = task_id(read(row, "id")?)?;
    let mut record = TaskRecord::new(id, read(row, "name")?, version(row)?, state);
    let fence: i64 = read(row, "fence")?;
    record.deliveries = fence as u64;
    record.failures = small(read(row, "failures")?);
    record.worker_deaths = small(read(row, "deaths")?);
    record.worker = read(row, "worker")?;
    let failed: Option<&[u8]> = read(row, "failure")?;
    record.failure = failed.map(failure);
    let result: Option<&[u8]> = read(row, "result")?;
    record.outcome = outcome(code, result.or(failed).unwrap_or_default());
    record.payload = read(row, "payload")?;
    Ok(record)
}

/// Reads a row of `replies`, a batch.
pub(super) fn replies(row: &Row) -> Result<Vec<Reply>, EngineError> {
    let ids: Vec<&str> = read(row, "ids")?;
    let kinds: Vec<&str> = read(row, "kinds")?;
    let data: Vec<&[u8]> = read(row, "data")?;
    let all = ids.into_iter().zip(kinds).zip(data);
    all.map(|((id, kind), data)| {
        Ok(Reply {
            id: task_id(id)?,
            outcome: outcome(letter(kind), data),
        })
    })
    .collect()
}

/// Reads the counts, in the order in which `stats` returns them.
pub(super) fn stats(counts: &[Option<i64>]) -> QueueStats {
    let count = |at: usize| counts.get(at).copied().flatten().unwrap_or(0).max(0) as u64;
    QueueStats {
        scheduled: count(0),
        ready: count(1),
        running: count(2),
        submitted: count(3),
        refused: count(4),
        done: count(5),
        failed: count(6),
        cancelled: count(7),
        dead: count(8),
        retried: count(9),
        redelivered: count(10),
        stale: count(11),
        dead_letters: count(12),
    }
}

pub(super) fn worker(row: &Row) -> Result<WorkerRecord, EngineError> {
    let number = |column: &str| {
        let number: i64 = read(row, column)?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    };
    Ok(WorkerRecord {
        id: read(row, "id")?,
        host: read(row, "host")?,
        pid: number("pid")?,
        slots: number("slots")?,
        busy: number("busy")?,
        tasks: read(row, "tasks")?,
        silent_for: time(read(row, "silent")?),
    })
}

pub(super) fn schedule(row: &Row) -> Result<ScheduleRecord, EngineError> {
    let name: String = read(row, "name")?;
    let task: &str = read(row, "task")?;
    let (after_finish, next): (Option<i64>, Option<i64>) =
        (read(row, "after_finish")?, read(row, "next")?);
    let overlap: i16 = read(row, "overlap")?;
    Ok(ScheduleRecord {
        rule: read(row, "rule")?,
        task: NewTask {
            id: task_id(&format!("cron:{name}:0"))?,
            name: task.into(),
            version: version(row)?,
            payload: read(row, "payload")?,
            options: TaskOptions::from_wire(read(row, "options")?),
            delay: Duration::ZERO,
            reply_to: None,
        },
        overlap: match overlap {
            1 => Overlap::Allow,
            2 => Overlap::Queue,
            _ => Overlap::Skip,
        },
        after_finish: after_finish.map(time),
        next: next.and_then(|next| u64::try_from(next).ok()),
        name,
    })
}
