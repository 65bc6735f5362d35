//! A small process that ends the jobs of a run whose own process was killed.
//!
//! `KILL` cannot be caught, so a second process has to notice it. The guard waits for the end of a pipe
//! that only the run holds open. What runs is not sent to it, which would wake it for each job, but
//! kept in a file without a name that both have open: two numbers for each slot, the number of the
//! input, written before the job is started, and its process group, written after. Between the two, a
//! process is known by its environment, which names the run and the input.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::proc_stat::{ProcStat, processes};

/// The environment variable that names the run of a process.
pub(crate) const RUN_ID: &str = "WINDLASS_RUN_ID";
/// The environment variable that names the input of a process.
pub(crate) const SEQ: &str = "WINDLASS_SEQ";

/// The name of the hidden command that [`watch`] is.
pub(crate) const COMMAND: &str = "__guard";

const ENTRY: u64 = 16;

/// The guard of a run.
#[derive(Debug)]
pub(crate) struct Guard {
    table: File,
    process: Option<(Child, ChildStdin)>,
}

impl Guard {
    /// Starts the guard of the run with this id.
    pub(crate) fn start(run_id: &str) -> io::Result<Self> {
        let table = nameless_file()?;
        let mut process = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .arg(run_id)
            .stdin(Stdio::piped())
            .stdout(table.try_clone()?)
            .stderr(Stdio::null())
            // What ends the run from the terminal does not end its guard.
            .process_group(0)
            .spawn()?;
        let pipe = process.stdin.take();
        Ok(Self {
            table,
            process: pipe.map(|pipe| (process, pipe)),
        })
    }

    /// Notes that a job starts in a slot: its input, and its process group once it is known.
    pub(crate) fn note(&self, slot: usize, seq: u64, group: Option<Pid>) {
        let group = group.map_or(0, |group| {
            u64::from(group.as_raw_nonzero().get().unsigned_abs())
        });
        let mut entry = [0; ENTRY as usize];
        entry[..8].copy_from_slice(&seq.to_le_bytes());
        entry[8..].copy_from_slice(&group.to_le_bytes());
        // Without its note, a job ends with the run in all cases but one.
        let _ = self.table.write_all_at(&entry, slot as u64 * ENTRY);
    }

    /// Notes that the slot is free.
    pub(crate) fn clear(&self, slot: usize) {
        self.note(slot, 0, None);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((mut process, pipe)) = self.process.take() {
            drop(pipe);
            let _ = process.wait();
        }
    }
}

#[cfg(target_os = "linux")]
fn nameless_file() -> io::Result<File> {
    let file = rustix::fs::memfd_create("windlass-run", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(file))
}

#[cfg(not(target_os = "linux"))]
fn nameless_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Waits until the run has ended, then kills what is left of it: the hidden command of the guard.
pub(crate) fn watch(run_id: &str) {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    let Ok(table) = io::stdout().as_fd().try_clone_to_owned().map(File::from) else {
        return;
    };
    let mut running = Vec::new();
    let mut entry = [0; ENTRY as usize];
    let mut at = 0;
    while table.read_exact_at(&mut entry, at).is_ok() {
        let (seq, group) = entry.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        if number(seq) != 0 {
            running.push(number(seq));
            kill(number(group));
        }
        at += ENTRY;
    }
    if !running.is_empty() {
        for group in groups_by_environment(run_id, &running) {
            kill(group);
        }
    }
}

fn kill(group: u64) {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Finds the process groups of processes whose environment names the run and one of the inputs. On
/// systems without `/proc` there are none.
fn groups_by_environment(run_id: &str, running: &[u64]) -> Vec<u64> {
    let run = format!("{RUN_ID}={run_id}");
    let inputs: Vec<String> = running.iter().map(|seq| format!("{SEQ}={seq}")).collect();
    processes()
        .into_iter()
        .flatten()
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |text: &str| environment.split(|b| *b == 0).any(|v| v == text.as_bytes());
            has(&run) && inputs.iter().any(|input| has(input))
        })
        .filter_map(|pid| u64::try_from(ProcStat::of(pid)?.group).ok())
        .collect()
}
