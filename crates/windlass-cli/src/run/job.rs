//! One input on its way: attempts, output, outcome.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backlog::Backlog;
use super::capture::{Capture, Storage};
use super::control::Control;
use super::journal::Record;
use super::options::{Halt, OutputMode};
use super::outcome::Outcome;
use super::process::{Collect, Launch, Stream};
use super::remote::{Remote, Tried};
use super::sink::{Finished, Sink};
use super::slots::{Slot, Slots};
use super::stop::{Reason, Stage};
use super::tally::Tally;
use super::template::{Template, quote};
use crate::exit::{self, Failure};

/// What all jobs of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) template: Template,
    pub(super) place: Place,
    /// What the submitter waits for, if it does so when the queue is full.
    pub(super) backlog: Option<Backlog>,
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
        let seconds = delay.as_secs_f64() * fastrand::f64().mul_add(0.5, 0.5);
        Duration::try_from_secs_f64(seconds).unwrap_or(delay)
    }
}

/// How far a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progressed {
    Waits,
    Runs,
    HasEnded,
}

/// An input that is to be run. If it is dropped before, it is counted as not run; if it is dropped while it
/// runs, which only a panic does, as failed.
#[derive(Debug)]
pub(super) struct Job {
    seq: u64,
    input: Vec<u8>,
    shared: Arc<Shared>,
    progressed: Progressed,
}

impl Job {
    pub(super) fn new(seq: u64, input: Vec<u8>, shared: Arc<Shared>) -> Self {
        Self {
            seq,
            input,
            shared,
            progressed: Progressed::Waits,
        }
    }

    /// Runs the job, unless the run drains.
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        if let Some(backlog) = &shared.backlog {
            backlog.take(&shared.control.stop);
        }
        if !shared.control.stop.is_running() {
            return;
        }
        self.progressed = Progressed::Runs;
        let input = std::mem::take(&mut self.input);
        let finished = match shared.control.slots.acquire() {
            Ok(slot) => {
                let taken = TakenSlot(&shared.control.slots, slot);
                self.try_repeatedly(input, &taken.1)
            }
            Err(error) => Some(shared.unstarted(self.seq, input, &error.to_string())),
        };
        let Some(finished) = finished else {
            self.progressed = Progressed::Waits;
            return;
        };
        self.progressed = Progressed::HasEnded;
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
        let shared = &self.shared;
        match self.progressed {
            Progressed::HasEnded => return,
            Progressed::Waits if shared.control.stop.is_running() => shared.tally.rejected(),
            Progressed::Waits => shared.tally.not_run(1),
            Progressed::Runs => {
                let why = "windlass panicked while it ran, which is a bug".to_owned();
                let failed = shared.tally.ended(&Record {
                    seq: self.seq,
                    outcome: Outcome::Lost(why),
                    attempts: 1,
                    ran_for: Duration::ZERO,
                    input: std::mem::take(&mut self.input),
                });
                shared.sink.progress.step(failed);
            }
        }
        // Without it, the outputs of later inputs would wait for this one forever.
        shared.sink.skip(self.seq);
    }
}

/// A slot that goes back whatever happens to its job.
struct TakenSlot<'a>(&'a Slots, Arc<Slot>);

impl Drop for TakenSlot<'_> {
    fn drop(&mut self) {
        self.0.release(&self.1);
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
            Ok(Tried::Trouble(failure)) => {
                self.control.end(Stage::Draining, Reason::Trouble(failure));
                None
            }
            Err(error) => {
                let text = format!("cannot keep the output of job {seq}: {error}");
                let failure = Failure::new(&*text).hint(
                    "is there room in the folder for temporary files? TMPDIR names another one",
                );
                self.control
                    .end(Stage::Terminating, Reason::Trouble(failure));
                let outcome = Outcome::Lost(text);
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

#[cfg(test)]
mod tests {
    use super::{
        Arc, Control, Duration, Halt, Job, Launch, OutputMode, Place, Policy, Progressed, Shared,
        Sink, Storage, Tally, Template,
    };
    use crate::run::progress::Progress;
    use crate::run::spawn::Spawner;

    fn shared() -> Arc<Shared> {
        let control = Arc::new(Control::new(None, Duration::ZERO).unwrap());
        let sink = Sink::new(Arc::clone(&control), Progress::hidden(), true, None).unwrap();
        Arc::new(Shared {
            template: Template::new(&["true".into()], None, "sh".as_ref()).unwrap(),
            place: Place::Here(Launch {
                program: None,
                spawner: Spawner::new("", None).unwrap(),
                time_limit: None,
                grace: Duration::ZERO,
            }),
            backlog: None,
            control,
            sink,
            tally: Tally::default(),
            storage: Arc::new(Storage::default()),
            policy: Policy {
                attempts: 1,
                retry_delay: Duration::MAX,
                retry_max_delay: Duration::MAX,
                halt: Halt::Never,
                max_failures: 1,
                output: OutputMode::Group,
                dry_run: false,
            },
        })
    }

    #[test]
    fn a_job_that_panics_is_counted_and_holds_nobody_up() {
        let shared = shared();
        let mut job = Job::new(1, b"a".to_vec(), Arc::clone(&shared));
        job.progressed = Progressed::Runs;
        drop(job);
        let counts = shared.tally.counts();
        assert_eq!((counts.failed, counts.rejected), (1, 0));
        assert!(counts.failures[0].reason.contains("panicked"));
        // The turn of the second input has come.
        assert_eq!(shared.sink.next_turn(), 2);
    }

    #[test]
    fn the_longest_delay_is_no_panic() {
        let policy = shared().policy;
        for attempt in [1, 2, u32::MAX] {
            assert!(policy.delay_after(attempt) >= Duration::from_secs(u64::MAX / 2 - 1024));
        }
    }
}
