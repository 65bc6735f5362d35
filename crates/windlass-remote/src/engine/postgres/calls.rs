//! The transitions of tasks: each is one call of a function.

use super::super::{
    Beat, CancelMode, Cancelled, EngineError, NewTask, Refusal, Renewed, Report, Reported,
    Submitted, TaskPage, TaskRecord, TaskState, Verdict,
};
use super::columns::{ReportColumns, TaskColumns};
use super::pool::Pool;
use super::records::{self, read};
use super::session::Parameter;
use crate::id::{QueueName, TaskId};
use std::collections::{HashMap, HashSet};
use tokio_postgres::Row;

/// Reads whom to tell, and has it done.
pub(super) fn tell(pool: &Pool, row: &Row) -> Result<(), EngineError> {
    pool.tell(read(row, "told")?);
    Ok(())
}

/// Reads the answer of `submit`, an element for each task.
pub(super) fn submitted(row: &Row, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
    let accepted: Vec<&str> = read(row, "accepted")?;
    let known: Option<Vec<&str>> = read(row, "known")?;
    let refused: Option<&str> = read(row, "refused_by")?;
    let refusal = refused.map(|by| match by.strip_prefix('f').map(str::parse) {
        Some(Ok(capacity)) => Refusal::Full { capacity },
        _ => Refusal::Closed,
    });
    // The first of two tasks of one id is the one that was taken.
    let mut accepted: HashSet<&str> = accepted.into_iter().collect();
    let mut known: HashSet<&str> = known.unwrap_or_default().into_iter().collect();
    let mut answers = Vec::with_capacity(tasks.len());
    for task in tasks {
        let id = task.id.as_str();
        answers.push(match refusal {
            _ if accepted.remove(id) => {
                known.insert(id);
                Submitted::Accepted
            }
            Some(refusal) if !known.contains(id) => Submitted::Refused(refusal),
            _ => Submitted::Duplicate,
        });
    }
    Ok(answers)
}

pub(super) fn submit(
    pool: &Pool,
    queue: &QueueName,
    tasks: &[NewTask],
) -> Result<Vec<Submitted>, EngineError> {
    let columns = TaskColumns::new(tasks);
    let channel: Option<&str> = None;
    let row = pool.call_one(
        "submit",
        &submit_parameters(&queue.as_str(), &false, &channel, &columns),
    )?;
    tell(pool, &row)?;
    submitted(&row, tasks)
}

/// Returns the parameters of `submit` in order.
pub(super) fn submit_parameters<'a>(
    queue: &'a &str,
    enlisted: &'a bool,
    channel: &'a Option<&str>,
    columns: &'a TaskColumns<'_>,
) -> [Parameter<'a>; 11] {
    [
        queue,
        enlisted,
        channel,
        &columns.ids,
        &columns.names,
        &columns.versions,
        &columns.levels,
        &columns.payloads,
        &columns.options,
        &columns.delays,
        &columns.clients,
    ]
}

/// Reports on a batch; of several reports on one task each goes into a call of its own, since the next one's fate depends on it.
/// Outcomes are first taken to be those of the latest deliveries; those that are not go into a further call.
pub(super) fn report(
    pool: &Pool,
    queue: &QueueName,
    reports: &[Report],
) -> Result<Vec<Reported>, EngineError> {
    let mut answers = vec![Reported::Stale; reports.len()];
    let mut left: Vec<usize> = (0..reports.len()).collect();
    // Rows are locked in this order.
    left.sort_by_key(|&at| reports[at].lease.id.as_str());
    let mut current = reports.iter().all(|report| is_outcome(&report.verdict));
    while !left.is_empty() {
        let (mut columns, mut round) = (ReportColumns::default(), HashMap::new());
        left.retain(|&at| {
            let id = reports[at].lease.id.as_str();
            let taken = round.contains_key(id);
            if !taken {
                round.insert(id, at);
                columns.push(&reports[at]);
            }
            taken
        });
        let row = pool.call_one(
            "report",
            &[
                &queue.as_str(),
                &current,
                &columns.ids,
                &columns.fences,
                &columns.kinds,
                &columns.data,
                &columns.delays,
            ],
        )?;
        tell(pool, &row)?;
        for id in read::<Vec<&str>>(&row, "accepted")? {
            if let Some(at) = round.remove(id) {
                answers[at] = Reported::Accepted;
            }
        }
        if current {
            left.extend(round.values());
            left.sort_by_key(|&at| (reports[at].lease.id.as_str(), at));
            current = false;
        }
    }
    Ok(answers)
}

const fn is_outcome(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Done(_) | Verdict::Failed(_) | Verdict::Dead(_)
    )
}

fn texts(ids: &[TaskId]) -> Vec<&str> {
    ids.iter().map(TaskId::as_str).collect()
}

pub(super) fn cancel(
    pool: &Pool,
    queue: &QueueName,
    ids: &[TaskId],
    mode: CancelMode,
) -> Result<Vec<Cancelled>, EngineError> {
    let running = mode == CancelMode::Now;
    let row = pool.call_one("cancel", &[&queue.as_str(), &texts(ids), &running])?;
    tell(pool, &row)?;
    let found: Option<Vec<&str>> = read(&row, "known")?;
    let answers: Option<Vec<&str>> = read(&row, "answers")?;
    let found = found.unwrap_or_default().into_iter();
    let mut answers: HashMap<&str, &str> = found.zip(answers.unwrap_or_default()).collect();
    let answer = |id: &TaskId| match answers.get_mut(id.as_str()).map(std::mem::take) {
        Some("b") => Cancelled::BeforeStart,
        Some("w") => Cancelled::WhileRunning,
        Some("r") => Cancelled::Running,
        _ => Cancelled::Finished,
    };
    Ok(ids.iter().map(answer).collect())
}

pub(super) fn look_up(
    pool: &Pool,
    queue: &QueueName,
    ids: &[TaskId],
    watcher: Option<&str>,
) -> Result<Vec<Option<TaskRecord>>, EngineError> {
    let rows = pool.call("look_up", &[&queue.as_str(), &texts(ids), &watcher])?;
    let mut records = HashMap::new();
    for row in &rows {
        let record = records::record(row)?;
        records.insert(record.id.clone(), record);
    }
    Ok(ids.iter().map(|id| records.get(id).cloned()).collect())
}

/// Reads a page that begins after a place: the number of a queue, a colon, an id.
pub(super) fn list(
    pool: &Pool,
    queue: &QueueName,
    states: &[TaskState],
    (after, count): (Option<&str>, usize),
) -> Result<TaskPage, EngineError> {
    let place = after.map(|text| {
        let (qid, id) = text.split_once(':')?;
        Some((qid.parse::<i32>().ok()?, id))
    });
    let Some((qid, id)) = place.unwrap_or(Some((0, ""))) else {
        let message = format!("{after:?} is not where a page of PostgreSQL begins");
        return Err(EngineError::Protocol(message));
    };
    let states: Vec<String> = states
        .iter()
        .map(|state| state.code().to_string())
        .collect();
    let row = pool.call_one(
        "list_tasks",
        &[&queue.as_str(), &states, &id, &qid, &(count as i64)],
    )?;
    let ids: Option<Vec<&str>> = read(&row, "ids")?;
    let last: Option<&str> = read(&row, "last")?;
    let last_qid: Option<i32> = read(&row, "last_qid")?;
    let ids = ids.unwrap_or_default().into_iter();
    Ok(TaskPage {
        ids: ids.map(records::task_id).collect::<Result<_, _>>()?,
        next: last.zip(last_qid).map(|(id, qid)| format!("{qid}:{id}")),
    })
}

pub(super) fn beat(
    pool: &Pool,
    queue: &QueueName,
    beat: Beat<'_>,
) -> Result<Vec<Renewed>, EngineError> {
    let worker = beat.worker;
    let numbers: Vec<i64> = [worker.pid, worker.slots, worker.busy]
        .map(i64::from)
        .into();
    let ids: Vec<&str> = beat.leases.iter().map(|lease| lease.id.as_str()).collect();
    let fences: Vec<i64> = beat.leases.iter().map(|lease| lease.fence as i64).collect();
    let row = pool.call_one(
        "beat",
        &[
            &queue.as_str(),
            &worker.id,
            &worker.host.replace('\0', ""),
            &numbers,
            &worker.tasks,
            &ids,
            &fences,
        ],
    )?;
    let held: HashSet<&str> = read::<Vec<&str>>(&row, "held")?.into_iter().collect();
    let answer = |id: &&str| {
        if held.contains(id) {
            Renewed::Held
        } else {
            Renewed::Lost
        }
    };
    Ok(ids.iter().map(answer).collect())
}
