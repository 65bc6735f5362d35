//! Tasks that have ended lately.

use serde::Serialize;
use windlass::monitor::{self, RecentTask};

use super::units::{milliseconds, seconds};

#[derive(Serialize)]
pub(crate) struct Recent<'a> {
    slowest: Vec<Task<'a>>,
    failed: Vec<Task<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    id: String,
    name: Option<&'a str>,
    thread: Option<&'a str>,
    ended_ms: u64,
    wait_seconds: Option<f64>,
    run_seconds: Option<f64>,
    outcome: &'static str,
    message: Option<&'a str>,
}

impl<'a> Recent<'a> {
    /// Messages of tasks may tell what they work on, so they are left out unless errors are shown.
    pub(crate) fn new(recent: &'a monitor::Recent, show_errors: bool) -> Self {
        let task = |task: &'a RecentTask| Task {
            id: task.id.to_string(),
            name: task.name.as_deref(),
            thread: task.thread.as_deref(),
            ended_ms: milliseconds(task.ended),
            wait_seconds: seconds(task.wait),
            run_seconds: seconds(task.run),
            outcome: task.ending.as_str(),
            message: task.message.as_deref().filter(|_| show_errors),
        };
        Self {
            slowest: recent.slowest.iter().map(task).collect(),
            failed: recent.failed.iter().map(task).collect(),
        }
    }
}
