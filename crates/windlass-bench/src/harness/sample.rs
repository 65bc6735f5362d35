//! Takes one sample in a process of its own.
//!
//! A fresh process gives every peer the same start: no warm allocator, no threads of the peer
//! before it, no global pool that is already there. It also bounds a peer that hangs.

use std::env;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::figure::Figure;
use super::point::Point;

/// A peer that takes longer has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Has a child of this program take the sample.
///
/// # Errors
///
/// Says what went wrong, for the notice.
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

/// Runs a program that prints figures.
pub(crate) fn figures_of(mut command: Command) -> Result<Vec<Figure>, String> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| error.to_string())?;
    let output = read_all(&mut child);
    if output.is_err() {
        // It may have ended meanwhile; either way it is gone after the wait.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let output = output?;
    if !status.success() {
        return Err(status.to_string());
    }
    let figures: Vec<_> = output.lines().filter_map(Figure::from_line).collect();
    if figures.is_empty() {
        return Err("gave no figures".to_owned());
    }
    Ok(figures)
}

/// All that the child prints, unless it takes too long.
fn read_all(child: &mut Child) -> Result<String, String> {
    let mut pipe = child.stdout.take().ok_or("its output is not piped")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.read_to_string(&mut text);
        sender.send(read.map(|_| text))
    });
    match receiver.recv_timeout(LIMIT) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("took more than {} s", LIMIT.as_secs())),
    }
}
