//! The options of `windlass run`.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use windlass_remote::QueueName;

use crate::count::at_least_one;
use crate::duration::{parse, parse_positive};
use crate::engine::EngineAddress;
use crate::exit::Failure;

/// How many jobs are under way with `--engine`, unless `--threads` says otherwise.
const UNDER_WAY: usize = 64;

/// What happens to an input when all threads are busy and the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenFull {
    /// Reading the input waits until there is room
    Block,
    /// The thread that reads the input runs the job itself
    CallerRuns,
    /// The input is rejected and counted
    Abort,
    /// The input is dropped and counted
    Discard,
    /// The input that has waited longest is dropped and counted
    DiscardOldest,
}

/// When a failure ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Halt {
    /// Run all jobs, whatever becomes of them
    Never,
    /// Start no more jobs, wait for those that run
    Soon,
    /// Start no more jobs, send TERM to those that run, and KILL after --grace
    Now,
}

/// How the output of jobs is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputMode {
    /// The whole output of a job at its end.
    Group,
    /// Each line as it comes.
    Line,
    /// By the jobs themselves.
    Inherit,
}

/// Whether something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// By where standard error goes
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The options of `windlass run`.
#[derive(Debug, Clone, Args)]
pub struct RunOptions {
    /// Threads of the pool: how many jobs run at a time [default: one for each processor]. With --engine:
    /// how many are under way, waiting for a worker included [default: 64]
    #[arg(
        short = 'j',
        long,
        visible_alias = "jobs",
        value_name = "N",
        value_parser = at_least_one,
        help_heading = "Pool"
    )]
    pub threads: Option<NonZeroUsize>,

    /// Bound of the pool's queue: how many inputs wait for a thread [default: four for each thread]. With
    /// --engine: the name of the queue there [default: default]
    #[arg(short = 'q', long, value_name = "N|NAME", help_heading = "Pool")]
    pub queue: Option<String>,

    /// What happens when the queue is full
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "block",
        help_heading = "Pool",
        hide_possible_values = true,
        long_help = "What happens when all threads are busy and the queue is full. With `block`, the \
            default, every input is run. The others are for inputs that come in their own time, as \
            from `tail -f`:\n\n\
            block           reading the input waits\n\
            caller-runs     the thread that reads the input runs the job\n\
            abort, discard  the input is not run, and counted as rejected\n\
            discard-oldest  the input that has waited longest is not run, and counted as rejected"
    )]
    pub when_full: WhenFull,

    /// Let workers on other machines run the jobs, through this engine: see `windlass worker --help`.
    /// `env` stands for the variable WINDLASS_ENGINE, which keeps a password out of the list of processes
    #[arg(long, value_name = "URL", help_heading = "Engine")]
    pub engine: Option<EngineAddress>,

    /// File with the key that tasks and results are signed with: the workers have the same one
    #[arg(
        long,
        value_name = "FILE",
        requires = "engine",
        help_heading = "Engine"
    )]
    pub key_file: Option<PathBuf>,

    /// A job whose worker dies is lost, instead of run again by another worker
    #[arg(long, requires = "engine", help_heading = "Engine")]
    pub at_most_once: bool,

    /// Read the inputs from a file, one in each line; `-` is standard input
    #[arg(
        short = 'a',
        long = "arg-file",
        value_name = "FILE",
        help_heading = "Input"
    )]
    pub arg_file: Option<PathBuf>,

    /// Inputs end with a NUL instead of a newline, as `find -print0` writes them
    #[arg(short = '0', long, help_heading = "Input")]
    pub null: bool,

    /// Use this string in place of `{}`
    #[arg(short = 'I', long, value_name = "STRING", help_heading = "Input")]
    pub replace: Option<OsString>,

    /// The shell for commands that need one
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "sh",
        help_heading = "Input"
    )]
    pub shell: OsString,

    /// Time limit of one attempt (`500ms`, `10s`, `2m`): then TERM, and KILL after --grace, to its
    /// whole process group
    #[arg(short = 't', long, value_name = "TIME", value_parser = parse_positive, help_heading = "Failure")]
    pub timeout: Option<Duration>,

    /// Time between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = parse, default_value = "5s", help_heading = "Failure")]
    pub grace: Duration,

    /// Further attempts for a job that fails
    #[arg(
        short = 'r',
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Failure"
    )]
    pub retries: u32,

    /// Wait before the second attempt; it doubles each time, and half of it is random
    #[arg(long, value_name = "TIME", value_parser = parse, default_value = "1s", help_heading = "Failure")]
    pub retry_delay: Duration,

    /// The longest wait between two attempts
    #[arg(long, value_name = "TIME", value_parser = parse, default_value = "60s", help_heading = "Failure")]
    pub retry_max_delay: Duration,

    /// What a failed job does to the run
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "never",
        help_heading = "Failure"
    )]
    pub halt: Halt,

    /// How many failed jobs --halt takes to act
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Failure")]
    pub max_failures: NonZeroU64,

    /// Record each job that has ended in this file
    #[arg(long, value_name = "FILE", help_heading = "Failure")]
    pub journal: Option<PathBuf>,

    /// Go on where the run with this journal stopped: run the inputs that it does not have
    #[arg(long, requires = "journal", help_heading = "Failure")]
    pub resume: bool,

    /// As --resume, and run those again that failed
    #[arg(long, requires = "journal", help_heading = "Failure")]
    pub resume_failed: bool,

    /// Write the outputs in order of input, not as jobs end
    #[arg(short = 'k', long, help_heading = "Output")]
    pub keep_order: bool,

    /// Write each line as it comes, not the whole output of a job at its end
    #[arg(long, conflicts_with = "keep_order", help_heading = "Output")]
    pub line_buffer: bool,

    /// Let jobs write to the terminal themselves, in any mixture
    #[arg(short = 'u', long, conflicts_with_all = ["keep_order", "line_buffer"], help_heading = "Output")]
    pub ungroup: bool,

    /// Show a progress bar
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub progress: When,

    /// Print a summary at the end, to standard error. `auto`: on a terminal, and if a job failed
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub summary: When,

    /// Print the summary as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Write the summary to this file instead of standard error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub summary_file: Option<PathBuf>,

    /// Neither progress nor summary
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,

    /// Print the commands, run nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    pub dry_run: bool,

    /// The command, and inputs after `:::`
    ///
    /// One argument is a command line (`'gzip -k {}'`); several are its words. Without a command, each
    /// input is a command line itself.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        num_args = 0..,
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,
}

impl RunOptions {
    /// Splits what follows the options into the command and the inputs after `:::`, if it is there.
    pub(super) fn command_and_inputs(&self) -> (&[OsString], Option<&[OsString]>) {
        match self.command.iter().position(|word| word == ":::") {
            Some(at) => (&self.command[..at], Some(&self.command[at + 1..])),
            None => (&self.command, None),
        }
    }

    /// Returns how many threads the pool has.
    pub(super) fn thread_count(&self) -> usize {
        let default = || match &self.engine {
            Some(_) => UNDER_WAY,
            None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        };
        self.threads.map_or_else(default, NonZeroUsize::get)
    }

    /// Returns the bound of the pool's queue.
    pub(super) fn queue_bound(&self) -> usize {
        let default = || self.thread_count().saturating_mul(4);
        match (&self.engine, self.bound()) {
            (None, Some(bound)) => bound.get(),
            _ => default(),
        }
    }

    fn bound(&self) -> Option<NonZeroUsize> {
        self.queue.as_ref()?.parse().ok()
    }

    /// Returns the name of the queue on the engine.
    pub(super) fn queue_name(&self) -> Result<QueueName, Failure> {
        let Some(name) = &self.queue else {
            return Ok(QueueName::default());
        };
        name.parse()
            .map_err(|error| Failure::usage(format!("--queue: {error}")))
    }

    /// Refuses options that do not go together, as far as clap does not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.check_inputs()?;
        if self.engine.is_none() {
            return match &self.queue {
                Some(text) if self.bound().is_none() => Err(Failure::usage(format!(
                    "--queue is a bound, a number from 1; {text:?} is none"
                ))
                .hint("with --engine it is the name of a queue")),
                _ => Ok(()),
            };
        }
        if self.bound().is_some() {
            return Err(
                Failure::usage("with --engine, --queue is a name, not a bound")
                    .hint("--threads says how many jobs are under way"),
            );
        }
        for (given, option) in [
            (self.ungroup, "--ungroup"),
            (self.line_buffer, "--line-buffer"),
        ] {
            if given {
                let message = format!("{option} does not go with --engine");
                return Err(Failure::usage(message).hint(
                    "what a command writes on another machine comes back when it has ended",
                ));
            }
        }
        self.queue_name().map(drop)
    }

    fn check_inputs(&self) -> Result<(), Failure> {
        if self.replace.as_ref().is_some_and(|own| own.is_empty()) {
            return Err(Failure::usage("-I needs a string that is not empty").hint(
                "-I @@ puts the input where @@ stands; without -I it is put where {} stands",
            ));
        }
        let (command, inputs) = self.command_and_inputs();
        let inputs = inputs.unwrap_or_default();
        let is = |word: &&OsString, marks: &[&str]| marks.iter().any(|mark| **word == *mark);
        let mark = command
            .iter()
            .find(|word| is(word, &["::::", ":::+", "::::+"]))
            .or_else(|| {
                let marks = [":::", "::::", ":::+", "::::+"];
                inputs.iter().find(|word| is(word, &marks))
            });
        let Some(mark) = mark else {
            return Ok(());
        };
        let hint = match mark.to_str() {
            Some("::::" | "::::+") => "-a FILE reads the inputs from a file",
            _ => {
                "lists of inputs are not combined; an input that looks like this can be read from \
                 standard input or with -a"
            }
        };
        let text = format!("{} is not known: inputs follow one :::", mark.display());
        Err(Failure::usage(text).hint(hint))
    }

    pub(super) fn attempts(&self) -> u32 {
        NonZeroU32::MIN.saturating_add(self.retries).get()
    }

    pub(super) const fn output_mode(&self) -> OutputMode {
        match (self.ungroup, self.line_buffer) {
            (true, _) => OutputMode::Inherit,
            (_, true) => OutputMode::Line,
            _ => OutputMode::Group,
        }
    }
}
