//! Queues, workers and tasks for people.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Reset;

use super::view::{QueueView, TaskView, WorkerView};
use crate::duration::Short;
use crate::engine::{Bytes, CommandReport};
use crate::run::{Outcome, quote};
use crate::style;

pub(super) fn queues(queues: &[QueueView]) -> String {
    let (title, warn, dim, reset) = (style::TITLE, style::WARN, style::DIM, Reset);
    if queues.is_empty() {
        return format!("{dim}no queues: the first task or worker makes one{reset}\n");
    }
    let mut text = format!(
        "{title}{:<20} {:>9} {:>9} {:>9} {:>7} {:>8} {:>7}  {}{reset}\n",
        "QUEUE", "READY", "SCHEDULED", "RUNNING", "DEAD", "WORKERS", "SLOTS", "STATE"
    );
    for queue in queues {
        let tone = if queue.paused || queue.closed {
            warn
        } else {
            anstyle::Style::new()
        };
        let _ = writeln!(
            text,
            "{:<20} {:>9} {:>9} {:>9} {:>7} {:>8} {:>7}  {tone}{}{reset}",
            queue.queue,
            queue.ready,
            queue.scheduled,
            queue.running,
            queue.dead_letters,
            queue.workers,
            queue.slots,
            queue.state(),
        );
    }
    text
}

pub(super) fn stats(queue: &QueueView) -> String {
    let (title, reset) = (style::TITLE, Reset);
    let mut text = format!("{title}{}{reset}   {}\n", queue.queue, queue.state());
    let capacity = queue
        .capacity
        .map_or("no bound".to_owned(), |bound| format!("bound {bound}"));
    let lines = [
        (
            "now",
            format!(
                "{} ready, {} scheduled, {} running, {} dead letters; {capacity}",
                queue.ready, queue.scheduled, queue.running, queue.dead_letters
            ),
        ),
        (
            "workers",
            format!("{} with {} slots", queue.workers, queue.slots),
        ),
        (
            "so far",
            format!(
                "{} submitted, {} refused: {} done, {} failed, {} cancelled, {} dead",
                queue.submitted,
                queue.refused,
                queue.done,
                queue.failed,
                queue.cancelled,
                queue.dead
            ),
        ),
        (
            "again",
            format!(
                "{} retried after a failure, {} after a lost worker; {} late reports dropped",
                queue.retried, queue.redelivered, queue.stale
            ),
        ),
    ];
    for (name, line) in lines {
        let _ = writeln!(text, "{name:<9} {line}");
    }
    text
}

pub(super) fn workers(workers: &[WorkerView]) -> String {
    let (title, dim, reset) = (style::TITLE, style::DIM, Reset);
    if workers.is_empty() {
        return format!(
            "{dim}no workers: windlass worker --engine URL --allow FILE starts one{reset}\n"
        );
    }
    let mut text = format!(
        "{title}{:<34} {:<16} {:<20} {:>8} {:>9} {:>9}  {}{reset}\n",
        "WORKER", "QUEUE", "HOST", "PID", "BUSY", "SEEN", "TASKS"
    );
    for worker in workers {
        let seen = Duration::try_from_secs_f64(worker.silent_seconds).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<34} {:<16} {:<20} {:>8} {:>9} {:>9}  {}",
            worker.id,
            worker.queue,
            worker.host,
            worker.pid,
            format!("{}/{}", worker.busy, worker.slots),
            Short(seen).to_string(),
            worker.tasks.join(", "),
        );
    }
    text
}

pub(super) fn task(task: &TaskView) -> String {
    let (title, reset) = (style::TITLE, Reset);
    let mut text = format!("{title}{}{reset}   {}\n", task.id, task.state);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {}", printable(value));
    };
    line("queue", &task.queue);
    line("type", &format!("{}@{}", task.name, task.version));
    line(
        "runs",
        &format!(
            "{} deliveries, {} failures, {} workers lost",
            task.deliveries, task.failures, task.worker_deaths
        ),
    );
    if let Some(worker) = &task.worker {
        line("worker", worker);
    }
    if let Some(failure) = &task.failure {
        line("failure", failure);
    }
    if let Some(argv) = &task.command {
        line("command", &command(argv));
    }
    if let Some(report) = &task.report {
        let ended = ended(report);
        let took = Short(Duration::try_from_secs_f64(report.seconds).unwrap_or_default());
        line("ended", &format!("{ended} after {took} on {}", report.host));
        line(
            "output",
            &format!(
                "{} bytes to standard output, {} to standard error, {} dropped",
                report.out.as_slice().len(),
                report.err.as_slice().len(),
                report.dropped
            ),
        );
    }
    text
}

/// The lines of a list of tasks; the first ones have a heading.
pub(super) fn tasks(tasks: &[TaskView], is_first: bool) -> String {
    let (title, dim, reset) = (style::TITLE, style::DIM, Reset);
    let mut text = String::new();
    if is_first && tasks.is_empty() {
        return format!("{dim}no such tasks{reset}\n");
    }
    if is_first {
        let _ = writeln!(
            text,
            "{title}{:<44} {:<9} {:>5} {:>6}  WHAT{reset}",
            "TASK", "STATE", "RUNS", "FAILED"
        );
    }
    for task in tasks {
        let what = task
            .command
            .as_deref()
            .map_or_else(|| format!("{}@{}", task.name, task.version), command);
        // Where it runs, or how it has ended.
        let more = match (&task.worker, &task.report, &task.failure) {
            (Some(worker), ..) => format!(" on {worker}"),
            (None, Some(report), _) => format!(": {}", ended(report)),
            (None, None, Some(failure)) => format!(": {failure}"),
            (None, None, None) => String::new(),
        };
        let _ = writeln!(
            text,
            "{:<44} {:<9} {:>5} {:>6}  {}{dim}{}{reset}",
            task.id,
            task.state,
            task.deliveries,
            task.failures,
            printable(&what),
            printable(&more),
        );
    }
    text
}

pub(super) fn dead(tasks: &[TaskView]) -> String {
    let (title, dim, reset) = (style::TITLE, style::DIM, Reset);
    if tasks.is_empty() {
        return format!("{dim}no dead letters{reset}\n");
    }
    let mut text = format!(
        "{title}{:<44} {:<24} {:>5}  {}{reset}\n",
        "TASK", "TYPE", "RUNS", "WHY"
    );
    for task in tasks {
        let _ = writeln!(
            text,
            "{:<44} {:<24} {:>5}  {}",
            task.id,
            printable(&task.name),
            task.deliveries,
            printable(task.failure.as_deref().unwrap_or("-")),
        );
    }
    text
}

fn ended(report: &CommandReport) -> String {
    report.outcome.parse().map_or_else(
        |_| report.outcome.clone(),
        |outcome: Outcome| outcome.describe(),
    )
}

fn command(argv: &[Bytes]) -> String {
    let words: Vec<OsString> = argv.iter().cloned().map(Bytes::into_os_string).collect();
    String::from_utf8_lossy(&quote(&words)).into_owned()
}

/// A text of somebody else, without what a terminal would obey.
fn printable(text: &str) -> String {
    let plain = |sign: char| if sign.is_control() { '\u{fffd}' } else { sign };
    text.chars().map(plain).collect()
}
