//! What signals do to a run.
//!
//! Ctrl-c stops the intake and waits for what runs; a second one sends `TERM` to the jobs, a third one
//! `KILL`. `TERM` and `HUP` send `TERM` to the jobs at once, and `KILL` after their grace. Ctrl-z stops
//! the jobs with the run.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver as Messages, Sender};
use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};

use super::job::Shared;
use super::patient::Patient;
use super::stop::{Reason, Stage};

/// The thread that receives signals, and the one that says what they do; both end when this is dropped.
///
/// They are two because the second may have to wait: for the lock of the progress bar, or for the reader of
/// standard error. The next signal is received all the same.
#[derive(Debug)]
pub(super) struct Receiver {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// `None` says that there is nothing more to say.
    messages: Sender<Option<&'static str>>,
    teller: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(super) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let mut signals = Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP, SIGTSTP]))?;
        let handle = signals.handle();
        let (messages, to_tell) = mpsc::channel();
        let errors = Patient::new(io::stderr(), Arc::clone(&shared.control.stop))?;
        let told = Arc::clone(&shared);
        let teller = thread::Builder::new()
            .name("messages".to_owned())
            .spawn(move || tell_all(&told, &to_tell, errors))?;
        let to_teller = messages.clone();
        let thread = thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if let Some(text) = receive(&shared, signal) {
                        let _ = to_teller.send(Some(text));
                    }
                }
            })?;
        Ok(Self {
            handle,
            thread: Some(thread),
            messages,
            teller: Some(teller),
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.messages.send(None);
        // While it waits for the reader of a message, another signal ends that wait.
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Does what the signal says, and returns what there is to say about it.
fn receive(shared: &Shared, signal: i32) -> Option<&'static str> {
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
            return Some("no more jobs are started; waiting for those that run (again: TERM)");
        }
        (SIGINT, Stage::Draining) => {
            control.advance(Stage::Terminating, reason);
            return Some("the jobs are told to terminate (again: KILL)");
        }
        (_, Stage::Running | Stage::Draining) => control.end(Stage::Terminating, reason),
        (_, Stage::Terminating | Stage::Killing) => control.advance(Stage::Killing, reason),
    }
    None
}

fn tell_all(shared: &Shared, messages: &Messages<Option<&'static str>>, mut errors: Patient) {
    while let Ok(Some(text)) = messages.recv() {
        // Whoever does not read it is not told.
        let _ = shared
            .sink
            .progress
            .suspend(|| writeln!(errors, "windlass: {text}"));
    }
}

/// Returns those of the signals that the caller does not ignore: what it ignores stays ignored, as for `nohup`
/// and scripts that run this in the background.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored();
    let signals = signals.iter().copied();
    signals
        .filter(|signal| ignored & (1 << (signal - 1)) == 0)
        .collect()
}

/// Returns the signals that are ignored, the first in the lowest bit; on systems without `/proc`, none.
pub(super) fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
