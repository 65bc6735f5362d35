//! The task `windlass.command`: a command that `windlass run` sends and `windlass worker` runs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_remote::{RemoteTask, TaskCx, TaskError};

use super::bytes::Bytes;

/// A command with its arguments. What it becomes on a machine is decided there, by the allow-list of the
/// worker.
///
/// To the queue it is done when the command has ended, with whatever exit code: the code and the output are
/// its result, a [`CommandReport`]. It fails if no command was started.
///
/// ```
/// use windlass_cli::engine::CommandTask;
/// use windlass_remote::RemoteTask as _;
///
/// let task = CommandTask {
///     argv: vec![b"gzip".as_slice().into(), b"a.log".as_slice().into()],
///     seq: 1,
///     time_limit_ms: Some(10_000),
///     grace_ms: 5_000,
/// };
/// assert_eq!(CommandTask::NAME, "windlass.command");
/// assert!(serde_json::to_string(&task).unwrap().starts_with(r#"{"argv":["gzip","a.log"]"#));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTask {
    /// The name that the allow-list knows, and the arguments.
    pub argv: Vec<Bytes>,
    /// The number of the input.
    pub seq: u64,
    /// How long the command may take.
    pub time_limit_ms: Option<u64>,
    /// How long it has between `TERM` and `KILL`.
    pub grace_ms: u64,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandReport {
    /// The short form of an [`Outcome`](crate::run::Outcome): `ok`, `exit:2`.
    pub outcome: String,
    /// Why it was not started, if it was not.
    pub why: Option<String>,
    /// How long it ran.
    pub seconds: f64,
    /// The machine that it ran on.
    pub host: String,
    /// What it wrote to its standard output, no more than the worker sends back.
    pub out: Bytes,
    /// What it wrote to its standard error.
    pub err: Bytes,
    /// How many bytes of both are left out.
    pub dropped: u64,
}

/// Runs the commands of a worker; its state, for [`CommandTask`].
pub trait RunCommand: Send + Sync + 'static {
    /// Runs a command to its end, or until its task is told to stop.
    ///
    /// # Errors
    ///
    /// If it was not started.
    fn run_command(&self, task: CommandTask, cx: &TaskCx) -> Result<CommandReport, TaskError>;
}

/// What a worker is given as its [state](windlass_remote::RemoteWorkerBuilder::state), so that it runs
/// commands.
#[derive(Clone)]
pub struct CommandRunner(pub Arc<dyn RunCommand>);

impl fmt::Debug for CommandRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommandRunner(..)")
    }
}

impl RemoteTask for CommandTask {
    const NAME: &'static str = "windlass.command";
    type Output = CommandReport;

    fn run(self, cx: &TaskCx) -> Result<CommandReport, TaskError> {
        match cx.state::<CommandRunner>() {
            Some(runner) => runner.0.run_command(self, cx),
            None => Err(TaskError::new("this worker runs no commands").no_retry()),
        }
    }
}
