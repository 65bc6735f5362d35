//! What signals do to a run.
//!
//! Ctrl-c stops the intake and waits for what runs; a second one sends `TERM` to the jobs, a third one
//! `KILL`. `TERM` and `HUP` send `TERM` to the jobs at once, and `KILL` after their grace. Ctrl-z stops
//! the jobs with the run.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};

use super::job::Shared;
use super::stop::{Reason, Stage};
use crate::exit::complain;

/// The thread that receives signals; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(super) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP, SIGTSTP]))?;
        let handle = signals.handle();
        let thread = thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    receive(&shared, signal);
                }
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn receive(shared: &Shared, signal: i32) {
    let control = &shared.control;
    let reason = Reason::Signal(signal);
    match (signal, control.stop.stage()) {
        (SIGTSTP, _) => {
            control.slots.signal_all(Signal::STOP);
            // Stops this process until it is continued.
            let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
            control.slots.signal_all(Signal::CONT);
        }
        (SIGINT, Stage::Running) => {
            control.advance(Stage::Draining, reason);
            tell(
                shared,
                "no more jobs are started; waiting for those that run (again: TERM)",
            );
        }
        (SIGINT, Stage::Draining) => {
            control.advance(Stage::Terminating, reason);
            tell(shared, "the jobs are told to terminate (again: KILL)");
        }
        (_, Stage::Running | Stage::Draining) => control.end(Stage::Terminating, reason),
        (_, Stage::Terminating | Stage::Killing) => control.advance(Stage::Killing, reason),
    }
}

fn tell(shared: &Shared, text: &str) {
    shared
        .sink
        .progress
        .suspend(|| complain(format_args!("{text}")));
}

/// Returns those of the signals that the caller does not ignore: what it ignores stays ignored, as for `nohup`
/// and scripts that run this in the background.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let signals = signals.iter().copied();
    signals.filter(|signal| !is_ignored(*signal)).collect()
}

/// Whether the signal was ignored when the program was started; on systems without `/proc`, no.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
