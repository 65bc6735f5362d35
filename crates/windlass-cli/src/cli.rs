//! The command line: every command and option, from which help, completions and manual pages come.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::attach::{PoolsOptions, SetOptions, pools, set};
use crate::demo::{DemoOptions, demo};
use crate::exit::{self, Failure};
use crate::queue::{self, QueueOptions};
use crate::run::{self, RunOptions};
use crate::size::{self, SizeOptions};
use crate::top::{TopOptions, top};
use crate::worker::{self, WorkerOptions};
use crate::{manual, style};

/// Thread pools for the command line: run commands on one, size one, watch and tune those of a program.
///
/// windlass demo                            a service to watch and tune, in the browser too
/// windlass run 'gzip -k {}' ::: *.log      a command for each input, on a pool
/// windlass worker --engine redis://queue/ --allow commands.txt
///                                          runs such commands for other machines
/// windlass queue queues --engine redis://queue/
///                                          what waits, runs and is dead there
/// windlass size --rate 500 --service 15ms -j 8 -q 100
///                                          what will this pool do?
/// windlass top                             the pools of a program, in the terminal
/// windlass set web core=8 --revert-after 60s
/// windlass completions bash                completions, also for zsh and fish
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    styles = style::help(),
    propagate_version = true,
    verbatim_doc_comment,
    arg_required_else_help = true,
    after_help = "windlass COMMAND --help explains a command, with examples."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a small service under a changing load, with the console in the browser
    #[command(after_help = "\
        windlass demo                       until ctrl-c\n\
        windlass demo --for 30s --quiet     for scripts")]
    Demo(DemoOptions),

    /// Run a command for each input, on a pool
    #[command(
        override_usage = "windlass run [OPTIONS] [COMMAND...] [::: INPUT...]",
        after_long_help = run::HELP
    )]
    Run(Box<RunOptions>),

    /// Run the commands of a queue on another machine, those that an allow-list names
    #[command(after_long_help = worker::HELP)]
    Worker(WorkerOptions),

    /// Look at queues on other machines, and change them
    #[command(after_help = "\
        windlass queue queues --engine redis://queue.example/\n\
        windlass queue list --state running --state ready\n\
        windlass queue list --state failed --all --json\n\
        windlass queue show run:4711-8c3f2e0b5a7d9c11:3:1 --json\n\
        windlass queue dead retry --all --queue media\n\
        windlass queue console              all of it in the browser\n\n\
        The variable WINDLASS_ENGINE names the engine where --engine does not.")]
    Queue(QueueOptions),

    /// Say how many threads a pool should have, and what a pool of a size will do
    #[command(after_long_help = include_str!("size/help.txt"))]
    Size(Box<SizeOptions>),

    /// Show the pools of a running program in the terminal, with keys to tune them
    #[command(after_help = "\
        windlass top                        the console at 127.0.0.1:7171\n\
        WINDLASS_TOKEN=... windlass top -A host:7171    with keys that change settings")]
    Top(TopOptions),

    /// Print the pools of a running program
    #[command(after_help = "\
        windlass pools                      all of them\n\
        windlass pools web                  one of them\n\
        windlass pools --json | jq '.pools[].queue.len'")]
    Pools(PoolsOptions),

    /// Change the settings of a pool in a running program
    #[command(after_help = "\
        windlass set web core=8 max=16 --revert-after 60s\n\
        windlass set web --confirm          keep it\n\
        windlass set web policy=caller-runs --dry-run\n\n\
        Changes need the token of the console, in WINDLASS_TOKEN or --token-file.")]
    Set(SetOptions),

    /// Print the completions of a shell
    #[command(after_help = "\
        windlass completions bash > ~/.local/share/bash-completion/completions/windlass\n\
        windlass completions zsh  > ~/.zfunc/_windlass\n\
        windlass completions fish > ~/.config/fish/completions/windlass.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print the manual page
    #[command(after_help = "windlass man | man -l -    shows it")]
    Man {
        /// Write one page for each command into this folder instead
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },

    /// Ends the jobs of a run that was killed
    #[command(name = run::guard::COMMAND, hide = true)]
    Guard { run_id: String },
}

impl Cli {
    /// Parses the arguments of the program, runs the command and returns the exit code.
    #[must_use]
    pub fn main() -> ExitCode {
        match Self::try_parse() {
            Ok(cli) => cli.run(),
            Err(error) if error.use_stderr() => error.exit(),
            // clap would ignore that help or version could not be written.
            Err(text) => match exit::print(text.render().ansi().to_string().as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.report(),
            },
        }
    }

    /// Runs the command and returns the exit code of the program.
    #[must_use]
    pub fn run(self) -> ExitCode {
        self.command
            .run()
            .unwrap_or_else(|failure| failure.report())
    }
}

impl Command {
    fn run(self) -> Result<ExitCode, Failure> {
        let done = match self {
            Self::Run(options) => return run::execute(&options),
            Self::Worker(options) => return worker::execute(&options),
            Self::Queue(options) => queue::execute(&options),
            Self::Demo(options) => demo(&options),
            Self::Top(options) => top(&options),
            Self::Pools(options) => pools(&options),
            Self::Set(options) => set(&options),
            Self::Size(options) => size::execute(&options),
            Self::Completions { shell } => manual::completions(shell),
            Self::Man { folder } => manual::man(folder.as_deref()),
            Self::Guard { run_id } => {
                run::guard::watch(&run_id);
                Ok(())
            }
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_line_of_a_help_text_is_wrapped() {
        // clap wraps at 100 columns, however wide the terminal is.
        let texts = [
            crate::run::HELP,
            crate::worker::HELP,
            include_str!("size/help.txt"),
        ];
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
