//! Reading what the scripts return.

use super::super::{Delivery, EngineError, Lease, NewTask, Outcome, TaskRecord, TaskState};
use crate::failure::Failure;
use crate::id::TaskId;
use crate::options::TaskOptions;
use std::collections::HashMap;
use std::time::Duration;

/// Bytes as text. All texts that scripts return are ours and ASCII, except messages of failures.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

pub(super) fn unexpected(what: &str) -> EngineError {
    EngineError::Protocol(format!("unreadable answer: {what}"))
}

pub(super) fn id(bytes: &[u8]) -> Option<TaskId> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// How many values `take.lua` returns for each delivery.
pub(super) const DELIVERY: usize = 4;

/// Returns the description of a task as `submit.lua` wants it: what all tasks of a kind have in common.
pub(super) fn description(task: &NewTask) -> String {
    format!("{}|{}||{}", task.options.to_wire(), task.version, task.name)
}

/// Reads one delivery; `None` if a foreign hand has written something else.
pub(super) fn delivery(part: &[Vec<u8>]) -> Option<Delivery> {
    let [task, lease, description, payload] = part else {
        return None;
    };
    let mut lease = std::str::from_utf8(lease).ok()?.splitn(5, '|');
    let mut count = || lease.next()?.parse::<u64>().ok();
    let (fence, failures, deaths, unknown) = (count()?, count()?, count()?, count()?);
    let mut parts = std::str::from_utf8(description).ok()?.splitn(4, '|');
    let (options, version, name) = (parts.next()?, parts.next()?, parts.nth(1)?);
    Some(Delivery {
        lease: Lease {
            id: id(task)?,
            fence,
            entry: lease.next()?.to_owned(),
        },
        name: name.to_owned(),
        version: version.parse().ok()?,
        payload: payload.clone(),
        options: TaskOptions::from_wire(options),
        failures: failures as u32,
        worker_deaths: deaths as u32,
        unknown_for: Duration::from_millis(unknown),
    })
}

/// Reads the outcome of a task from its state and its data.
pub(super) fn outcome(state: char, data: &[u8]) -> Option<Outcome> {
    match state {
        'd' => Some(Outcome::Done(data.to_vec())),
        'f' | 'b' => Some(Outcome::Failed(Failure::from_wire(&text(data)))),
        'c' => Some(Outcome::Cancelled),
        _ => None,
    }
}

/// Reads a record; `None` if there is none.
pub(super) fn record(id: &TaskId, fields: &HashMap<String, Vec<u8>>) -> Option<TaskRecord> {
    let count = |field: &str| fields.get(field).and_then(|value| number(value));
    let code = char::from(*fields.get("s")?.first()?);
    let state = TaskState::from_code(code)?;
    let name = text(fields.get("n")?);
    let version = count("v").and_then(|v| u16::try_from(v).ok()).unwrap_or(1);
    let mut record = TaskRecord::new(id.clone(), name, version, state);
    record.failures = count("f").unwrap_or(0) as u32;
    record.worker_deaths = count("k").unwrap_or(0) as u32;
    record.deliveries = count("a").unwrap_or(0);
    record.worker = fields.get("w").map(|worker| text(worker));
    record.failure = fields
        .get("x")
        .filter(|x| !x.is_empty())
        .map(|x| Failure::from_wire(&text(x)));
    let data = fields.get(if state == TaskState::Done { "r" } else { "x" });
    record.outcome = outcome(code, data.map_or(&[], Vec::as_slice));
    record.payload = fields.get("p").cloned();
    Some(record)
}
