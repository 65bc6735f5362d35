//! Where the output of jobs goes: whole outputs or whole lines, in order of input or as they come.
//!
//! The output of two jobs never shares a line: if one ends without a newline and another follows, a
//! newline is written between them.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::capture::Capture;
use super::control::Control;
use super::journal::{Journal, Record};
use super::patient::Patient;
use super::process::Stream;
use super::progress::Progress;
use super::stop::{Reason, Stage};
use crate::exit::Failure;

/// How many inputs may be ahead of the first one that has not ended, with `--keep-order`.
const MAX_AHEAD: u64 = 100_000;

/// A job that has ended, with its output.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) record: Record,
    pub(super) out: Capture,
    pub(super) err: Capture,
}

/// The outputs of a run.
#[derive(Debug)]
pub(super) struct Sink {
    control: Arc<Control>,
    pub(super) progress: Progress,
    keeps_order: bool,
    /// The number of the input whose output is due, with `--keep-order`. It is written under the lock
    /// and read without: whoever waits for it holds the lock of the stop, which is taken under this one.
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    out: Output,
    err: Output,
    journal: Option<Journal>,
    /// What came before its turn; `None` is an input without output.
    held: BTreeMap<u64, Option<Finished>>,
    /// After a failure nothing is written and nothing is recorded any more.
    is_broken: bool,
}

#[derive(Debug)]
struct Output {
    file: Patient,
    is_in_line: bool,
}

impl Output {
    fn new(fd: impl std::os::fd::AsFd, control: &Control) -> io::Result<Self> {
        Ok(Self {
            file: Patient::new(fd, Arc::clone(&control.stop))?,
            is_in_line: false,
        })
    }

    fn write(&mut self, capture: &Capture) -> io::Result<()> {
        let Some(last) = capture.last() else {
            return Ok(());
        };
        if std::mem::replace(&mut self.is_in_line, last != b'\n') {
            self.file.write_all(b"\n")?;
        }
        capture.write_to(&mut self.file)
    }
}

impl Sink {
    pub(super) fn new(
        control: Arc<Control>,
        progress: Progress,
        keeps_order: bool,
        journal: Option<Journal>,
    ) -> io::Result<Self> {
        let state = State {
            out: Output::new(io::stdout(), &control)?,
            err: Output::new(io::stderr(), &control)?,
            journal,
            held: BTreeMap::new(),
            is_broken: false,
        };
        Ok(Self {
            control,
            progress,
            keeps_order,
            next: AtomicU64::new(1),
            state: Mutex::new(state),
        })
    }

    /// Takes a job that has ended.
    pub(super) fn deliver(&self, finished: Finished) {
        let seq = finished.record.seq;
        self.pass(seq, Some(finished));
    }

    /// Takes an input that is not run.
    pub(super) fn skip(&self, seq: u64) {
        if self.keeps_order {
            self.pass(seq, None);
        }
    }

    /// Writes whole lines of a job that goes on.
    pub(super) fn write_lines(&self, stream: Stream, lines: &Capture) -> io::Result<()> {
        let mut state = self.lock();
        if state.is_broken {
            return Ok(());
        }
        let output = match stream {
            Stream::Out => &mut state.out,
            Stream::Err => &mut state.err,
        };
        let written = self.progress.suspend(|| output.write(lines));
        if let Err(error) = written {
            self.give_up(&mut state, &error);
        }
        Ok(())
    }

    /// Waits until the input with this number is not too far ahead of the first that has not ended.
    pub(super) fn await_turn(&self, seq: u64) {
        if self.keeps_order {
            self.control
                .stop
                .wait_while(|| seq > self.next.load(Ordering::SeqCst) + MAX_AHEAD);
        }
    }

    #[cfg(test)]
    pub(super) fn next_turn(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    fn pass(&self, seq: u64, finished: Option<Finished>) {
        let mut state = self.lock();
        if !self.keeps_order {
            return self.write(&mut state, finished);
        }
        state.held.insert(seq, finished);
        while let Some(due) = state.held.first_entry()
            && *due.key() == self.next.load(Ordering::SeqCst)
        {
            let finished = due.remove();
            self.next.fetch_add(1, Ordering::SeqCst);
            self.write(&mut state, finished);
        }
        drop(state);
        self.control.stop.notify();
    }

    fn write(&self, state: &mut State, finished: Option<Finished>) {
        let Some(finished) = finished.filter(|_| !state.is_broken) else {
            return;
        };
        if !(finished.out.is_empty() && finished.err.is_empty()) {
            let written = self.progress.suspend(|| {
                state.out.write(&finished.out)?;
                state.err.write(&finished.err)
            });
            if let Err(error) = written {
                return self.give_up(state, &error);
            }
        }
        if let Some(journal) = &mut state.journal
            && let Err(failure) = journal.append(&finished.record)
        {
            state.is_broken = true;
            self.control
                .end(Stage::Terminating, Reason::Trouble(failure));
        }
    }

    /// Ends the run, because its output goes nowhere.
    fn give_up(&self, state: &mut State, error: &io::Error) {
        state.is_broken = true;
        let reason = match error.kind() {
            io::ErrorKind::BrokenPipe => Reason::BrokenPipe,
            _ => Reason::Trouble(
                Failure::new(format!("cannot write the output: {error}"))
                    .hint("--resume goes on where it stopped, if there is a --journal"),
            ),
        };
        self.control.end(Stage::Terminating, reason);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
