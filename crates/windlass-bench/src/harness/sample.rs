//! Takes one sample in a process of its own.
//!
//! A fresh process gives every peer the same start: no warm allocator, no threads of the peer
//! before it, no global pool that is already there. It also bounds a peer that hangs.

use std::env;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::figure::Figure;
use super::point::Point;

/// A peer that takes longer has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Has a child of this program take the sample.
///
/// # Errors
///
/// Returns the reason, for the notice.
pub(crate) fn take(workload: &str, point: &Point, peer: &str) -> Result<Vec<Figure>, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["sample", workload, &point.to_string(), peer]);
    if let Some(workers) = point.get("workers") {
        // The one way to size the pool of the `blocking` crate.
        command.env("BLOCKING_MAX_THREADS", workers);
    }
    figures_of(command)
}

/// Runs a program that prints figures. Its stderr is kept for the case that it fails:
/// some peers complain at the end of the process, when the figures are there.
pub(crate) fn figures_of(mut command: Command) -> Result<Vec<Figure>, String> {
    command.stdin(Stdio::null());
    let spawned = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| error.to_string())?;
    let stderr = read_all(child.stderr.take());
    let output = read_all(child.stdout.take()).recv_timeout(LIMIT);
    if output.is_err() {
        // It may have ended meanwhile; either way it is gone after the wait.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let output = output.map_err(|_| format!("took more than {} s", LIMIT.as_secs()))?;
    if !status.success() {
        let stderr = stderr.recv().unwrap_or_default();
        let reason = stderr.lines().find(|line| line.contains("panicked"));
        return Err(format!("{status} {}", reason.unwrap_or_default()));
    }
    let figures: Vec<_> = output.lines().filter_map(Figure::from_line).collect();
    if figures.is_empty() {
        return Err("gave no figures".to_owned());
    }
    Ok(figures)
}

/// All that comes through a pipe, once it is closed.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error counts.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // Nobody may wait for it any more.
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}
