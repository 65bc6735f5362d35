//! The threads of a pool and what they run.

use serde::Serialize;
use windlass::monitor::WorkerThread;

#[derive(Serialize)]
pub(crate) struct Threads<'a> {
    threads: Vec<Thread<'a>>,
}

#[derive(Serialize)]
struct Thread<'a> {
    id: Option<u64>,
    name: &'a str,
    task: Option<Task<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    id: String,
    name: Option<&'a str>,
    since_seconds: f64,
}

impl<'a> From<&'a [WorkerThread]> for Threads<'a> {
    fn from(threads: &'a [WorkerThread]) -> Self {
        let thread = |thread: &'a WorkerThread| Thread {
            id: thread.id,
            name: thread.name.as_deref().unwrap_or_default(),
            task: thread.task.as_ref().map(|task| Task {
                id: task.id.to_string(),
                name: task.name.as_deref(),
                since_seconds: task.elapsed().as_secs_f64(),
            }),
        };
        Self {
            threads: threads.iter().map(thread).collect(),
        }
    }
}
