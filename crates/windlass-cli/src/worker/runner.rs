//! One command on a worker, from its task to its report.
//!
//! A task that is cancelled has its thread interrupted, which ends no wait for a process. So the command runs on
//! a thread of a second pool, and the thread of the task waits for that one: an interrupt ends its wait, and
//! it signals the process group.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass::TaskHandle;
use windlass::error::ExecutionError;
use windlass::prelude::*;
use windlass_remote::{TaskCx, TaskError};

use super::allow::AllowList;
use super::kept::Kept;
use crate::engine::{Bytes, CommandReport, CommandTask, RunCommand};
use crate::run::Outcome;
use crate::run::control::Control;
use crate::run::process::Launch;
use crate::run::slots::Slot;
use crate::run::spawn::Spawner;

/// What runs the commands of a worker.
pub(super) struct Runner {
    pub(super) allowed: AllowList,
    pub(super) control: Arc<Control>,
    /// Waits for processes; it has a thread for each that runs.
    pub(super) waiters: ThreadPoolExecutor,
    /// Names this worker in the environment of its commands, for its guard.
    pub(super) run_id: String,
    pub(super) host: String,
    pub(super) max_output: usize,
    /// The longest time between `TERM` and `KILL`, whatever a task wants.
    pub(super) max_grace: Duration,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("allowed", &self.allowed.names())
            .finish_non_exhaustive()
    }
}

/// How a process has ended, with what it wrote.
type Ended = (io::Result<Outcome>, Kept);

impl RunCommand for Runner {
    fn run_command(&self, task: CommandTask, cx: &TaskCx) -> Result<CommandReport, TaskError> {
        let argv: Vec<OsString> = task.argv.into_iter().map(Bytes::into_os_string).collect();
        let allowed = self.allowed.command(&argv).map_err(|denied| {
            TaskError::new(format!(
                "the worker on {} does not run it: {denied}",
                self.host
            ))
            .no_retry()
        })?;
        let grace = Duration::from_millis(task.grace_ms).min(self.max_grace);
        let launch = Launch {
            program: Some(allowed.file),
            spawner: Spawner::new(&self.run_id, Some(cx.id().as_ref()))?,
            time_limit: task.time_limit_ms.map(Duration::from_millis),
            grace,
        };
        let slot = self.control.slots.acquire()?;
        let started = Instant::now();
        let mut was_told = false;
        let ended = self
            .start(launch, allowed.argv, task.seq, &slot)
            .and_then(|waiter| wait(waiter, &slot, grace, &mut was_told));
        self.control.slots.release(&slot);
        let (outcome, kept) = ended?;
        let outcome = outcome?;
        // A report is a result, and the first result counts: how a command died that was told to is none.
        if was_told && !outcome.is_success() {
            return Err(TaskError::new("the command was told to stop"));
        }
        self.report(outcome, kept, started.elapsed())
    }
}

impl Runner {
    fn start(
        &self,
        launch: Launch,
        argv: Vec<OsString>,
        seq: u64,
        slot: &Arc<Slot>,
    ) -> Result<TaskHandle<Ended>, TaskError> {
        let (control, slot) = (Arc::clone(&self.control), Arc::clone(slot));
        let mut kept = Kept::new(self.max_output);
        let run = move || {
            let outcome = launch.attempt(&argv, seq, (&control, &slot), &mut kept);
            (outcome, kept)
        };
        self.waiters
            .submit(run)
            .map_err(|rejected| TaskError::new(format!("no thread for the command: {rejected}")))
    }

    fn report(
        &self,
        outcome: Outcome,
        kept: Kept,
        ran_for: Duration,
    ) -> Result<CommandReport, TaskError> {
        let why = match &outcome {
            Outcome::NotStarted(_, why) => Some(why.clone()),
            _ => None,
        };
        Ok(CommandReport {
            outcome: outcome.to_string(),
            why,
            seconds: ran_for.as_secs_f64(),
            host: self.host.clone(),
            out: kept.out.into(),
            err: kept.err.into(),
            dropped: kept.dropped,
        })
    }
}

/// Waits for the end of a command. If the task is told to stop, the command is sent `TERM`, and `KILL` after
/// the grace; `was_told` is set then.
fn wait(
    mut waiter: TaskHandle<Ended>,
    slot: &Slot,
    grace: Duration,
    was_told: &mut bool,
) -> Result<Ended, TaskError> {
    let mut kill_at = None;
    loop {
        let ended = match kill_at {
            None => waiter.get(),
            Some(at) => waiter.get_timeout(Instant::saturating_duration_since(&at, Instant::now())),
        };
        match ended {
            Ok(ended) => return Ok(ended),
            Err(ExecutionError::Interrupted) if kill_at.is_none() => {
                *was_told = true;
                slot.end(Signal::TERM);
                kill_at = Instant::now().checked_add(grace);
            }
            // The first one has said all.
            Err(ExecutionError::Interrupted) => {}
            Err(ExecutionError::TimedOut) => {
                slot.end(Signal::KILL);
                kill_at = Instant::now().checked_add(Duration::from_secs(3600));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
