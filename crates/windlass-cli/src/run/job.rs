//! One input on its way: attempts, output, outcome.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::capture::{Capture, Storage};
use super::control::Control;
use super::journal::Record;
use super::options::{Halt, OutputMode};
use super::outcome::Outcome;
use super::process::{Collect, Launch, Stream};
use super::remote::{Remote, Tried};
use super::sink::{Finished, Sink};
use super::slots::Slot;
use super::stop::{Reason, Stage};
use super::tally::Tally;
use super::template::{Template, quote};
use crate::exit;

/// What all jobs of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) template: Template,
    pub(super) place: Place,
    pub(super) control: Arc<Control>,
    pub(super) sink: Sink,
    pub(super) tally: Tally,
    pub(super) storage: Arc<Storage>,
    pub(super) policy: Policy,
}

/// Where jobs run.
#[derive(Debug)]
pub(super) enum Place {
    Here(Launch),
    OnWorkers(Remote),
}

/// How jobs are tried, ended and shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub(super) attempts: u32,
    pub(super) retry_delay: Duration,
    pub(super) retry_max_delay: Duration,
    pub(super) halt: Halt,
    pub(super) max_failures: u64,
    pub(super) output: OutputMode,
    pub(super) dry_run: bool,
}

impl Policy {
    /// How long to wait after an attempt: twice as long each time, half of it random, so that jobs
    /// that failed together are not tried again together.
    fn delay_after(&self, attempt: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let delay = self
            .retry_delay
            .saturating_mul(doubled)
            .min(self.retry_max_delay);
        delay.mul_f64(fastrand::f64().mul_add(0.5, 0.5))
    }
}

/// An input that is to be run. If it is dropped before, it is counted as not run.
#[derive(Debug)]
pub(super) struct Job {
    seq: u64,
    input: Vec<u8>,
    shared: Arc<Shared>,
    is_taken: bool,
}

impl Job {
    pub(super) fn new(seq: u64, input: Vec<u8>, shared: Arc<Shared>) -> Self {
        Self {
            seq,
            input,
            shared,
            is_taken: false,
        }
    }

    /// Runs the job, unless the run drains.
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        if !shared.control.stop.is_running() {
            return;
        }
        self.is_taken = true;
        let input = std::mem::take(&mut self.input);
        let finished = match shared.control.slots.acquire() {
            Ok(slot) => {
                let finished = self.try_repeatedly(input, &slot);
                shared.control.slots.release(&slot);
                finished
            }
            Err(error) => Some(shared.unstarted(self.seq, input, &error.to_string())),
        };
        let Some(finished) = finished else {
            self.is_taken = false;
            return;
        };
        let failed = shared.tally.ended(&finished.record);
        let is_success = finished.record.outcome.is_success();
        shared.sink.deliver(finished);
        shared.sink.progress.step(failed);
        if !is_success && failed >= shared.policy.max_failures {
            match shared.policy.halt {
                Halt::Never => {}
                Halt::Soon => shared.control.end(Stage::Draining, Reason::Halt),
                Halt::Now => shared.control.end(Stage::Terminating, Reason::Halt),
            }
        }
    }

    /// Returns `None` if the job was not run after all.
    fn try_repeatedly(&self, input: Vec<u8>, slot: &Arc<Slot>) -> Option<Finished> {
        let shared = &self.shared;
        let argv = match shared.template.render(&input, self.seq, slot.number()) {
            Ok(argv) => argv,
            Err(error) => return Some(shared.unstarted(self.seq, input, &error.to_string())),
        };
        let mut attempts = 1;
        loop {
            let mut output = Collected::new(shared);
            let attempt = (self.seq, attempts);
            let (outcome, ran_for) = shared.attempt(&argv, attempt, slot, &mut output)?;
            let is_last = attempts >= shared.policy.attempts || !outcome.is_worth_a_retry();
            if is_last
                || !shared
                    .control
                    .stop
                    .sleep(shared.policy.delay_after(attempts))
            {
                let record = Record {
                    seq: self.seq,
                    outcome,
                    attempts,
                    ran_for,
                    input,
                };
                return Some(output.finish(record));
            }
            attempts += 1;
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        if self.shared.control.stop.is_running() {
            self.shared.tally.rejected();
        } else {
            self.shared.tally.not_run();
        }
        self.shared.sink.skip(self.seq);
    }
}

impl Shared {
    /// Returns the outcome of an attempt and how long it ran; `None` if no worker has started it.
    fn attempt(
        &self,
        argv: &[OsString],
        (seq, attempt): (u64, u32),
        slot: &Arc<Slot>,
        output: &mut Collected<'_>,
    ) -> Option<(Outcome, Duration)> {
        let started = Instant::now();
        let tried = match &self.place {
            _ if self.policy.dry_run => {
                let mut line = quote(argv);
                line.push(b'\n');
                let written = output.collect(Stream::Out, &line);
                written.map(|()| Tried::Ended(Outcome::Success, Duration::ZERO))
            }
            Place::Here(launch) => launch
                .attempt(argv, seq, (&self.control, slot), output)
                .map(|outcome| Tried::Ended(outcome, started.elapsed())),
            Place::OnWorkers(remote) => {
                remote.attempt(argv, (seq, attempt), &self.control.stop, output)
            }
        };
        match tried {
            Ok(Tried::Ended(outcome, ran_for)) => Some((outcome, ran_for)),
            Ok(Tried::NotRun) => None,
            Ok(Tried::Trouble(text)) => {
                self.control.end(Stage::Draining, Reason::Trouble(text));
                None
            }
            Err(error) => {
                let text = format!("cannot keep the output of job {seq}: {error}");
                self.control
                    .end(Stage::Terminating, Reason::Trouble(text.clone()));
                let outcome = Outcome::NotStarted(exit::TROUBLE, text);
                Some((outcome, started.elapsed()))
            }
        }
    }

    fn unstarted(&self, seq: u64, input: Vec<u8>, why: &str) -> Finished {
        let record = Record {
            seq,
            outcome: Outcome::NotStarted(exit::NOT_EXECUTABLE, why.to_owned()),
            attempts: 1,
            ran_for: Duration::ZERO,
            input,
        };
        Collected::new(self).finish(record)
    }
}

/// The output of one attempt: kept until its end, or written line by line.
#[derive(Debug)]
struct Collected<'a> {
    shared: &'a Shared,
    out: Capture,
    err: Capture,
}

impl<'a> Collected<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            out: Capture::new(&shared.storage),
            err: Capture::new(&shared.storage),
        }
    }

    /// In line mode, what is left is the last line, without its end.
    fn finish(self, record: Record) -> Finished {
        Finished {
            record,
            out: self.out,
            err: self.err,
        }
    }
}

impl Collect for Collected<'_> {
    fn is_inherited(&self) -> bool {
        self.shared.policy.output == OutputMode::Inherit
    }

    fn collect(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let pending = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let end_of_lines = match self.shared.policy.output {
            OutputMode::Line => bytes.iter().rposition(|byte| *byte == b'\n'),
            OutputMode::Group | OutputMode::Inherit => None,
        };
        let Some(end) = end_of_lines else {
            return pending.push(bytes);
        };
        pending.push(&bytes[..=end])?;
        let lines = std::mem::replace(pending, Capture::new(&self.shared.storage));
        self.shared.sink.write_lines(stream, &lines)?;
        let pending = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        pending.push(&bytes[end + 1..])
    }
}
