//! Batches as columns: an array for each parameter of a function.

use super::super::{NewTask, Report, Verdict};
use std::time::Duration;

/// More than 30,000 years; what is longer overflows when it is added to a time.
const MAX_MILLIS: i64 = 1_000_000_000_000_000;

pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).map_or(MAX_MILLIS, |millis| millis.min(MAX_MILLIS))
}

/// The parameters of `submit`.
#[derive(Default)]
pub(super) struct TaskColumns<'a> {
    pub(super) ids: Vec<&'a str>,
    pub(super) names: Vec<&'a str>,
    pub(super) versions: Vec<i32>,
    pub(super) levels: Vec<i16>,
    pub(super) payloads: Vec<&'a [u8]>,
    pub(super) options: Vec<String>,
    pub(super) delays: Vec<i64>,
    pub(super) clients: Vec<Option<&'a str>>,
}

impl<'a> TaskColumns<'a> {
    pub(super) fn new(tasks: &'a [NewTask]) -> Self {
        let mut columns = Self::default();
        for task in tasks {
            columns.ids.push(task.id.as_str());
            columns.names.push(&task.name);
            columns.versions.push(task.version.into());
            columns.levels.push(task.options.priority.level() as i16);
            columns.payloads.push(&task.payload);
            columns.options.push(task.options.to_wire());
            columns.delays.push(millis(task.delay));
            columns.clients.push(task.reply_to.as_deref());
        }
        columns
    }
}

/// The parameters of `report`.
#[derive(Default)]
pub(super) struct ReportColumns<'a> {
    pub(super) ids: Vec<&'a str>,
    pub(super) fences: Vec<i64>,
    pub(super) kinds: Vec<&'static str>,
    pub(super) data: Vec<Vec<u8>>,
    pub(super) delays: Vec<i64>,
}

impl<'a> ReportColumns<'a> {
    pub(super) fn push(&mut self, report: &'a Report) {
        let (kind, data, delay) = match &report.verdict {
            Verdict::Done(result) => ("d", result.clone(), Duration::ZERO),
            Verdict::Failed(failure) => ("f", failure.to_wire().into_bytes(), Duration::ZERO),
            Verdict::Dead(failure) => ("b", failure.to_wire().into_bytes(), Duration::ZERO),
            Verdict::Retry(failure, delay) => ("r", failure.to_wire().into_bytes(), *delay),
            Verdict::PutBack { delay, unknown } => {
                (if *unknown { "u" } else { "p" }, Vec::new(), *delay)
            }
        };
        self.ids.push(report.lease.id.as_str());
        self.fences.push(report.lease.fence as i64);
        self.kinds.push(kind);
        self.data.push(data);
        self.delays.push(millis(delay));
    }
}
