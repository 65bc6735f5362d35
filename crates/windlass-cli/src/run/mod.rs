//! `windlass run`: runs a command for each input on a pool.
//!
//! | file | in one sentence |
//! |---|---|
//! | `options` | the options of the command line |
//! | `fields`, `command_line`, `line_parser`, `template` | the command, and what it becomes with an input |
//! | `input`, `backlog` | the inputs, one after the other, and how many of them wait |
//! | `stop`, `members`, `slots`, `control` | how a run ends, and the process groups that end with it |
//! | `guard` | the process that ends the jobs of a killed run |
//! | `spawn`, `process`, `descriptors` | how a process starts, one attempt to run a command, and how many at a time |
//! | `remote` | the same on another machine, through a queue |
//! | `capture`, `patient`, `sink` | what jobs write, and where it goes |
//! | `job`, `outcome`, `tally` | one input on its way, how it ends, and all of them counted |
//! | `journal` | what has ended, so that an interrupted run can go on |
//! | `signals`, `progress`, `summary` | what a user sends and sees |
//! | `execute` | all of it together |

mod backlog;
mod bar_terminal;
mod capture;
mod command_line;
pub(crate) mod control;
mod descriptors;
mod execute;
mod fields;
pub(crate) mod guard;
mod input;
mod job;
mod journal;
mod line_parser;
mod members;
mod options;
mod outcome;
mod patient;
mod proc_stat;
pub(crate) mod process;
mod progress;
mod remote;
pub(crate) mod signals;
mod sink;
pub(crate) mod slots;
pub(crate) mod spawn;
pub(crate) mod stop;
mod summary;
mod tally;
mod template;

/// What `windlass run --help` says after the options.
pub(crate) const HELP: &str = include_str!("help.txt");

pub use command_line::{CommandLine, CommandLineError, Part, Word};
pub use execute::execute;
pub use fields::Field;
pub use journal::{Done, JournalError, Known, parse_journal};
pub use line_parser::{parse_command_line, parse_literal_command_line, parse_word};
pub use options::{Halt, OutputMode, RunOptions, When, WhenFull};
pub use outcome::{Outcome, UnknownOutcome};
pub use template::{ProgramError, Template, find_program, quote};
