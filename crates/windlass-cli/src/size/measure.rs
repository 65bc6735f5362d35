//! How long a command waits and computes, measured.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::formula::Times;
use crate::exit::Failure;

/// Runs the command in a shell this often, and returns the averages of its times.
pub(super) fn measure(command: &str, runs: usize) -> Result<Times, Failure> {
    let trouble = |error: io::Error| Failure::new(format!("cannot measure {command:?}: {error}"));
    let mut elapsed = Duration::ZERO;
    let before = processor_time().map_err(trouble)?;
    for _ in 0..runs {
        let started = Instant::now();
        let status = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(trouble)?;
        elapsed += started.elapsed();
        if !status.success() {
            return Err(Failure::new(format!("{command:?} failed: {status}"))
                .hint("only a command that succeeds is worth measuring"));
        }
    }
    let compute = processor_time().map_err(trouble)?.saturating_sub(before);
    let count = u32::try_from(runs).unwrap_or(u32::MAX);
    Ok(Times {
        // A command with several threads computes longer than it takes.
        wait: elapsed.saturating_sub(compute) / count,
        compute: (compute / count).max(Duration::from_micros(1)),
    })
}

/// The processor time of all children that have ended.
fn processor_time() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        seconds * 1_000_000 + u64::try_from(time.tv_usec()).unwrap_or(0)
    };
    Ok(Duration::from_micros(
        micros(usage.user_time()) + micros(usage.system_time()),
    ))
}
