//! Jobs that workers on other machines run: sent as tasks, waited for, cancelled when the run ends.
//!
//! Each job that is on its way keeps a thread of the pool, as one that runs here does, so that order, retries,
//! limits and counts are the same code. A run that drains cancels what no worker has started; one that
//! terminates cancels everything, and the workers end the commands.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass::interrupt::{self, InterruptHandle};
use windlass_remote::{
    FailureKind, QueueAdmin, QueueName, RejectedReason, RemoteError, RemoteExecutor, RemoteFuture,
    TaskId, TaskOptions,
};

use super::outcome::Outcome;
use super::process::{Collect, Stream};
use super::stop::{Stage, Stop};
use crate::engine::{Bytes, CommandReport, CommandTask, OpenEngine, trouble};
use crate::exit::{self, Failure, complain};

/// How long a queue that is full is left alone before it is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(200);
/// How long a report is kept after its command has ended. It is read at once, and may be large.
const RETENTION: Duration = Duration::from_secs(60);
/// How long a job waits for an engine that is away, before the run gives up.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The way to the workers.
#[derive(Debug)]
pub(super) struct Remote {
    executor: RemoteExecutor,
    place: String,
    run_id: String,
    rules: Rules,
    under_way: Mutex<HashMap<TaskId, UnderWay>>,
    is_over: AtomicBool,
}

/// What holds for all commands of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) time_limit: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) at_most_once: bool,
}

/// A task that has no outcome yet, and the thread that waits for it.
#[derive(Debug, Clone)]
struct UnderWay {
    future: Arc<RemoteFuture<CommandReport>>,
    waiter: InterruptHandle,
}

/// What became of an attempt.
#[derive(Debug)]
pub(super) enum Tried {
    Ended(Outcome, Duration),
    /// No worker has started it, because the run ends.
    NotRun,
    /// The run cannot go on, and why.
    Trouble(Failure),
}

impl Remote {
    /// Creates the way to the workers of a queue, and says if there are none yet.
    pub(super) fn new(
        open: &OpenEngine,
        queue: QueueName,
        key: Option<windlass_remote::SigningKey>,
        run_id: String,
        rules: Rules,
    ) -> Result<Self, Failure> {
        for warning in open.check().map_err(|error| trouble(&error, &open.place))? {
            complain(format_args!("{}: {warning}", open.place));
        }
        let admin = QueueAdmin::new(Arc::clone(&open.engine), queue.clone());
        let state = admin.workers().and_then(|all| Ok((all, admin.status()?)));
        let (workers, status) = state.map_err(|error| trouble(&error, &open.place))?;
        if workers.is_empty() {
            complain(format_args!(
                "no worker serves the queue {queue} yet: windlass worker --engine URL --queue {queue} --allow FILE"
            ));
        }
        if status.paused {
            complain(format_args!(
                "the queue {queue} is paused: windlass queue resume --queue {queue}"
            ));
        }
        let mut builder = RemoteExecutor::builder(Arc::clone(&open.engine))
            .queue(queue.as_str())
            .submit_timeout(SUBMIT_TIMEOUT);
        if let Some(key) = key {
            builder = builder.signing_key(key);
        }
        let executor = builder
            .build()
            .map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self {
            executor,
            place: open.place.clone(),
            run_id,
            rules,
            under_way: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Runs a command on a worker and waits for its end. Two attempts are two tasks.
    pub(super) fn attempt(
        &self,
        argv: &[OsString],
        (seq, attempt): (u64, u32),
        stop: &Stop,
        output: &mut impl Collect,
    ) -> io::Result<Tried> {
        let future = match self.submit(argv, (seq, attempt), stop) {
            Ok(future) => Arc::new(future),
            Err(tried) => return Ok(tried),
        };
        let under_way = UnderWay {
            future: Arc::clone(&future),
            waiter: interrupt::current(),
        };
        self.lock().insert(future.id().clone(), under_way);
        // As for a process: the run may have ended before the task was known to whoever ends it.
        self.end_one(&future, stop.stage());
        let result = if stop.stage() == Stage::Killing {
            Err(RemoteError::Interrupted)
        } else {
            future.get()
        };
        self.lock().remove(future.id());
        match result {
            Ok(report) => ended(report, output),
            Err(error) => Ok(self.without_report(&error, &future, stop)),
        }
    }

    fn submit(
        &self,
        argv: &[OsString],
        (seq, attempt): (u64, u32),
        stop: &Stop,
    ) -> Result<RemoteFuture<CommandReport>, Tried> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let mut task = CommandTask {
            argv: argv.iter().map(|word| Bytes::from(&**word)).collect(),
            seq,
            time_limit_ms: self.rules.time_limit.map(millis),
            grace_ms: millis(self.rules.grace),
        };
        let mut options = TaskOptions::default().retention(RETENTION);
        if self.rules.at_most_once {
            options = options.at_most_once();
        }
        let id: TaskId = format!("run:{}:{seq}:{attempt}", self.run_id)
            .parse()
            .unwrap_or_else(|_| TaskId::random());
        loop {
            let submitted = self
                .executor
                .submit_with(id.clone(), task, options, Duration::ZERO);
            let rejected = match submitted {
                Ok(future) => return Ok(future),
                Err(rejected) => rejected,
            };
            match rejected.reason() {
                RejectedReason::Full { .. } => {
                    if !stop.sleep(FULL_PAUSE) {
                        return Err(Tried::NotRun);
                    }
                }
                RejectedReason::Interrupted => return Err(Tried::NotRun),
                RejectedReason::Engine(error) => {
                    return Err(Tried::Trouble(trouble(error, &self.place)));
                }
                RejectedReason::TooLarge { .. } | RejectedReason::Encode(_) => {
                    let why = rejected.reason().to_string();
                    let outcome = Outcome::NotStarted(exit::NOT_EXECUTABLE, why);
                    return Err(Tried::Ended(outcome, Duration::ZERO));
                }
                reason => {
                    let text = format!("{}: {reason}", self.place);
                    return Err(Tried::Trouble(Failure::new(text)));
                }
            }
            task = rejected.into_task();
        }
    }

    /// Says what a job without a report has become.
    fn without_report(
        &self,
        error: &RemoteError,
        future: &RemoteFuture<CommandReport>,
        stop: &Stop,
    ) -> Tried {
        let outcome = match error {
            RemoteError::Cancelled if !stop.is_running() && self.never_started(future.id()) => {
                return Tried::NotRun;
            }
            RemoteError::Cancelled if !stop.is_running() => {
                Outcome::Signal(signal_hook::consts::SIGTERM)
            }
            RemoteError::Failed(failure) if failure.kind() == FailureKind::Task => {
                Outcome::NotStarted(exit::NOT_EXECUTABLE, failure.message().to_owned())
            }
            RemoteError::Interrupted => {
                Outcome::Lost("given up while the engine was away".to_owned())
            }
            error => Outcome::Lost(error.to_string()),
        };
        Tried::Ended(outcome, Duration::ZERO)
    }

    fn never_started(&self, id: &TaskId) -> bool {
        let record = self.executor.record(id);
        record.is_ok_and(|record| record.is_some_and(|record| record.deliveries == 0))
    }

    /// Cancels tasks as the run ends, until [`finish`](Self::finish).
    pub(super) fn follow(&self, stop: &Stop) {
        let mut seen = Stage::Running;
        loop {
            stop.wait_until(|| stop.stage() > seen || self.is_over.load(Ordering::SeqCst));
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            seen = stop.stage();
            let under_way: Vec<UnderWay> = self.lock().values().cloned().collect();
            for task in under_way {
                // An engine that is away would take its time for each of them.
                let is_away = !self.end_one(&task.future, seen);
                if seen == Stage::Killing {
                    task.waiter.interrupt();
                } else if is_away || stop.stage() > seen {
                    break;
                }
            }
        }
    }

    /// Lets [`follow`](Self::follow) end.
    pub(super) fn finish(&self, stop: &Stop) {
        self.is_over.store(true, Ordering::SeqCst);
        stop.notify();
    }

    /// Cancels a task as far as this stage asks for it; returns whether the engine has answered.
    fn end_one(&self, future: &RemoteFuture<CommandReport>, stage: Stage) -> bool {
        match stage {
            Stage::Running | Stage::Killing => true,
            Stage::Draining => future.cancel().is_ok(),
            Stage::Terminating => future.cancel_now().is_ok(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, UnderWay>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the output and the outcome of a command that has ended.
fn ended(report: CommandReport, output: &mut impl Collect) -> io::Result<Tried> {
    output.collect(Stream::Out, report.out.as_slice())?;
    output.collect(Stream::Err, report.err.as_slice())?;
    let outcome = match report.outcome.parse() {
        Ok(Outcome::Success) if report.dropped > 0 => Outcome::Cut(report.dropped),
        Ok(Outcome::NotStarted(code, _)) => {
            let why = report.why.unwrap_or_default();
            Outcome::NotStarted(code, format!("on {}: {why}", report.host))
        }
        Ok(outcome) => outcome,
        Err(_) => Outcome::Lost(format!("{} says {:?}", report.host, report.outcome)),
    };
    let ran_for = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    Ok(Tried::Ended(outcome, ran_for))
}
